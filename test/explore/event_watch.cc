#include "event_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "node_facts.h"

namespace careen::explore {

using kube::Json;

void EventWatch::moved(const std::string& uid, const std::string& profile, std::string_view state) {
  ++moves_[fmt::format("{} {} {}", uid, profile, state)];
}

void EventWatch::changed(const sim::Change& change) {
  if (change.type == sim::Change::Type::deleted) return;
  const auto event = Json::parse(*change.object);
  const std::string note = text_at(event->view(), "message");
  constexpr std::string_view kBegin = "The node is now in the ", kMiddle = " state caused by profile ";
  const size_t middle = note.find(kMiddle);
  if (!note.starts_with(kBegin) || middle == std::string::npos) return;
  const std::string state = note.substr(kBegin.size(), middle - kBegin.size());
  const std::string key =
      fmt::format("{} {} {}", text_at((*event)["involvedObject"], "uid"), note.substr(middle + kMiddle.size()), state);
  if (!moves_.contains(key)) {
    report_("event", fmt::format("{} tells of what has not happened to node {}: {}", change.by,
                                 text_at((*event)["involvedObject"], "name"), note));
  }
  events_[change.name] = {key, std::max<int64_t>(1, (*event)["series"]["count"].integer().value_or(1))};
}

std::map<std::string, int64_t> EventWatch::told() const {
  std::map<std::string, int64_t> told;
  for (const auto& [name, event] : events_) told[event.key] += event.count;
  return told;
}

void EventWatch::rewritten(const std::string& uid) {
  const auto told = this->told();
  for (auto move = moves_.lower_bound(uid); move != moves_.end() && move->first.starts_with(uid); ++move) {
    const auto found = told.find(move->first);
    excused_[move->first] = move->second - (found == told.end() ? 0 : found->second);
  }
}

void EventWatch::check_end() const {
  const auto told = this->told();
  for (const auto& [key, moves] : moves_) {
    const auto found = told.find(key), excused = excused_.find(key);
    const int64_t times = found == told.end() ? 0 : found->second;
    const int64_t needless = excused == excused_.end() ? 0 : excused->second;
    const bool lost = times + needless < moves && !losses_are_fine_ && !gone_.contains(key.substr(0, key.find(' ')));
    const bool repeated = times > (two_may_tell_ ? 2 * moves : moves);
    if (lost || repeated) {
      report_("event", fmt::format("{} events tell of {} moves: {}", times, moves, key));
    }
  }
}

}  // namespace careen::explore
