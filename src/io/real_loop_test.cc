#include "io/real_loop.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>

#include "io/sync.h"

namespace careen::io {
namespace {

// A regression: the loop slept once more although what ran last was what the caller waited for.
TEST(RealLoopTest, LooksBeforeItSleeps) {
  RealLoop loop;
  bool done = false;
  loop.post([&] { done = true; });
  loop.run_until([&] { return done; });
  loop.post([&] { loop.stop(); });
  loop.run();
}

Task<void> spin(Loop* loop, int* turns) {
  for (;;) {
    ++*turns;
    co_await yield_to_others(*loop);
  }
}

TEST(RealLoopTest, BusyTasksDoNotStarveSockets) {
  RealLoop loop;
  Scope scope(loop);
  int turns = 0;
  scope.spawn(spin(&loop, &turns));
  bool seen = false;
  boost::asio::post(loop.asio(), [&] { seen = true; });
  loop.run_until([&] { return seen || turns > 100'000; });
  EXPECT_TRUE(seen);
}

struct Repost {
  boost::asio::io_context* context;
  int* left;
  void operator()() const {
    if (--*left > 0) boost::asio::post(*context, *this);
  }
};

TEST(RealLoopTest, BusySocketsDoNotStarveTasks) {
  RealLoop loop;
  int left = 100'000;
  boost::asio::post(loop.asio(), Repost{&loop.asio(), &left});
  Scope scope(loop);
  int turns = 0;
  scope.spawn(spin(&loop, &turns));
  loop.run_until([&] { return turns > 100; });
  EXPECT_GT(left, 0);
}

TEST(RealLoopTest, ATimerIsNotEarly) {
  RealLoop loop;
  Steady rang{};
  Alarm alarm(loop, [&] { rang = loop.now(); });
  const Steady due = loop.now() + milliseconds{20};
  alarm.set(due);
  loop.run_until([&] { return rang != Steady{}; });
  EXPECT_GE(rang, due);
}

}  // namespace
}  // namespace careen::io
