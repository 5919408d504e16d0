// What limits the pace: while nodes wait for maintenance, the one that has waited longest is asked again and again what
// keeps it, and the answers are counted by the time they hold.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "io/loop.h"
#include "plan/blame.h"
#include "plan/plan.h"
#include "plan/timetable.h"

namespace careen::plan {

class Pace {
 public:
  using Ask = std::function<Blame(const std::string& node, const std::string& profile)>;
  // No more often than `rest`, once some time has passed.
  Pace(io::Loop& loop, const Timetable& timetable, io::Duration rest, Ask ask);

  // Somebody may wait now.
  void wake();
  // The greatest share first.
  std::vector<Limit> limits() const;

 private:
  void sample();

  io::Loop& loop_;
  const Timetable& timetable_;
  io::Duration rest_;
  io::Duration interval_;
  Ask ask_;
  std::map<std::string, double> seconds_;
  io::Alarm next_;
};

}  // namespace careen::plan
