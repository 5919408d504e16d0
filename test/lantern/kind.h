// Lanterns as the list of controllers has them.
#pragma once

#include "controller.h"
#include "controllers/slot/kind.h"

namespace careen::lantern {

const controllers::Kind& kind();
std::shared_ptr<const controllers::Choice> with_options(Options options);

}  // namespace careen::lantern
