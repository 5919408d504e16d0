// The model cluster: an API server, the network to it, its controllers, what lives on the nodes, and the world around
// it.
#pragma once

#include <optional>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/disruption.h"
#include "sim/kubelets.h"
#include "sim/network.h"
#include "sim/node_lifecycle.h"
#include "sim/outside.h"
#include "sim/pods.h"
#include "sim/scheduler.h"
#include "sim/workloads.h"

namespace careen::sim {

// What a control plane has beside its API server.
struct Controllers {
  Controllers(io::Loop& loop, ApiServer& api)
      : scheduler(loop, api), workloads(loop, api), nodes(loop, api), disruption(loop, api) {}

  Scheduler scheduler;
  Workloads workloads;
  NodeLifecycle nodes;
  Disruption disruption;
};

enum class ControlPlane { whole, api_server_alone };

struct Cluster {
  explicit Cluster(io::Loop& loop, uint64_t seed = 1, ControlPlane plane = ControlPlane::whole)
      : api(loop, seed), network(loop, api), kubelets(loop, api), pods(loop, api, kubelets), outside(loop) {
    if (plane == ControlPlane::whole) {
      controllers.emplace(loop, api);
    } else {
      api.run_controllers(false);
    }
  }

  ApiServer api;
  Network network;
  std::optional<Controllers> controllers;
  Kubelets kubelets;
  Pods pods;
  Outside outside;
};

}  // namespace careen::sim
