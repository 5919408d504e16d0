// A cluster of the demonstration: three zones with their workloads, and the actors that keep both busy.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "demo/actors.h"
#include "demo/nodes.h"
#include "io/loop.h"
#include "sim/cluster.h"

namespace careen::app {

class DemoCluster {
 public:
  DemoCluster(io::Loop& loop, int nodes, uint64_t seed, const DemoActors::Tell& tell);
  DemoCluster(const DemoCluster&) = delete;
  DemoCluster& operator=(const DemoCluster&) = delete;

  sim::Cluster& model() { return model_; }
  DemoNodes& nodes() { return nodes_; }
  DemoActors& actors() { return actors_; }
  // A node that carries a pod of this app, or "".
  std::string node_with(std::string_view ns, std::string_view app) const;

 private:
  void add_nodes(int count);

  sim::Cluster model_;
  DemoNodes nodes_;
  DemoActors actors_;
};

}  // namespace careen::app
