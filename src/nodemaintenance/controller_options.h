// What the NodeMaintenance controller is told from outside.
#pragma once

#include <string>

namespace careen::nodemaintenance {

struct ControllerOptions {
  std::string lease_namespace = "medik8s-leases";
  bool node_conditions = false;  // write the lifecycle conditions of the Node
  bool dry_run = false;
};

}  // namespace careen::nodemaintenance
