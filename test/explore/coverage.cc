#include "coverage.h"

#include <fmt/format.h>

#include <set>

namespace careen::explore {

void Coverage::add(const Coverage& other) {
  for (const auto& [key, count] : other.hits_) hits_[key] += count;
}

int Coverage::count(Action action) const {
  int sum = 0;
  for (const auto& [key, count] : hits_) sum += key.first == action ? count : 0;
  return sum;
}

std::string Coverage::table() const {
  std::set<std::string> places;
  for (const auto& [key, count] : hits_) places.insert(key.second);
  std::string out = fmt::format("{:<26}{:>8}", "fault", "hits");
  for (const std::string& place : places) out += fmt::format("  {}", place);
  out += "\n";
  for (int i = 0; i < kActions; ++i) {
    const auto action = static_cast<Action>(i);
    out += fmt::format("{:<26}{:>8}", name_of(action), count(action));
    for (const std::string& place : places) {
      const auto it = hits_.find({action, place});
      const std::string number = it == hits_.end() ? "-" : std::to_string(it->second);
      out += fmt::format("  {:>{}}", number, place.size());
    }
    out += "\n";
  }
  return out;
}

}  // namespace careen::explore
