// Numbers that change with time, and what they were: whoever acts on a cache acts on what was true a moment ago.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::explore {

class FactLog {
 public:
  void set(const std::string& fact, int value, io::Steady now) {
    auto& values = facts_[fact];
    if (values.empty() || values.back().second != value) values.emplace_back(now, value);
  }

  // The largest value the fact had at any time in between, both ends included; 0 for one nobody has set.
  int largest(std::string_view fact, io::Steady from, io::Steady to) const {
    const auto found = facts_.find(fact);
    if (found == facts_.end()) return 0;
    int most = 0;
    const auto& values = found->second;
    for (size_t i = 0; i < values.size(); ++i) {
      const bool over = i + 1 < values.size() && values[i + 1].first < from;
      if (!over && values[i].first <= to) most = std::max(most, values[i].second);
    }
    return most;
  }

 private:
  std::map<std::string, std::vector<std::pair<io::Steady, int>>, std::less<>> facts_;
};

}  // namespace careen::explore
