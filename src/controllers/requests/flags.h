// The flags of the controller of MaintenanceRequests.
#pragma once

namespace CLI {
class App;
}

namespace careen::requests {

struct ControllerOptions;

// `options` is right once the command line has been parsed, and must live until then.
void add_flags(CLI::App& command, ControllerOptions& options);

}  // namespace careen::requests
