// NodeMaintenance objects as a replica hosts them, and what is known of them without one.
#pragma once

#include <memory>

#include "controllers/nodemaintenance/controller_options.h"
#include "controllers/slot/kind.h"

namespace careen::nodemaintenance {

const controllers::Kind& kind();
std::shared_ptr<const controllers::Choice> with_options(ControllerOptions options);

}  // namespace careen::nodemaintenance
