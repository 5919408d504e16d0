// The demonstration's world in virtual time: a cluster of three zones with its workloads, careen on it as one replica
// with two profiles and objects of controllers, and the actors that keep both busy.
#pragma once

#include <memory>
#include <string>

#include "demo/actors.h"
#include "demo/nodes.h"
#include "io/virtual_time.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::app {

struct DemoWorldOptions {
  int nodes = 60;
  uint64_t seed = 1;
  bool actors = true;
  DemoActors::Tell tell = [](const std::string&, const std::string&) {};
  io::Log log = {};
};

class DemoWorld {
 public:
  // The cluster is older than careen on it: the constructor lets it run for this long first, alone.
  static constexpr io::Duration kHeadStart = io::minutes{30};

  DemoWorld(io::VirtualTime& time, DemoWorldOptions options);
  DemoWorld(const DemoWorld&) = delete;
  DemoWorld& operator=(const DemoWorld&) = delete;

  sim::Cluster& cluster() { return *cluster_; }
  replica::ModelProcess& careen() { return *careen_; }
  DemoNodes& nodes() { return *nodes_; }
  const std::string& config() const { return config_; }
  // A node that carries a pod of this app, or "".
  std::string node_with(std::string_view ns, std::string_view app) const;

 private:
  void add_nodes(int count);

  std::unique_ptr<io::Loop> loop_;
  std::unique_ptr<sim::Cluster> cluster_;
  std::unique_ptr<DemoNodes> nodes_;
  std::unique_ptr<DemoActors> actors_;
  std::string config_;
  std::unique_ptr<replica::ModelProcess> careen_;
};

}  // namespace careen::app
