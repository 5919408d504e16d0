#include "guest.h"

#include <algorithm>

#include "controllers/slot/kind.h"
#include "replica/controllers.h"

namespace careen::explore {

const controllers::Kind* kind_at(std::string_view path) {
  const auto& all = replica::object_kinds();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const controllers::Kind* kind) { return path.starts_with(kind->object.path()); });
  return found == all.end() ? nullptr : *found;
}

}  // namespace careen::explore
