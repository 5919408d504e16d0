#include "controllers/profiles/limits.h"

#include <set>
#include <string_view>
#include <utility>

#include "controllers/profiles/check.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_draft.h"
#include "kube/cache.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {

// Groups of one check; more would be a limit for each node.
constexpr size_t kMostGroups = 200;

// One node of each group that the check tells apart, all others count with it.
std::vector<const kube::Node*> one_of_each_group(const kube::Store<kube::Node>& nodes, const Check& check) {
  const std::vector<std::string> labels = check.group_labels();
  std::vector<const kube::Node*> found;
  std::set<std::vector<std::string_view>> seen;
  nodes.for_each([&](const kube::Node& node) {
    if (found.size() == kMostGroups || (labels.empty() && !found.empty())) return;
    std::vector<std::string_view> values;
    for (const std::string& key : labels) {
      const kube::Atom* value = node.label(key);
      values.push_back(value ? value->view() : std::string_view());
    }
    if (seen.insert(std::move(values)).second) found.push_back(&node);
  });
  return found;
}

}  // namespace

std::vector<Limit> limits_in_use(const World& world, io::Wall now) {
  std::vector<Limit> limits;
  for (const CheckInstance& instance : world.config.checks) {
    const std::string_view type = instance.check->type();
    if (type != "maxMaintenance" && type != "stagger") continue;
    std::set<budget::Key> keys;
    for (const kube::Node* node : one_of_each_group(world.nodes, *instance.check)) {
      const NodeDraft draft(*node);
      const ProfileData data;
      const auto result = instance.check->run({draft, kDefaultProfile, data, world.facts, now, false});
      if (result.budget) keys.insert(result.budget->first);
    }
    for (const budget::Key& key : keys) limits.push_back({instance.name, key});
  }
  return limits;
}

}  // namespace careen::profiles
