// One look at a workload by the controller of its kind: what is missing is made, what is too much deleted, the status
// written. The result is when to look again although nothing changed.
#pragma once

#include <optional>

#include "io/time.h"
#include "sim/value.h"

namespace careen::sim {

class WorkloadWorld;
using Again = std::optional<io::Duration>;

// As long as the real controllers wait at first before they try again to make what was refused.
inline constexpr io::Duration kRetryCreation = io::seconds{5};
// So many pods are made at one look.
inline constexpr int64_t kMostPodsAtOnce = 500;

Again tend_deployment(WorkloadWorld& world, const json::value& deployment);
Again tend_replica_set(WorkloadWorld& world, const json::value& set);
Again tend_stateful_set(WorkloadWorld& world, const json::value& set);
Again tend_daemon_set(WorkloadWorld& world, const json::value& set);
Again tend_job(WorkloadWorld& world, const json::value& job);

}  // namespace careen::sim
