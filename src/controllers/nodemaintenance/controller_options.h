// What the NodeMaintenance controller is told from outside.
#pragma once

#include <string>

namespace careen::nodemaintenance {

struct ControllerOptions {
  std::string lease_namespace = "medik8s-leases";
  bool node_conditions = false;  // write the lifecycle conditions of the Node
  bool correct_drift = true;     // put back what somebody takes away from a node in maintenance
  bool restore_cordon = true;    // a cordon from before a maintenance stays at its end
  bool dry_run = false;
  // Its webhook refuses what would leave fewer than a majority of the control-plane nodes.
  bool protect_control_plane = false;
};

}  // namespace careen::nodemaintenance
