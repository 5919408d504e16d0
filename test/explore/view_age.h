// How old what careen knows of an API server may be, from what has been done to the way between them. A watch that
// flows tells each change within moments. One that stands still looks like one with nothing to tell, so careen acts on
// what was true when it stopped. One that is cut off is noticed, and what it told before is trusted for a while only.
#pragma once

#include <vector>

#include "io/time.h"

namespace careen::explore {

class ViewAge {
 public:
  // `trusted`: for how long after it was cut off what it told is acted on.
  explicit ViewAge(io::Duration trusted = io::Duration::max()) : trusted_(trusted) {}

  void stands_still(io::Steady from, io::Steady until) { troubles_.push_back({from, until, Kind::still}); }
  // `surely`: nothing is heard before it is over; otherwise what flows goes on, but nothing new begins.
  void is_cut_off(io::Steady from, io::Steady until, bool surely = false) {
    troubles_.push_back({from, until, surely ? Kind::silent : Kind::shaky});
  }

  // Who acts at that time acts on nothing that was over before this.
  io::Steady oldest(io::Steady when) const;
  // It has been cut off for so long that nothing it told may be acted on.
  bool is_silent(io::Steady when) const;

 private:
  enum class Kind { still, shaky, silent };
  struct Trouble {
    io::Steady from, until;
    Kind kind;
  };
  io::Duration trusted_;
  std::vector<Trouble> troubles_;
};

}  // namespace careen::explore
