// The turns of progress writes: all objects of a controller together are written no more often than this, those that
// wait longest first.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <string>

#include "io/loop.h"

namespace careen::kube {

class WriteTurns {
 public:
  // `offer` is told whose turn it is.
  WriteTurns(io::Loop& loop, io::Duration interval, std::function<void(const std::string&)> offer)
      : loop_(loop), interval_(interval), alarm_(loop, [this, offer = std::move(offer)] {
          if (!waiting_.empty()) offer(waiting_.front());
        }) {}

  // True: write now. Otherwise it will be offered a turn.
  bool take(const std::string& key) {
    const bool first = waiting_.empty() || waiting_.front() == key;
    if (first && loop_.now() >= next_) {
      next_ = loop_.now() + interval_;
      leave(key);
      return true;
    }
    if (std::find(waiting_.begin(), waiting_.end(), key) == waiting_.end()) waiting_.push_back(key);
    arm();
    return false;
  }

  // It has nothing to write any more.
  void leave(const std::string& key) {
    std::erase(waiting_, key);
    arm();
  }

 private:
  void arm() {
    if (!waiting_.empty()) alarm_.set(std::max(next_, loop_.now()));
  }

  io::Loop& loop_;
  io::Duration interval_;
  io::Steady next_{};
  std::deque<std::string> waiting_;
  io::Alarm alarm_;
};

}  // namespace careen::kube
