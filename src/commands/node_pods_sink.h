// A watch of one node's pods into a cache that it shares with watches of other nodes. A list only says what is gone
// from its own node.
#pragma once

#include <memory>
#include <string>

#include "kube/pod_store.h"
#include "kube/sink.h"

namespace careen::app {

// The store must outlive the sink.
std::unique_ptr<kube::Sink> make_node_pods_sink(kube::PodStore& pods, std::string node);

}  // namespace careen::app
