#include "controllers/nodemaintenance/lifecycle.h"

#include <algorithm>
#include <array>
#include <string>

namespace careen::nodemaintenance {

using kube::Json;

namespace {

struct Wanted {
  const char* type;
  bool holds;
};

std::array<Wanted, 4> wanted_at(Stage stage) {
  const bool in_maintenance = stage == Stage::draining || stage == Stage::drained;
  return {{{"MaintenancePlanned", stage == Stage::planned},
           {"MaintenanceInProgress", in_maintenance},
           {"DrainInProgress", stage == Stage::draining},
           {"Drained", stage == Stage::drained}}};
}

// A condition that nobody ever wrote is as good as one that says False.
bool says(const kube::Node& node, const Wanted& wanted) {
  const auto found = std::find_if(node.conditions.begin(), node.conditions.end(),
                                  [&](const kube::NodeCondition& one) { return one.type == wanted.type; });
  if (found == node.conditions.end()) return !wanted.holds;
  return found->status == std::string_view(wanted.holds ? "True" : "False");
}

}  // namespace

std::optional<Json> lifecycle_patch(const kube::Node& node, Stage stage, io::Wall now) {
  const std::string time = io::format_rfc3339(std::chrono::floor<io::seconds>(now));
  Json conditions;
  for (const Wanted& wanted : wanted_at(stage)) {
    if (says(node, wanted)) continue;
    conditions.push_back(Json::object({{"type", wanted.type},
                                       {"status", wanted.holds ? "True" : "False"},
                                       {"reason", "NodeMaintenance"},
                                       {"message", ""},
                                       {"lastTransitionTime", time},
                                       {"lastHeartbeatTime", time}}));
  }
  if (!conditions.view().is_array()) return std::nullopt;
  return std::move(Json::object().set({"status", "conditions"}, std::move(conditions)));
}

}  // namespace careen::nodemaintenance
