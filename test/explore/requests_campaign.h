// Campaigns under MaintenanceLimits: besides the profiles there are MaintenanceRequests, actors that carry them out or
// die at any step, and people who cordon nodes. One limit or two say how many nodes may be out, whoever has them.
#pragma once

#include "campaign.h"

namespace careen::explore {

Campaign draw_requests_campaign(uint64_t seed);
// Three nodes that a profile and a request each want, one place; the actor of the first request may die, or nodes are
// drained before they are approved. For crashes at every single write.
enum class SmallRequests { usual, die, drain };
Campaign small_requests_campaign(SmallRequests how);

}  // namespace careen::explore
