// The top of `careen status`: the fleet as the leader tells it, or as far as the nodes alone tell.
#pragma once

#include <vector>

#include "commands/view_source.h"
#include "kube/json.h"
#include "kube/node.h"
#include "session/kube_session.h"

namespace careen::app {

// A Fleet. What it comes from is said on stderr, and why it is not complete if it is not.
io::Task<kube::Json> read_overview(KubeSession& session, ViewOptions options, std::vector<kube::Node> nodes);

}  // namespace careen::app
