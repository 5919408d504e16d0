// What is still to happen on a stage: at some time, or as soon as no process is in the middle of something. Runs
// virtual time from one to the next.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "io/virtual_time.h"

namespace careen::explore {

class Agenda {
 public:
  using Action = std::function<void()>;
  explicit Agenda(io::VirtualTime& time) : time_(time) {}

  void at(io::Steady when, Action action) { actions_.emplace(when, std::move(action)); }
  void later(io::Duration span, Action action) { at(time_.now() + span, std::move(action)); }
  void soon(Action action) { soon_.push_back(std::move(action)); }

  struct Conduct {
    std::function<void()> stepped;  // called after every step
    std::function<bool()> over;     // nothing more is to happen
    // Something has to be seen to at once, and what does so.
    std::function<bool()> urgent;
    std::function<void()> see_to_it;
  };
  void run_until(io::Steady when, const Conduct& conduct);

 private:
  io::VirtualTime& time_;
  std::multimap<io::Steady, Action> actions_;
  std::deque<Action> soon_;
};

}  // namespace careen::explore
