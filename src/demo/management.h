// The management cluster of a demonstration with several clusters: a Cluster of Cluster API for each, with a Machine
// for each of its nodes, and the Secret by which the hub reaches it once it is known where that is.
#pragma once

#include <map>
#include <string>

#include "io/loop.h"
#include "sim/cluster.h"

namespace careen::kube {
struct Access;
}

namespace careen::app {

class DemoCluster;

class DemoManagement {
 public:
  explicit DemoManagement(io::Loop& loop, uint64_t seed);
  DemoManagement(const DemoManagement&) = delete;
  DemoManagement& operator=(const DemoManagement&) = delete;

  sim::Cluster& model() { return model_; }
  void add(const std::string& name, DemoCluster& cluster);
  // As Cluster API does: the Secret with the kubeconfig by which the cluster is reached at that address.
  void publish(const std::string& name, DemoCluster& cluster, const std::string& address,
               const std::string& kubeconfig);
  // What answers at an address; null: nothing does.
  sim::Network* reached(const kube::Access& access) const;

 private:
  sim::Cluster model_;
  std::map<std::string, sim::Network*> networks_;  // by their addresses
};

}  // namespace careen::app
