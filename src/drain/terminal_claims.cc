#include "drain/terminal_claims.h"

#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/node.h"

namespace careen::drain {

std::vector<budget::Claim> terminal_claims(const kube::Store<kube::Node>& nodes) {
  std::vector<budget::Claim> claims;
  nodes.for_each([&](const kube::Node& node) {
    if (!node.unschedulable || !node.annotation(kHoldsAnnotation)) return;
    for (const auto& [owner, hold] : holds_of(node).by_owner) {
      if (!owner.starts_with(kTerminalPrefix) || !hold.items.cordon) continue;
      claims.push_back({.who = owner, .node = node.name, .uid = node.uid, .since = hold.since});
    }
  });
  return claims;
}

}  // namespace careen::drain
