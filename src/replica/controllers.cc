#include "replica/controllers.h"

#include <algorithm>

#include "controllers/nodemaintenance/hosted.h"
#include "replica/replica.h"

namespace careen::replica {

const std::vector<const controllers::Kind*>& controller_kinds() {
  static const std::vector<const controllers::Kind*> all = {
      &nodemaintenance::kind(),
  };
  return all;
}

const controllers::Kind* find_controller_kind(std::string_view name) {
  const auto& all = controller_kinds();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const controllers::Kind* kind) { return kind->name == name; });
  return found == all.end() ? nullptr : *found;
}

std::vector<std::string_view> leader_locks() {
  std::vector<std::string_view> names{Replica::kLock};
  for (const controllers::Kind* kind : controller_kinds()) names.push_back(kind->lock);
  return names;
}

}  // namespace careen::replica
