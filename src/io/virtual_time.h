// Time that jumps. VirtualTime drives any number of loops, one per simulated process, on this thread: it runs
// what is ready, in an order drawn from the seed, and moves the clock to the next timer only when nothing is.
// Equal seeds give equal runs.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "io/loop.h"

namespace careen::io {

class VirtualTime {
 public:
  explicit VirtualTime(uint64_t seed = 1, Wall start = Wall{std::chrono::hours{24 * 365 * 56}});
  ~VirtualTime();

  // A loop of its own for a simulated process whose wall clock is off by `skew`. Destroy what lives on it
  // first, then the loop.
  std::unique_ptr<Loop> make_loop(Duration skew = {});

  Steady now() const { return now_; }
  Wall wall_now() const { return start_ + now_.time_since_epoch(); }

  // Runs everything due up to and including now + span; the clock then stands there.
  void run_for(Duration span);
  // Runs until `done` holds (checked after every step) or the span has passed; tells whether it holds.
  bool run_until(const std::function<bool()>& done, Duration span);
  // A suspended loop stands still while time goes on, as a process does that is stopped or whose machine is paused.
  void suspend(Loop& loop);
  void resume(Loop& loop);
  // Somebody sets the wall clock of that process forward, or back.
  void step_clock(Loop& loop, Duration by);
  // Runs what is ready now, without moving the clock.
  void settle();
  // When the clock would next jump to; none while nobody waits for a time.
  std::optional<Steady> next_timer() const;

 private:
  class VirtualLoop;
  VirtualLoop& own(Loop& loop);
  bool step();
  void advance(Steady to);

  Wall start_;
  Steady now_{};
  std::mt19937_64 order_;
  std::vector<VirtualLoop*> loops_;
};

}  // namespace careen::io
