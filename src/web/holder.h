// Who holds a lock, as its identity says: <pod>_<something of its own>.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace careen::web {

// The pod's name; nothing when the identity names none. A lock may hold anybody's words, so only what can be the name
// of a pod counts as one: it may become a part of a path.
std::optional<std::string> pod_of_holder(std::string_view identity);

}  // namespace careen::web
