// A Fleet document (docs/api.md) of what the nodes alone tell, for when no careen can be asked: their states, cordons
// and pauses; no budgets, drains or timeline.
#pragma once

#include <vector>

#include "budget/pause.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::app {

kube::Json fleet_from_nodes(const std::vector<kube::Node>& nodes, const std::vector<budget::Pause>& pauses);

}  // namespace careen::app
