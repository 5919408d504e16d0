// The flags of `careen run` for NodeMaintenance objects.
#pragma once

#include "controllers/nodemaintenance/controller_options.h"

namespace CLI {
class App;
}

namespace careen::nodemaintenance {

// Both must live until the command line has been parsed.
void add_flags(CLI::App& command, ControllerOptions& options);

}  // namespace careen::nodemaintenance
