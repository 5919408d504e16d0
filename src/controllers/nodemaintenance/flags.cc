#include "controllers/nodemaintenance/flags.h"

#include <CLI/CLI.hpp>

namespace careen::nodemaintenance {

void add_flags(CLI::App& command, ControllerOptions& options) {
  const std::string usual = command.option_defaults()->get_group();
  command.option_defaults()->group("NodeMaintenance objects");
  command
      .add_option("--lease-namespace", options.lease_namespace,
                  "Namespace of the leases of nodes in maintenance, shared with other operators")
      ->envname("LEASE_NAMESPACE")
      ->capture_default_str();
  command.add_flag("--node-conditions", options.node_conditions,
                   "Show maintenance in conditions of the Node: MaintenancePlanned, DrainInProgress, Drained, "
                   "MaintenanceInProgress");
  command.add_flag(
      "--restore-cordon,!--no-restore-cordon", options.restore_cordon,
      "At the end of a maintenance a node that had been cordoned before stays so; --restore-cordon=false: it "
      "is uncordoned, as by the program that careen replaces [true]");
  command.add_flag("--correct-drift,!--no-correct-drift", options.correct_drift,
                   "Put back the cordon, taints and label of a node in maintenance when somebody takes them away; "
                   "--correct-drift=false: people may, as with the program that careen replaces [true]");
  command.add_flag("--webhook-protect-control-plane", options.protect_control_plane,
                   "Refuse a maintenance that would leave too few control-plane nodes, also outside OpenShift");
  command.option_defaults()->group(usual);
}

}  // namespace careen::nodemaintenance