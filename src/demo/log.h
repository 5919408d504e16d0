// The live log of the demonstration: a line for each notable thing, from careen's timeline and from the actors. Many of
// a kind become one line, so that it can be read along.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/screen.h"
#include "io/time.h"
#include "view/timeline.h"

namespace careen::app {

class DemoLog {
 public:
  // `brief`: at a high speed single drains are left out.
  DemoLog(Screen& screen, bool brief) : screen_(screen), brief_(brief) {}

  void tell(io::Wall time, const std::string& node, const std::string& text);
  // Prints what the timeline has that was not shown yet. `cluster`: of which it is, where there are several.
  void show(const std::string& cluster, const view::Timeline& timeline);

 private:
  void show(const std::string& cluster, const view::Entry& entry);
  void show_required(const std::string& cluster, const std::vector<const view::Entry*>& entries);
  void line(io::Wall time, Colour colour, const std::string& of, const std::string& text);

  Screen& screen_;
  bool brief_;
  std::map<std::string, int64_t> shown_;  // by cluster
};

}  // namespace careen::app
