// What an operator types to take nodes out through NodeMaintenance objects, and to give them back: maintain and
// release.
#pragma once

#include <string>
#include <vector>

#include "io/task.h"
#include "io/time.h"

namespace careen::app {
class Commands;
class KubeSession;
}  // namespace careen::app

namespace careen::nodemaintenance {

void add_commands(app::Commands& commands);

struct MaintainOptions {
  std::vector<std::string> nodes;
  std::string reason;
  std::string name;  // empty: the node's
  bool wait = false;
  io::Duration timeout{};  // of the wait; 0: none
};

struct ReleaseOptions {
  std::vector<std::string> nodes;
  std::vector<std::string> names;  // of NodeMaintenances
  bool wait = false;
  io::Duration timeout{};
};

// Each returns the exit code.
io::Task<int> maintain_nodes(app::KubeSession& session, MaintainOptions options);
io::Task<int> release_nodes(app::KubeSession& session, ReleaseOptions options);

}  // namespace careen::nodemaintenance
