// What happened in a run, in order: who did what when, and why. Printed when an expectation fails, or on demand.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "controllers/slot/why.h"
#include "io/time.h"

namespace careen::scenarios {

struct Moment {
  io::Steady at{};
  std::string who;   // careen-0, person, fault, scenario
  std::string what;  // one line
  std::string node;  // that it is about, if it is about one
  std::vector<std::string> details;
  int repeated = 0;  // how often the same came again, and when last
  io::Steady last{};
};

class Timeline {
 public:
  // What is said again and again is kept once.
  void add(Moment moment);
  const std::vector<Moment>& moments() const { return moments_; }

  std::string text() const;
  // The latest moments. If there are more, those about other nodes are left out first (no nodes: none are other). What
  // is left out is counted.
  std::string latest(const std::set<std::string>& nodes, size_t most) const;

 private:
  std::vector<Moment> moments_;
};

// The reasons of what the decision moves, a line for each profile: "because needed && few: needed: …; few: …".
std::vector<std::string> reasons_to_move(const Why& why);
// The whole tree, indented, at most this many lines.
std::string shortened(const Why& why, std::string_view indent, size_t most);

}  // namespace careen::scenarios
