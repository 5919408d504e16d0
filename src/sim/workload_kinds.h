// One look at a workload by the controller of its kind: what is missing is made, what is too much deleted, the status
// written. The result is when to look again although nothing changed.
#pragma once

#include <optional>

#include "io/time.h"
#include "sim/value.h"

namespace careen::sim {

class WorkloadWorld;
using Again = std::optional<io::Duration>;

Again tend_deployment(WorkloadWorld& world, const json::value& deployment);
Again tend_replica_set(WorkloadWorld& world, const json::value& set);
Again tend_stateful_set(WorkloadWorld& world, const json::value& set);
Again tend_daemon_set(WorkloadWorld& world, const json::value& set);
Again tend_job(WorkloadWorld& world, const json::value& job);

}  // namespace careen::sim
