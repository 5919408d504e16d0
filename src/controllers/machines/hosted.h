// Machines as the list of controllers has them.
#pragma once

#include <memory>

#include "controllers/slot/kind.h"

namespace careen::machines {

struct ControllerOptions;

const controllers::Kind& kind();
std::shared_ptr<const controllers::Choice> with_options(ControllerOptions options);

}  // namespace careen::machines
