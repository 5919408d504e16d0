// Who keeps a node cordoned, in words: by the holds on it, and by objects of controllers that the node knows nothing of
// because another program began them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "commands/jobs.h"
#include "drain/holds.h"
#include "kube/node.h"

namespace careen::app {

struct Holder {
  std::string owner;  // KIND/x, profile/y
  std::optional<io::Wall> since;
};

// Of its cordon, without those of terminals.
std::vector<Holder> cordon_holders(const kube::Node& node, const std::vector<JobOfKind>& jobs);

// profile/x since 2026-03-01T10:00:00Z (5m)
std::string holder_text(const Holder& holder, io::Wall now);
// What ends that hold.
std::string way_out(const Holder& holder, const std::string& node);
// cordon, 2 taints, 1 label
std::string items_text(const drain::Items& items);

}  // namespace careen::app
