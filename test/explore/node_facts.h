// A node as the invariants look at it, read from the text the API server holds.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/profiles/data.h"
#include "kube/json.h"

namespace careen::explore {

// Of an object that the API server holds; empty without that text.
inline std::string text_at(kube::JsonView object, std::string_view key) {
  return std::string(object[key].text().value_or(""));
}

struct NodeFacts {
  kube::Json document;
  std::string uid;
  std::map<std::string, std::string, std::less<>> labels;
  std::map<std::string, std::string, std::less<>> annotations;
  std::optional<profiles::NodeData> data;  // nullopt when it cannot be read

  static NodeFacts read(std::string_view text);

  bool labelled(std::string_view key) const { return labels.contains(key); }
  std::string label(std::string_view key) const;
  std::vector<std::string> named_profiles() const;
  // Operational when the profile has no data yet; nullopt when that cannot be said.
  std::optional<profiles::State> state(std::string_view profile) const;
  // Null when the profile has no data.
  const profiles::ProfileData* profile(std::string_view name) const;
};

// What has to be the same at the end however the way there was: without times, without what others have added, and
// without what HoldWatch looks after.
std::string end_state(const NodeFacts& node);

}  // namespace careen::explore
