// What becomes of a write that is lost, refused, slow, or answered with something else than the truth.
#pragma once

#include "perturbation.h"
#include "sim/network.h"

namespace careen::explore {

// One of the actions from Action::lose to Action::slow_answer.
void harm(sim::Treatment& treatment, const Perturbation& what);
// The write that a process was sending when it stopped; how long that lasts.
io::Duration part_with(sim::Treatment& treatment, const Perturbation& what);

}  // namespace careen::explore
