// How the controller of Machines works.
#pragma once

#include "controllers/machines/decide.h"

namespace careen::machines {

struct ControllerOptions {
  RelayOptions relay;
};

}  // namespace careen::machines
