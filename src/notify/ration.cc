#include "notify/ration.h"

#include <algorithm>

namespace careen::notify {

io::Steady Ration::spent_with_one_more(const std::string& node, io::Steady now) const {
  const auto known = spent_until_.find(node);
  return (known == spent_until_.end() ? now : std::max(known->second, now)) + pace_;
}

std::optional<io::Steady> Ration::wait(const std::string& node, io::Steady now) const {
  const io::Steady allowed = spent_with_one_more(node, now) - kAtOnce * pace_;
  return allowed > now ? std::optional(allowed) : std::nullopt;
}

std::optional<io::Steady> Ration::take(const std::string& node, io::Steady now) {
  if (const auto later = wait(node, now)) return later;
  if (spent_until_.size() >= tidy_at_) forget_rested(now);
  spent_until_[node] = spent_with_one_more(node, now);
  return std::nullopt;
}

void Ration::forget_rested(io::Steady now) {
  std::erase_if(spent_until_, [&](const auto& entry) { return entry.second <= now; });
  tidy_at_ = std::max<size_t>(64, 2 * spent_until_.size());
}

}  // namespace careen::notify
