// The fleet at a glance, as `careen status` prints it and `careen top` shows it: pure functions of the Fleet document.
#pragma once

#include <string>
#include <vector>

#include "cli/screen.h"
#include "commands/fleet_model.h"
#include "io/time.h"

namespace careen::app {

// Pauses, nodes by profile and state, budgets with their holders, running drains, problems; lines that fit the width.
std::vector<Line> overview_lines(const FleetModel& fleet, const Screen& screen, io::Wall now);

// A whole screen: all of that with bars, what changes next and what happened last. At most as many lines as the screen
// has. `trouble`: why it may be out of date; empty: it is not.
std::vector<Line> top_lines(const FleetModel& fleet, const Screen& screen, io::Wall now, const std::string& trouble);

}  // namespace careen::app
