// Lanterns as careen shows them: on the map of the fleet, in a node's story, and on the timeline.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/slot/entry.h"
#include "controllers/slot/picture.h"
#include "lantern.h"

namespace careen::kube {
struct EventRecord;
}

namespace careen::lantern {

inline constexpr std::string_view kOwner = "lantern";  // of claims
inline constexpr const char* kSource = "Lantern";
inline constexpr const char* kLitReason = "LanternLit";
inline constexpr const char* kDarkReason = "LanternOut";

struct Shown {
  Lantern lantern;
  Why why;               // of its node
  std::string node_uid;  // empty: there is no such node
};

// In order of their names.
std::unique_ptr<controllers::Picture> picture_of(std::vector<Shown> all);
std::optional<controllers::Entry> entry_of(const kube::EventRecord& event, io::Wall time);

}  // namespace careen::lantern
