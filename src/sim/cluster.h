// The model cluster: an API server, the network to it, and what lives on the nodes.
#pragma once

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/kubelets.h"
#include "sim/network.h"

namespace careen::sim {

struct Cluster {
  explicit Cluster(io::Loop& loop, uint64_t seed = 1) : api(loop, seed), network(loop, api), kubelets(loop, api) {}

  ApiServer api;
  Network network;
  Kubelets kubelets;
};

}  // namespace careen::sim
