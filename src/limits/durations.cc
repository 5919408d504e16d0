#include "limits/durations.h"

#include <algorithm>
#include <vector>

namespace careen::limits {

void Durations::add(std::string_view actor, io::Duration lasted) {
  auto it = by_actor_.find(actor);
  if (it == by_actor_.end()) {
    if (by_actor_.size() >= kMostActors) return;
    it = by_actor_.emplace(std::string(actor), std::deque<io::Duration>{}).first;
  }
  it->second.push_back(std::max(lasted, io::Duration{}));
  if (it->second.size() > kRemembered) it->second.pop_front();
}

std::optional<io::Duration> Durations::usual(std::string_view actor) const {
  const auto it = by_actor_.find(actor);
  if (it == by_actor_.end()) return std::nullopt;
  std::vector<io::Duration> sorted(it->second.begin(), it->second.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

}  // namespace careen::limits
