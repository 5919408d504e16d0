// How the controller of Machines works.
#pragma once

#include "controllers/machines/decide.h"

namespace careen::machines {

struct ControllerOptions {
  RelayOptions relay;
  // Cluster API begins no upgrade of a cluster outside of the window that its Cluster object names.
  bool upgrade_windows = false;
  // NodeHealthChecks of workload clusters are held back while Machines are out.
  bool pause_health_checks = false;
};

}  // namespace careen::machines
