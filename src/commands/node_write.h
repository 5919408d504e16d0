// Writing what a hold needs to a node: one merge patch under the node's version, computed again when somebody else was
// faster.
#pragma once

#include <functional>

#include "drain/holds.h"
#include "kube/node.h"
#include "session/kube_session.h"

namespace careen::app {

using NodeChanger = std::function<drain::NodeChange(const kube::Node&)>;

// The node as it is then; the same if there was nothing to change. With `server_dry_run` the server only checks it.
io::Task<kube::Result<kube::Node>> change_node(KubeSession& session, kube::Node node, NodeChanger change,
                                               bool server_dry_run = false);

}  // namespace careen::app
