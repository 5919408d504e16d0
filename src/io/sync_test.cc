#include "io/sync.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/virtual_time.h"

namespace careen::io {
namespace {

class SyncTest : public testing::Test {
 protected:
  VirtualTime time;
  std::unique_ptr<Loop> loop = time.make_loop();
};

Task<void> note_after(Loop& loop, Duration d, std::string text, std::vector<std::string>& out) {
  co_await sleep_for(loop, d);
  out.push_back(std::move(text));
}

// A day of waiting costs no real time, and timers fire in order.
TEST_F(SyncTest, SleepsInVirtualTime) {
  std::vector<std::string> out;
  Scope scope(*loop);
  scope.spawn(note_after(*loop, hours{24}, "day", out));
  scope.spawn(note_after(*loop, hours{1}, "hour", out));
  time.run_for(hours{23});
  EXPECT_EQ(out, std::vector<std::string>{"hour"});
  time.run_for(hours{1});
  EXPECT_EQ(out, (std::vector<std::string>{"hour", "day"}));
  EXPECT_EQ(scope.running(), 0);
}

// Equal deadlines fire in the order in which they were set.
TEST_F(SyncTest, EqualDeadlinesKeepTheirOrder) {
  std::vector<std::string> out;
  Scope scope(*loop);
  for (const char* name : {"a", "b", "c"}) scope.spawn(note_after(*loop, seconds{1}, name, out));
  time.run_for(seconds{1});
  EXPECT_EQ(out, (std::vector<std::string>{"a", "b", "c"}));
}

// Also when it is due already and only waits for its turn.
TEST_F(SyncTest, ACancelledAlarmDoesNotRing) {
  int rung = 0;
  Alarm first(*loop, [&] { ++rung; });
  Alarm second(*loop, [&] { rung += 10; });
  Alarm killer(*loop, [&] { second.cancel(); });
  killer.set(loop->now() + seconds{1});
  first.set(loop->now() + seconds{1});
  second.set(loop->now() + seconds{1});
  time.run_for(seconds{2});
  EXPECT_EQ(rung, 1);
}

struct Flag {
  bool& destroyed;
  ~Flag() { destroyed = true; }
};

// Destroying a scope destroys the frames of its tasks, wherever they wait, also when already scheduled.
TEST_F(SyncTest, CancellingDestroysFramesAndForgetsWakeUps) {
  bool destroyed = false, resumed = false;
  Gate gate(*loop);
  auto body = [&]() -> Task<void> {
    Flag flag{destroyed};
    co_await gate.wait();
    resumed = true;
  };
  {
    Scope scope(*loop);
    scope.spawn(body());
    time.settle();
    gate.open();  // schedules the waiter; the scope goes before it runs
  }
  EXPECT_TRUE(destroyed);
  time.settle();
  EXPECT_FALSE(resumed);
}

TEST_F(SyncTest, SignalIsRememberedAndCountsOnce) {
  Signal signal(*loop);
  int woken = 0;
  auto body = [&]() -> Task<void> {
    for (;;) {
      co_await signal.wait();
      ++woken;
    }
  };
  signal.notify();
  signal.notify();
  Scope scope(*loop);
  scope.spawn(body());
  time.settle();
  EXPECT_EQ(woken, 1);
  signal.notify();
  time.settle();
  EXPECT_EQ(woken, 2);
}

TEST_F(SyncTest, SemaphoreBoundsAndServesInOrder) {
  Semaphore semaphore(*loop, 2);
  int inside = 0, most = 0;
  std::vector<int> order;
  auto body = [&](int i) -> Task<void> {
    auto permit = co_await semaphore.acquire();
    most = std::max(most, ++inside);
    order.push_back(i);
    co_await sleep_for(*loop, seconds{1});
    --inside;
  };
  Scope scope(*loop);
  for (int i = 0; i < 5; ++i) scope.spawn(body(i));
  time.run_for(seconds{3});
  EXPECT_EQ(most, 2);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
  EXPECT_EQ(semaphore.free(), 2);
}

// A permit granted to a frame that is destroyed before it resumes is not lost.
TEST_F(SyncTest, SemaphoreGetsBackAPermitGrantedToACancelledTask) {
  Semaphore semaphore(*loop, 1);
  Scope holder_scope(*loop), waiter_scope(*loop);
  auto hold = [&]() -> Task<void> {
    auto permit = co_await semaphore.acquire();
    co_await sleep_for(*loop, seconds{1});
  };
  auto want = [&]() -> Task<void> { auto permit = co_await semaphore.acquire(); };
  holder_scope.spawn(hold());
  time.settle();
  waiter_scope.spawn(want());
  time.settle();
  holder_scope.cancel();  // releases: the waiter is granted and scheduled
  waiter_scope.cancel();  // but goes before it runs
  EXPECT_EQ(semaphore.free(), 1);
}

Task<int> answer_after(Loop& loop, Duration d) {
  co_await sleep_for(loop, d);
  co_return 42;
}

TEST_F(SyncTest, WithTimeoutGivesTheValueOrNothing) {
  std::optional<int> quick, slow = 1;
  auto body = [&]() -> Task<void> {
    quick = co_await with_timeout(*loop, seconds{2}, answer_after(*loop, seconds{1}));
    slow = co_await with_timeout(*loop, seconds{1}, answer_after(*loop, seconds{2}));
  };
  Scope scope(*loop);
  scope.spawn(body());
  time.run_for(seconds{5});
  EXPECT_EQ(quick, 42);
  EXPECT_EQ(slow, std::nullopt);
}

TEST_F(SyncTest, RaceTellsTheFirstAndCancelsTheOther) {
  bool destroyed = false;
  auto slow = [&]() -> Task<void> {
    Flag flag{destroyed};
    co_await sleep_for(*loop, hours{1});
  };
  auto quick = [&]() -> Task<void> { co_await sleep_for(*loop, seconds{1}); };
  int winner = -1;
  auto body = [&]() -> Task<void> { winner = co_await race(*loop, slow(), quick()); };
  Scope scope(*loop);
  scope.spawn(body());
  time.run_for(seconds{1});
  EXPECT_EQ(winner, 1);
  EXPECT_TRUE(destroyed);
}

// Two processes, each with its own loop: equal seeds interleave them equally, another seed differs.
TEST(VirtualTimeTest, EqualSeedsGiveEqualRuns) {
  auto run = [](uint64_t seed) {
    VirtualTime time(seed);
    std::string trace;
    auto a = time.make_loop(), b = time.make_loop(seconds{5});
    EXPECT_EQ(b->wall_now() - a->wall_now(), seconds{5});
    Scope sa(*a), sb(*b);
    auto body = [&trace](Loop& loop, char c) -> Task<void> {
      for (int i = 0; i < 50; ++i) {
        co_await sleep_for(loop, seconds{1});
        trace += c;
      }
    };
    sa.spawn(body(*a, 'a'));
    sb.spawn(body(*b, 'b'));
    time.run_for(minutes{1});
    return trace;
  };
  EXPECT_EQ(run(7), run(7));
  EXPECT_EQ(run(7).size(), 100u);
  EXPECT_NE(run(7), run(8));
}

}  // namespace
}  // namespace careen::io
