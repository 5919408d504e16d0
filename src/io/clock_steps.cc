#include "io/clock_steps.h"

namespace careen::io {

Task<void> follow_clock(Loop& loop, std::function<void(Duration by)> stepped) {
  const auto offset = [&loop] { return loop.wall_now().time_since_epoch() - loop.now().time_since_epoch(); };
  Duration known = offset();
  for (;;) {
    co_await sleep_for(loop, kClockLook);
    const Duration by = offset() - known;
    if (by < kClockStep && by > -kClockStep) continue;
    known += by;
    stepped(by);
  }
}

}  // namespace careen::io
