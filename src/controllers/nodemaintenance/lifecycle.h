// The conditions by which a Node says how far its maintenance is, for programs that watch nodes and not
// NodeMaintenances. They are written only on demand.
#pragma once

#include <optional>

#include "io/time.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::nodemaintenance {

enum class Stage {
  none,      // no maintenance, or no longer
  planned,   // it waits for a lease, or for another maintenance
  draining,  // the node is in maintenance, and has pods that must go
  drained,   // in maintenance, and empty
};

// A strategic merge patch of nodes/status; nullopt when the node says so already.
std::optional<kube::Json> lifecycle_patch(const kube::Node& node, Stage stage, io::Wall now);

}  // namespace careen::nodemaintenance
