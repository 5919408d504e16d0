// How often an eviction is requested for a pod that its disruption budgets hold back. Webhooks that move a virtual
// machine or hand over a broker act on the request itself, while the budget keeps refusing. So each pod is asked for
// soon, and again at long and growing intervals; what makes it go is the change of its budget, which the watch reports.
#pragma once

#include <string_view>

#include "io/time.h"

namespace careen::drain {

// A pod that waits for others of its budget is asked for within this time, unless its turn comes before.
inline constexpr io::Duration kAskedWithin = io::seconds{5};

// How long after this many requests in vain in a row. Pods differ by some seconds, so that those of one budget are not
// asked for at the same moment for ever.
io::Duration pause_between_asks(int in_vain, std::string_view uid);

}  // namespace careen::drain
