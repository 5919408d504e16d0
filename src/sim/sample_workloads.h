// Workloads to try things on: what a small cluster of a company might run.
#pragma once

#include "sim/api_server.h"

namespace careen::sim {

// So many Deployments of two to five replicas in the namespace default, every third with a budget that lets one pod go
// at a time, and beside them a StatefulSet with a budget and a DaemonSet. None at all for 0.
void add_sample_workloads(ApiServer& api, int deployments);

}  // namespace careen::sim
