#include "plan/learned.h"

#include <algorithm>

#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"

namespace careen::plan {

using profiles::State;

namespace {

bool tells(const profiles::StateChains& chains, int notify) {
  return std::find(chains.notify.begin(), chains.notify.end(), notify) != chains.notify.end();
}

// Whether this notification is sent only on entering maintenance by this profile, whatever else the node has: only then
// its time says when that was.
bool tells_of_nothing_else(const profiles::Config& config, const profiles::NodeData& data, const std::string& profile,
                           int notify) {
  for (const auto& [name, ignored] : data.profiles) {
    const profiles::Profile* other = config.find_profile(name);
    if (!other) continue;
    for (const State state : profiles::kStates) {
      if (name == profile && state == State::in_maintenance) continue;
      if (tells(other->at(state), notify)) return false;
    }
  }
  return true;
}

std::optional<io::Duration> duration_of(const profiles::Config& config, const profiles::NodeData& data,
                                        const profiles::Profile& profile, const profiles::ProfileData& known) {
  if (known.current != State::operational || known.transition == profiles::kZeroTime) return std::nullopt;
  for (const int index : profile.at(State::in_maintenance).notify) {
    const profiles::NotifyInstance& notify = config.notifies[static_cast<size_t>(index)];
    if (notify.schedule.type != profiles::ScheduleType::oneshot) continue;
    const auto told = data.notifications.find(notify.name);
    if (told == data.notifications.end() || told->second == profiles::kZeroTime) continue;
    if (told->second >= known.transition || !tells_of_nothing_else(config, data, profile.name, index)) continue;
    return known.transition - io::add(told->second, -notify.schedule.delay);
  }
  return std::nullopt;
}

}  // namespace

std::map<std::string, Learned> learned_durations(const Snapshot& snapshot, const profiles::Config& config) {
  std::map<std::string, std::vector<io::Duration>> all;
  for (const kube::Json& node : snapshot.of(Kind::nodes)) {
    const auto text = node["metadata"]["annotations"][profiles::kDataAnnotation].text();
    const auto data = profiles::parse_node_data(text.value_or(""));
    if (!data) continue;
    for (const auto& [name, known] : data->profiles) {
      const profiles::Profile* profile = config.find_profile(name);
      const auto took = profile ? duration_of(config, *data, *profile, known) : std::nullopt;
      if (took && *took > io::Duration{0}) all[name].push_back(*took);
    }
  }
  std::map<std::string, Learned> learned;
  for (auto& [name, durations] : all) {
    const auto middle = durations.begin() + static_cast<ptrdiff_t>(durations.size() / 2);
    std::nth_element(durations.begin(), middle, durations.end());
    learned[name] = {std::chrono::round<io::seconds>(*middle), durations.size()};
  }
  return learned;
}

}  // namespace careen::plan
