// The NodeMaintenance controller: each object has its node cordoned, tainted, labelled and drained for as long as it
// exists. It runs on the replica that leads; every maintenance advances on its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "budget/pause.h"
#include "drain/engine.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "kube/objects.h"
#include "kube/pod_store.h"

namespace careen::nodemaintenance {

struct ControllerParts {
  io::Loop& loop;
  kube::Client& client;
  kube::AtomPool& atoms;
  kube::NodeDecoder& decoder;
  kube::Store<kube::Object>& maintenances;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  kube::Store<kube::Lease>& leases;  // of the lease namespace, and maybe others
  drain::Engine& engine;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
  // Null: nothing is ever paused. Must not tell of changes after the controller is gone.
  budget::Pauses* pauses = nullptr;
};

struct ControllerOptions {
  std::string lease_namespace = "medik8s-leases";
  bool node_conditions = false;  // write the lifecycle conditions of the Node
  bool dry_run = false;
};

class Controller {
 public:
  Controller(ControllerParts parts, ControllerOptions options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Until cancelled or stopped. The maintenances and nodes must have been listed under this leadership.
  io::Task<void> run();
  io::Task<void> stop();
  // The leases of the namespace have been listed for the first time; no lease is taken before.
  void leases_known();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace careen::nodemaintenance
