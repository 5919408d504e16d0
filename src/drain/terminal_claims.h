// Nodes that people have taken out from a terminal: whoever drains with careen drain leaves a hold on the node, and
// nothing else.
#pragma once

#include <vector>

#include "budget/claim.h"

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::drain {

// How far a drain has come only its terminal knows: the node counts as out from the cordon on. A hold alone, of a node
// that is schedulable, is no claim.
std::vector<budget::Claim> terminal_claims(const kube::Store<kube::Node>& nodes);

}  // namespace careen::drain
