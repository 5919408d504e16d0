// Virtual time that keeps step with a real loop: simulated processes live on the loops of a VirtualTime, whose clock
// runs at a multiple of the real one, while sockets and signals stay on the real loop. All on one thread, so the two
// sides may call each other.
#pragma once

#include <functional>

#include "io/real_loop.h"
#include "io/virtual_time.h"

namespace careen::io {

class PacedTime {
 public:
  // From now on; nothing moves but in run_until().
  PacedTime(RealLoop& loop, VirtualTime& time, double speed);

  // Runs both until `done` holds. What becomes ready on a virtual loop runs at once; otherwise the process sleeps until
  // something comes in or the next virtual timer is due.
  void run_until(const std::function<bool()>& done);
  double speed() const { return speed_; }

 private:
  void follow();
  void start_from_here();
  // What the virtual clock shows at that moment, and when it will show a time.
  Steady shown_at(Steady real) const;
  Steady shows(Steady shown) const;

  RealLoop& loop_;
  VirtualTime& time_;
  double speed_;
  Steady real_start_{};
  Steady virtual_start_{};
  Alarm wake_;
};

}  // namespace careen::io
