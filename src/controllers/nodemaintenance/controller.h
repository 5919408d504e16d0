// The NodeMaintenance controller: each object has its node cordoned, tainted, labelled and drained while it exists. It
// runs on the replica that leads; every maintenance advances on its own.
#pragma once

#include <memory>

#include "controllers/nodemaintenance/controller_options.h"
#include "controllers/slot/host.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::nodemaintenance {

class Controller {
 public:
  // The host must not tell of paused owners after the controller is gone; its leases are those of the lease namespace,
  // and maybe others.
  Controller(controllers::Host host, kube::Store<kube::Object>& maintenances, ControllerOptions options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Until cancelled or stopped. The maintenances and nodes must have been listed under this leadership.
  io::Task<void> run();
  io::Task<void> stop();
  // The leases of the namespace have been listed for the first time; no lease is taken before.
  void leases_known();
  // Somebody has set the wall clock, or the machine has slept.
  void clock_stepped(io::Duration by);
  // Pods have been listed for the first time; their number is not reported before.
  void pods_known();

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::nodemaintenance
