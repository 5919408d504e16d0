#include "plan/others.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "kube/atoms.h"
#include "kube/decode.h"
#include "kube/node.h"
#include "limits/facts.h"
#include "plan/snapshot.h"

namespace careen::plan {

namespace {
constexpr size_t kMostNamed = 5;
}

std::string others_text(const Snapshot& snapshot) {
  if (snapshot.of(Kind::limits).empty()) return {};
  kube::AtomPool atoms;
  std::vector<std::string> found;
  for (const kube::Json& json : snapshot.of(Kind::nodes)) {
    // A snapshot has no versions, without which nothing is an object.
    kube::Json whole = json;
    whole.set({"metadata", "resourceVersion"}, "1");
    const auto node = kube::decode_node(whole.dump(), atoms);
    if (!node) continue;
    for (const limits::Fact& fact : limits::facts_of(*node)) {
      if (!fact.counts() || fact.own) continue;
      found.push_back(fmt::format("{} on {}", fact.actor, node->name));
      break;
    }
  }
  if (found.empty()) return {};
  const size_t shown = std::min(found.size(), kMostNamed);
  std::string text = fmt::format("{} that others have out {} out and {} in MaintenanceLimits: ",
                                 found.size() == 1 ? "a node" : fmt::format("{} nodes", found.size()),
                                 found.size() == 1 ? "stays" : "stay", found.size() == 1 ? "counts" : "count");
  for (size_t i = 0; i < shown; ++i) text += (i == 0 ? "" : ", ") + found[i];
  if (shown < found.size()) text += fmt::format(" and {} more", found.size() - shown);
  return text;
}

}  // namespace careen::plan
