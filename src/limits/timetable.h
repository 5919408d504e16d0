// What is due when, by name, for one alarm that rings for the earliest.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "io/time.h"

namespace careen::limits {

template <class Key>
class Timetable {
 public:
  // Instead of what it was due before.
  void set(const Key& key, std::optional<io::Steady> when) {
    if (const auto it = when_.find(key); it != when_.end()) {
      if (when && it->second == *when) return;
      order_.erase({it->second, key});
      when_.erase(it);
    }
    if (!when) return;
    when_.emplace(key, *when);
    order_.emplace(*when, key);
  }
  std::optional<io::Steady> next() const {
    return order_.empty() ? std::nullopt : std::optional(order_.begin()->first);
  }
  // One that is due, which leaves.
  std::optional<Key> take(io::Steady now) {
    if (order_.empty() || order_.begin()->first > now) return std::nullopt;
    Key key = order_.begin()->second;
    set(key, std::nullopt);
    return key;
  }

 private:
  std::map<Key, io::Steady> when_;
  std::set<std::pair<io::Steady, Key>> order_;
};

}  // namespace careen::limits
