#include "io/clock_steps.h"

#include <gtest/gtest.h>

#include <vector>

#include "io/sync.h"
#include "io/virtual_time.h"

namespace careen::io {
namespace {

struct FollowedClock : testing::Test {
  FollowedClock() {
    scope.spawn(follow_clock(*loop, [this](Duration by) { steps.push_back(by); }));
    time.settle();
  }

  VirtualTime time;
  std::unique_ptr<Loop> loop = time.make_loop();
  Scope scope{*loop};
  std::vector<Duration> steps;
};

// A clock that nobody touches says nothing, however long.
TEST_F(FollowedClock, one_that_runs_on_tells_nothing) {
  time.run_for(hours{24});
  EXPECT_TRUE(steps.empty());
}

// Forward or back, once each, within the time between two looks.
TEST_F(FollowedClock, a_clock_that_is_set_is_told_of_once) {
  time.step_clock(*loop, minutes{3});
  time.run_for(kClockLook);
  EXPECT_EQ(steps, (std::vector<Duration>{minutes{3}}));
  time.step_clock(*loop, -hours{1});
  time.run_for(hours{1});
  EXPECT_EQ(steps, (std::vector<Duration>{minutes{3}, -hours{1}}));
}

// One that is steered a little at a time has moved, too, in the end.
TEST_F(FollowedClock, small_steps_add_up) {
  for (int i = 0; i < 3; ++i) {
    time.step_clock(*loop, milliseconds{400});
    time.run_for(kClockLook);
  }
  EXPECT_EQ(steps, (std::vector<Duration>{milliseconds{1200}}));
}

}  // namespace
}  // namespace careen::io
