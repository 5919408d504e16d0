// How a case about Machines runs: until people and Cluster API are through, and everything is as it has to be.
#pragma once

#include "run.h"

namespace careen::explore {

Outcome run_machines_undisturbed(const Campaign& campaign, const RunOptions& options);
Outcome run_machines_case(const Case& one, const RunOptions& options);

}  // namespace careen::explore
