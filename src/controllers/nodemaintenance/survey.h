// Which pods of a node a drain would have to move, counted from the cache before it has begun: the status has the
// number from its first moment on, even while the lease is somebody else's.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "controllers/nodemaintenance/maintenance.h"

namespace careen::kube {
class PodStore;
}

namespace careen::drain {
enum class DaemonSetState;
struct NodeRules;
}  // namespace careen::drain

namespace careen::nodemaintenance {

// Whether that DaemonSet exists; empty: each one does.
using DaemonSets = std::function<drain::DaemonSetState(std::string_view ns, std::string_view name)>;

struct Survey {
  int64_t total = 0;            // all pods on the node
  std::vector<PodRef> pending;  // those that have to leave, ordered by namespace and name
};

Survey survey(const kube::PodStore& pods, const Maintenance& maintenance, const DaemonSets& daemon_sets,
              const drain::NodeRules& rules);

}  // namespace careen::nodemaintenance
