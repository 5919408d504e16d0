// The model cluster: an API server, the network to it, what lives on the nodes, and the world around it.
#pragma once

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/kubelets.h"
#include "sim/network.h"
#include "sim/outside.h"

namespace careen::sim {

struct Cluster {
  explicit Cluster(io::Loop& loop, uint64_t seed = 1)
      : api(loop, seed), network(loop, api), kubelets(loop, api), outside(loop) {}

  ApiServer api;
  Network network;
  Kubelets kubelets;
  Outside outside;
};

}  // namespace careen::sim
