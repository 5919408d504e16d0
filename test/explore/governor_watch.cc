#include "governor_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "kube/json.h"

namespace careen::explore {

using kube::Json;

namespace {

constexpr const char* kGoverned = "careen.dev/governed";
constexpr const char* kKeys[] = {kGoverned, kScaleDownDisabled, kKuredLock};

std::string value_in(const std::map<std::string, std::string>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? "nothing" : found->second;
}

}  // namespace

bool GovernorWatch::owns(std::string_view key) {
  return std::any_of(std::begin(kKeys), std::end(kKeys), [&](const char* one) { return key == one; });
}

GovernorWatch::Values GovernorWatch::read(const sim::Text& object) {
  Values values;
  const auto json = Json::parse(*object);
  for (const char* key : kKeys) {
    if (const auto value = (*json)["metadata"]["annotations"][key].text()) values[key] = std::string(*value);
  }
  return values;
}

void GovernorWatch::changed(const sim::Change& change, bool by_careen) {
  if (change.type == sim::Change::Type::deleted) {
    objects_.erase(change.name);
    return;
  }
  Object& object = objects_[change.name];
  const Values before = std::exchange(object.values, read(change.object));
  for (const char* key : {kScaleDownDisabled, kKuredLock}) {
    const std::string was = value_in(before, key), is = value_in(object.values, key);
    if (was == is) continue;
    if (by_careen && object.of_users.contains(key) && value_in(object.of_users, key) == was)
      report_("governor",
              fmt::format("careen takes {} of {} from {} to {}, which a user has set", key, change.name, was, is));
    if (by_careen) continue;
    object.of_users.erase(key);
    if (object.values.contains(key)) object.of_users[key] = is;
  }
}

void GovernorWatch::check_end() const {
  for (const auto& [name, object] : objects_) {
    if (object.values.contains(kGoverned))
      report_("governor", fmt::format("{} is governed in the end: {}", name, object.values.at(kGoverned)));
    for (const char* key : {kScaleDownDisabled, kKuredLock}) {
      const std::string is = value_in(object.values, key), wanted = value_in(object.of_users, key);
      if (is != wanted)
        report_("governor", fmt::format("{} of {} is {} in the end instead of {}", key, name, is, wanted));
    }
  }
}

}  // namespace careen::explore
