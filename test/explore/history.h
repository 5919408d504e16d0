// What an object was like, and since when: whoever acts on a watch acts on what was true a moment ago.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "io/time.h"

namespace careen::explore {

template <class T>
class History {
 public:
  // From now on; nothing: it is not there. `tick` counts what happens, since much may happen at one time.
  void set(io::Steady now, uint64_t tick, std::optional<T> value) { states_.push_back({now, tick, std::move(value)}); }

  // Null: it is not there.
  const T* now() const { return states_.empty() || !states_.back().value ? nullptr : &*states_.back().value; }

  // Whether that holds of it, or of null while it was not there, at some time in between, both ends included.
  template <class Predicate>
  bool ever(io::Steady from, io::Steady to, const Predicate& holds) const {
    if ((states_.empty() || states_.front().since > from) && holds(static_cast<const T*>(nullptr))) return true;
    for (size_t i = 0; i < states_.size() && states_[i].since <= to; ++i) {
      const bool over = i + 1 < states_.size() && states_[i + 1].since < from;
      if (!over && holds(states_[i].value ? &*states_[i].value : nullptr)) return true;
    }
    return false;
  }

  // When it changed in between.
  void add_ticks(io::Steady from, io::Steady to, std::vector<uint64_t>& ticks) const {
    for (const State& state : states_) {
      if (state.since > from && state.since <= to) ticks.push_back(state.tick);
    }
  }

  // As it was then; null: it was not there.
  const T* at(uint64_t tick) const {
    const auto after = std::ranges::upper_bound(states_, tick, {}, &State::tick);
    if (after == states_.begin()) return nullptr;
    const State& state = *std::prev(after);
    return state.value ? &*state.value : nullptr;
  }

 private:
  struct State {
    io::Steady since;
    uint64_t tick;
    std::optional<T> value;
  };
  std::vector<State> states_;
};

}  // namespace careen::explore
