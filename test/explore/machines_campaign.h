// Campaigns of Machines: careen stands between a management cluster and two or three workload clusters, which share
// names wherever they may. People ask for maintenances, delete Machines and take them out of careen's care; profiles
// approve sooner or later; Cluster API and Metal3 do the rest.
#pragma once

#include "campaign.h"

namespace careen::explore {

Campaign draw_machines_campaign(uint64_t seed);
// One cluster, in which a Machine is deleted, and another is in maintenance with its host powered off; then nobody
// needs careen there any more. For crashes at every single write.
Campaign small_machines_campaign();

}  // namespace careen::explore
