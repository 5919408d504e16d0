// The steps that a request with a place takes before it is approved, where a limit asks for that: its node is cordoned,
// drained, given some time, and freed of its volumes. Parts of decide().
#pragma once

#include "controllers/requests/decide.h"

namespace careen::requests {

void take_next_step(Decision& decision, const World& world, const Memory& memory, io::Wall now);
void observe_steps(const World& world, Memory& memory, io::Wall now);

}  // namespace careen::requests
