#include "controllers/requests/flags.h"

#include <CLI/CLI.hpp>

#include "controllers/requests/decide.h"

namespace careen::requests {

void add_flags(CLI::App& command, ControllerOptions& options) {
  const std::string usual = command.option_defaults()->get_group();
  command.option_defaults()->group("MaintenanceRequest objects");
  command.add_flag("--require-limit", options.require_limit,
                   "Approve nothing for a node that no MaintenanceLimit is about; otherwise such nodes have no limit");
  command.add_flag("--compat-limit-floor", options.floor_of_one,
                   "A MaintenanceLimit of 0 percent, or without a limit, still allows one, as in the program that "
                   "careen replaces");
  command.add_flag("--compat-notready-false-only", options.not_ready_only_false,
                   "The policy NotReady takes a node that is not heard of any more for available, as in the program "
                   "that careen replaces");
  command.option_defaults()->group(usual);
}

}  // namespace careen::requests
