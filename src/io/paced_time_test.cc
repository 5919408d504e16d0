#include "io/paced_time.h"

#include <gtest/gtest.h>

#include "io/sync.h"

namespace careen::io {
namespace {

constexpr double kFast = 100'000;

Task<void> note_time_after(Loop& loop, Duration wait, std::vector<Duration>& out, Steady start) {
  co_await sleep_for(loop, wait);
  out.push_back(loop.now() - start);
}

// Timers of virtual loops ring in their order and at their time, however far apart.
TEST(PacedTime, virtual_timers_ring_at_their_virtual_time) {
  RealLoop real;
  VirtualTime time;
  const auto loop = time.make_loop();
  Scope scope(*loop);
  std::vector<Duration> rang;
  scope.spawn(note_time_after(*loop, hours{1}, rang, time.now()));
  scope.spawn(note_time_after(*loop, minutes{1}, rang, time.now()));
  PacedTime paced(real, time, kFast);
  paced.run_until([&] { return rang.size() == 2; });
  EXPECT_EQ(rang, (std::vector<Duration>{minutes{1}, hours{1}}));
}

// The clock does not run ahead of the real one.
TEST(PacedTime, the_virtual_clock_is_not_ahead) {
  RealLoop real;
  VirtualTime time;
  const auto loop = time.make_loop();
  Scope scope(*loop);
  std::vector<Duration> rang;
  scope.spawn(note_time_after(*loop, minutes{10}, rang, time.now()));
  const Steady begun = real.now();
  PacedTime paced(real, time, kFast);
  paced.run_until([&] { return !rang.empty(); });
  EXPECT_GE(real.now() - begun, minutes{10} / 100'000);
}

// What a real event makes ready on a virtual loop runs although no virtual timer is due.
TEST(PacedTime, work_that_comes_from_outside_runs_at_once) {
  RealLoop real;
  VirtualTime time;
  const auto loop = time.make_loop();
  PacedTime paced(real, time, 1e-6);  // its timers would never be due
  bool answered = false;
  Alarm request(real, [&] { loop->post([&] { real.post([&] { answered = true; }); }); });
  request.set(real.now() + milliseconds{1});
  paced.run_until([&] { return answered; });
  EXPECT_LT(time.now().time_since_epoch(), seconds{1});
}

// Virtual loops that always have something to do leave room for the real one.
TEST(PacedTime, busy_virtual_loops_do_not_starve_the_real_one) {
  RealLoop real;
  VirtualTime time;
  const auto loop = time.make_loop();
  std::function<void()> again = [&] { loop->post(again); };
  loop->post(again);
  PacedTime paced(real, time, 1);
  bool rang = false;
  Alarm alarm(real, [&] { rang = true; });
  alarm.set(real.now() + milliseconds{1});
  paced.run_until([&] { return rang; });
  EXPECT_TRUE(rang);
}

}  // namespace
}  // namespace careen::io
