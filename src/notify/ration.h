// How many messages each node may send: some at once, and then one every now and then. The excess waits. Without it,
// anybody who can write one node's annotations could bury people under messages about it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "io/time.h"

namespace careen::notify {

class Ration {
 public:
  static constexpr int kAtOnce = 20;

  // One more message may go each time this has passed.
  void set_pace(io::Duration pace) { pace_ = pace; }
  io::Duration pace() const { return pace_; }

  // When the node may send the next one; nothing: now.
  std::optional<io::Steady> wait(const std::string& node, io::Steady now) const;
  // The same; if that is now, one counts as sent.
  std::optional<io::Steady> take(const std::string& node, io::Steady now);

 private:
  io::Steady spent_with_one_more(const std::string& node, io::Steady now) const;
  void forget_rested(io::Steady now);

  io::Duration pace_ = io::minutes{1};
  std::map<std::string, io::Steady> spent_until_;  // by node: when all is there again
  size_t tidy_at_ = 64;
};

}  // namespace careen::notify
