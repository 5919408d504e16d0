// Campaigns in which nodes are drained: pods live on them, people make and delete NodeMaintenance objects, a profile
// may drain in its trigger or on entering, and others cordon, taint and label meanwhile.
#pragma once

#include "campaign.h"

namespace careen::explore {

Campaign draw_drain_campaign(uint64_t seed);
// One node, drained by a NodeMaintenance that is deleted later, or by a profile, for crashes at every single write.
Campaign small_drain_campaign(bool by_profile);

}  // namespace careen::explore
