#include "kube/queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "io/random.h"
#include "io/virtual_time.h"

namespace careen::kube {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::ElementsAre;

class WorkQueueTest : public testing::Test {
 protected:
  // Takes one key without waiting; empty when none is due.
  std::string take() {
    std::string key;
    io::Scope scope(*loop);
    scope.spawn(take_into(queue, key));
    time.settle();
    return key;
  }
  std::vector<std::string> take_all() {
    std::vector<std::string> out;
    for (std::string key = take(); !key.empty(); key = take()) out.push_back(key);
    return out;
  }
  static io::Task<void> take_into(WorkQueue& queue, std::string& out) { out = co_await queue.next(); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  WorkQueue queue{*loop};
};

TEST_F(WorkQueueTest, HandsOutInTheOrderOfWakingEachOnce) {
  for (const char* key : {"a", "b", "a", "c", "b"}) queue.wake(key);
  EXPECT_EQ(queue.depth(), 3u);
  EXPECT_THAT(take_all(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(queue.working(), 3u);
}

TEST_F(WorkQueueTest, IsIdleWhenNothingIsHandedOut) {
  EXPECT_TRUE(queue.idle().is_open());
  for (const char* key : {"a", "b"}) queue.wake(key);
  EXPECT_TRUE(queue.idle().is_open());
  take_all();
  queue.done("a");
  EXPECT_FALSE(queue.idle().is_open());
  queue.done("b");
  EXPECT_TRUE(queue.idle().is_open());
}

TEST_F(WorkQueueTest, AKeyBeingWorkedOnIsNotHandedOutAgainButTheWakeUpIsKept) {
  queue.wake("a");
  EXPECT_EQ(take(), "a");
  queue.wake("a");
  queue.wake("b");
  EXPECT_EQ(take(), "b");
  EXPECT_EQ(take(), "");
  queue.done("a");
  EXPECT_EQ(take(), "a");
  queue.done("a");
  EXPECT_EQ(take(), "");
}

TEST_F(WorkQueueTest, DeadlinesComeInTheirOrder) {
  const auto now = loop->now();
  queue.wake_at("late", now + minutes{2});
  queue.wake_at("early", now + minutes{1});
  queue.wake_at("early too", now + minutes{1});
  queue.wake_at("past", now - minutes{1});
  EXPECT_THAT(take_all(), ElementsAre("past"));
  time.run_for(minutes{1} - milliseconds{1});
  EXPECT_EQ(queue.depth(), 0u);
  time.run_for(minutes{2});
  queue.wake("now");
  EXPECT_THAT(take_all(), ElementsAre("early", "early too", "late", "now"));
}

// A deadline that passed before the loop came to ring the alarm still stands before a later wake-up.
TEST_F(WorkQueueTest, FirstDueGoesFirstEvenBeforeTheAlarmRang) {
  auto body = [&]() -> io::Task<void> {
    co_await io::sleep_for(*loop, seconds{1});
    queue.wake("woken");
  };
  io::Scope scope(*loop);
  scope.spawn(body());
  time.settle();
  // The sleeper's timer is older than the queue's, so it runs first in the same instant.
  queue.wake_at("deadline", loop->now() + seconds{1});
  time.run_for(seconds{1});
  EXPECT_THAT(take_all(), ElementsAre("deadline", "woken"));
}

TEST_F(WorkQueueTest, TheEarlierDeadlineCounts) {
  const auto now = loop->now();
  queue.wake_at("a", now + seconds{10});
  queue.wake_at("a", now + seconds{20});
  queue.wake_at("b", now + seconds{20});
  queue.wake_at("b", now + seconds{5});
  time.run_for(seconds{5});
  EXPECT_EQ(take(), "b");
  queue.done("b");
  time.run_for(seconds{5});
  EXPECT_EQ(take(), "a");
  queue.done("a");
  time.run_for(minutes{1});
  EXPECT_EQ(take(), "") << "the later deadlines are dropped";
  EXPECT_EQ(queue.size(), 0u);
}

// A deadline set before a decision is stale after it: only what the decision itself sets counts.
TEST_F(WorkQueueTest, HandingOutDropsTheDeadline) {
  queue.wake_at("a", loop->now() + seconds{10});
  queue.wake("a");
  EXPECT_EQ(take(), "a");
  queue.wake_at("a", loop->now() + seconds{30});
  queue.done("a");
  time.run_for(seconds{29});
  EXPECT_EQ(take(), "");
  time.run_for(seconds{1});
  EXPECT_EQ(take(), "a");
}

TEST_F(WorkQueueTest, ADeadlineThatPassesDuringTheWorkIsDueAtItsEnd) {
  queue.wake("a");
  EXPECT_EQ(take(), "a");
  queue.wake_at("a", loop->now() + seconds{1});
  time.run_for(seconds{5});
  EXPECT_EQ(take(), "");
  queue.done("a");
  EXPECT_EQ(take(), "a");
}

TEST_F(WorkQueueTest, BackoffDoublesUpToTheLongestAndEndsWithSuccess) {
  std::vector<io::Duration> pauses;
  queue.wake("a");
  EXPECT_EQ(take(), "a");
  for (int i = 0; i < 10; ++i) {
    const auto failed = loop->now();
    queue.wake_after_failure("a");
    queue.done("a");
    ASSERT_TRUE(time.run_until([&] { return queue.depth() == 1; }, minutes{10}));
    pauses.push_back(loop->now() - failed);
    EXPECT_EQ(take(), "a");
  }
  EXPECT_THAT(pauses, ElementsAre(milliseconds{500}, seconds{1}, seconds{2}, seconds{4}, seconds{8}, seconds{16},
                                  seconds{32}, minutes{1}, minutes{1}, minutes{1}));
  queue.succeeded("a");
  queue.wake_after_failure("a");
  queue.done("a");
  time.run_for(milliseconds{500});
  EXPECT_EQ(take(), "a");
}

TEST_F(WorkQueueTest, AWakeUpCutsTheBackoffShort) {
  for (int i = 0; i < 1000; ++i) queue.wake_after_failure("a");
  EXPECT_EQ(take(), "");
  queue.wake("a");
  EXPECT_EQ(take(), "a");
}

TEST_F(WorkQueueTest, LastWaitIsTheTimeInTheQueue) {
  queue.wake("a");
  queue.wake_at("b", loop->now() + seconds{2});
  time.run_for(seconds{3});
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(queue.last_wait(), seconds{3});
  EXPECT_EQ(take(), "b");
  EXPECT_EQ(queue.last_wait(), seconds{1});
  queue.wake("a");
  time.run_for(seconds{10});
  queue.done("a");
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(queue.last_wait(), seconds{0});
}

TEST_F(WorkQueueTest, ForgettingDropsWaitingAndScheduledKeys) {
  queue.wake("due");
  queue.wake_at("later", loop->now() + seconds{1});
  queue.wake_after_failure("failing");
  queue.wake("working");
  EXPECT_EQ(queue.depth(), 2u);
  for (const char* key : {"due", "later", "failing", "unknown"}) queue.forget(key);
  EXPECT_THAT(take_all(), ElementsAre("working"));
  queue.wake("working");
  queue.forget("working");
  queue.done("working");
  time.run_for(minutes{1});
  EXPECT_EQ(take(), "");
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(WorkQueueTest, ClearKeepsOnlyWhatIsHandedOut) {
  queue.wake("working");
  EXPECT_EQ(take(), "working");
  queue.wake("working");
  queue.wake("due");
  queue.wake_at("later", loop->now() + seconds{1});
  queue.wake_after_failure("failing");
  queue.clear();
  EXPECT_EQ(queue.depth(), 0u);
  EXPECT_EQ(queue.working(), 1u);
  time.run_for(minutes{2});
  EXPECT_EQ(take(), "");
  queue.done("working");
  EXPECT_EQ(take(), "");
  EXPECT_EQ(queue.size(), 0u);
  queue.wake_at("later", loop->now() + seconds{1});
  time.run_for(seconds{1});
  EXPECT_EQ(take(), "later");
}

// The worker that was called for a key dies before it runs: the next waiting worker gets the key.
TEST_F(WorkQueueTest, ACancelledWorkerPassesItsTurnOn) {
  std::string first_got, second_got;
  io::Scope second(*loop);
  {
    io::Scope first(*loop);
    first.spawn(take_into(queue, first_got));
    time.settle();
    second.spawn(take_into(queue, second_got));
    time.settle();
    queue.wake("a");
  }
  time.settle();
  EXPECT_EQ(first_got, "");
  EXPECT_EQ(second_got, "a");
}

TEST_F(WorkQueueTest, DoneWithoutHavingTheKeyIsABug) { EXPECT_DEATH(queue.done("a"), "was not handed out: a"); }

io::Task<void> worker(io::Loop& loop, WorkQueue& queue, io::Random& random, std::map<std::string, int>& running,
                      int& handled) {
  for (;;) {
    const std::string key = co_await queue.next();
    EXPECT_EQ(++running[key], 1) << key << " is worked on twice at once";
    co_await io::sleep_for(loop, milliseconds{random.next() % 20});
    --running[key];
    ++handled;
    if (random.next() % 4 == 0) {
      queue.wake_after_failure(key);
    } else {
      queue.succeeded(key);
      if (random.next() % 2 == 0) queue.wake_at(key, loop.now() + milliseconds{random.next() % 500});
    }
    queue.done(key);
  }
}

// Workers, deadlines, failures and forgotten keys at random: nobody works twice at once and nothing is left lying.
TEST_F(WorkQueueTest, ManyWorkersNeverShareAKey) {
  io::Random random(7);
  std::map<std::string, int> running;
  int handled = 0;
  io::Scope scope(*loop);
  for (int i = 0; i < 8; ++i) scope.spawn(worker(*loop, queue, random, running, handled));
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "node-" + std::to_string(random.next() % 50);
    switch (random.next() % 8) {
      case 0:
        queue.forget(key);
        break;
      case 1:
        queue.wake_at(key, loop->now() + milliseconds{random.next() % 300});
        break;
      default:
        queue.wake(key);
    }
    if (i % 4 == 0) time.run_for(milliseconds{1});
  }
  EXPECT_GT(handled, 1000);
  EXPECT_TRUE(time.run_until([&] { return queue.size() == 0; }, minutes{60})) << queue.size() << " keys left";
}

// The order of 100,000 deadlines, half of them moved and a part forgotten, against a sorted copy.
TEST_F(WorkQueueTest, AHundredThousandKeys) {
  io::Random random(11);
  std::map<std::string, io::Steady> expected;
  const auto now = loop->now();
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = "node-" + std::to_string(i);
    const auto when = now + milliseconds{1 + random.next() % 1'000'000};
    queue.wake_at(key, when);
    expected[key] = when;
  }
  for (auto& [key, when] : expected) {
    const auto moved = now + milliseconds{1 + random.next() % 1'000'000};
    queue.wake_at(key, moved);
    when = std::min(when, moved);
  }
  for (int i = 0; i < 100'000; i += 7) {
    queue.forget("node-" + std::to_string(i));
    expected.erase("node-" + std::to_string(i));
  }
  time.run_for(seconds{1000});
  ASSERT_EQ(queue.depth(), expected.size());
  io::Steady last = now;
  std::string key;
  for (size_t i = expected.size(); i > 0; --i) {
    io::Scope scope(*loop);
    scope.spawn(take_into(queue, key));
    time.settle();
    ASSERT_TRUE(expected.contains(key));
    ASSERT_EQ(queue.last_wait(), loop->now() - expected[key]);
    ASSERT_GE(expected[key], last);
    last = expected[key];
    queue.done(key);
  }
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace careen::kube
