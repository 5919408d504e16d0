// MaintenanceLimits as careen shows them: how many nodes of each group may be out, who has which of them out, and who
// waits for a place in which order. And what they mean for one node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/why.h"
#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::limits {
class Desk;
}

namespace careen::view {

// Whatever a cluster has, a document stays within these; it says how many there are in all.
inline constexpr size_t kMostGroups = 300;
inline constexpr size_t kMostActors = 50;
inline constexpr size_t kMostNodesOfActor = 20;
inline constexpr size_t kMostQueued = 100;

// Fleet.limits; null: nobody here asks for places.
void append_limits(std::string& out, const limits::Desk* desk, io::Wall now);

// Its part of a node's tree of reasons: the limits that the node is in, what it counts as, and for whoever waits for it
// the place in the queue.
std::vector<Why> limit_reasons(const limits::Desk* desk, const kube::Node& node, io::Wall now);

}  // namespace careen::view
