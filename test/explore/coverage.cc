#include "coverage.h"

#include <fmt/format.h>

#include <istream>
#include <set>
#include <string>

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

std::string Coverage::text() const {
  std::string out;
  for (const auto& [key, count] : hits_)
    out += fmt::format("{} {} {}\n", static_cast<int>(key.first), count, key.second);
  return out;
}

void Coverage::read(std::istream& lines) {
  int action = 0, count = 0;
  std::string place;
  while (lines >> action >> count && std::getline(lines >> std::ws, place)) {
    hits_[{static_cast<Action>(action), place}] += count;
  }
}

}  // namespace careen::explore
