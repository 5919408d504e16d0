// Who else has nodes out in a snapshot: a plan with MaintenanceLimits assumes that they stay out.
#pragma once

#include <string>

namespace careen::plan {

struct Snapshot;

// The assumption for people; empty where there are no limits, or nobody else has a node out.
std::string others_text(const Snapshot& snapshot);

}  // namespace careen::plan
