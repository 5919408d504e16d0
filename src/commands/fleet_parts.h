// What the overview and the live view of a fleet have in common.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/screen.h"
#include "io/time.h"
#include "kube/json.h"

namespace careen::app {

// A line of pieces, each in its colour, cut where the width ends.
class PaintedLine {
 public:
  PaintedLine(const Screen& screen, size_t width) : screen_(screen), room_(width) {}
  PaintedLine& add(std::string_view text, Colour colour = Colour::plain);
  // The text in a column of that many characters.
  PaintedLine& column(std::string_view text, size_t width, Colour colour = Colour::plain);
  PaintedLine& bar(size_t width, double share, Colour colour);
  const Line& line() const { return out_; }

 private:
  const Screen& screen_;
  size_t room_;
  Line out_;
};

// Operational, required, in maintenance: counts of a profile.
struct StateCounts {
  int64_t operational = 0, required = 0, in_maintenance = 0;
};
StateCounts state_counts(kube::JsonView profile);

// What keeps a drain from going on: its first pod that is blocked, and how many more.
std::string blocked_text(kube::JsonView drain);
// few (maxMaintenance)
std::string budget_name(kube::JsonView budget);
// Lines with a warning's mark for everything that is paused or wrong.
std::vector<Line> alarm_lines(kube::JsonView pauses, kube::JsonView problems, const Screen& screen, size_t width,
                              io::Wall now);

}  // namespace careen::app
