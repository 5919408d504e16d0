// The demonstration's world in virtual time: a cluster, and careen on it as one replica with two profiles and objects
// of controllers. Or several clusters, and careen as a hub in the management cluster that made them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "demo/cluster.h"
#include "demo/management.h"
#include "io/virtual_time.h"
#include "replica/model_process.h"

namespace careen::app {

struct DemoWorldOptions {
  int nodes = 60;  // of each cluster
  int clusters = 1;
  uint64_t seed = 1;
  bool actors = true;
  DemoActors::Tell tell = [](const std::string&, const std::string&) {};
  io::Log log = {};
};

class DemoWorld {
 public:
  // The clusters are older than careen on them: the constructor lets them run for this long first, alone.
  static constexpr io::Duration kHeadStart = io::minutes{30};

  DemoWorld(io::VirtualTime& time, DemoWorldOptions options);
  DemoWorld(const DemoWorld&) = delete;
  DemoWorld& operator=(const DemoWorld&) = delete;

  bool has_hub() const { return management_ != nullptr; }
  // That careen runs in.
  sim::Cluster& home() { return management_ ? management_->model() : clusters_.front()->model(); }
  // Whose nodes it looks after.
  size_t size() const { return clusters_.size(); }
  DemoCluster& cluster(size_t index = 0) { return *clusters_[index]; }
  // With a hub: it finds that cluster at this address from now on, by this kubeconfig.
  void publish(size_t index, const std::string& address, const std::string& kubeconfig);
  replica::ModelProcess& careen() { return *careen_; }
  const std::string& config() const { return config_; }

 private:
  replica::ModelProcessOptions process(const DemoWorldOptions& options) const;

  std::unique_ptr<io::Loop> loop_;
  std::unique_ptr<DemoManagement> management_;
  std::vector<std::unique_ptr<DemoCluster>> clusters_;
  std::string config_;
  std::unique_ptr<replica::ModelProcess> careen_;
};

}  // namespace careen::app
