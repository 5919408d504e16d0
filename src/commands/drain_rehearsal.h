// careen drain --dry-run: what a drain would do now, pod by pod, and what would hold it up.
#pragma once

#include <vector>

#include "commands/node_commands.h"
#include "kube/node.h"
#include "session/kube_session.h"

namespace careen::app {

class DrainLimits;

// With DryRun::server the server checks each write as well, and carries none out.
io::Task<int> rehearse_drain(KubeSession& session, DrainLimits& limits, DrainOptions options,
                             std::vector<kube::Node> nodes);

}  // namespace careen::app
