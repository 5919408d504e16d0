// How often a pod is asked for that its disruption budgets hold back. The request itself is what webhooks act on that
// move a virtual machine or hand over a broker, while the budget goes on refusing. So each pod is asked for soon, and
// again at long and growing intervals; what makes it go is the change of its budget, which the watch tells.
#pragma once

#include <string_view>

#include "io/time.h"

namespace careen::drain {

// A pod that waits for others of its budget is asked for within this time, unless its turn comes before.
inline constexpr io::Duration kAskedWithin = io::seconds{5};

// How long after it was asked for in vain so many times in a row. Pods differ by some seconds, so that those of one
// budget are not asked for at the same moment for ever.
io::Duration pause_between_asks(int in_vain, std::string_view uid);

}  // namespace careen::drain
