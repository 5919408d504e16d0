#include "windows/wait_exclude.h"

#include <gtest/gtest.h>

#include "io/random.h"
#include "windows/calendar.h"
#include "windows/test_times.h"

namespace careen::windows {
namespace {

using std::chrono::days;

const Weekdays kNone;
const Weekdays kMondayAndWednesday{0b0001010};
const Weekdays kWeekend{0b1000001};

// March 2026 begins on a Sunday.
io::Wall march(int day, int hour, int minute = 0) {
  return io::Wall{std::chrono::sys_days{std::chrono::year{2026} / 3 / day}} + io::hours{hour} + io::minutes{minute};
}

bool passed(io::Wall since, io::Wall now, Weekdays excluded = kMondayAndWednesday) {
  return wait_exclude(since, now, io::hours{30}, excluded).passed;
}

TEST(WaitExcludeTest, ThirtyHoursWithoutMondayAndWednesday) {
  EXPECT_FALSE(passed(march(1, 12), march(3, 17)));
  EXPECT_TRUE(passed(march(1, 12), march(3, 18, 10)));
  EXPECT_FALSE(passed(march(2, 12), march(5, 5)));
  EXPECT_TRUE(passed(march(2, 12), march(5, 6, 10)));
  EXPECT_FALSE(passed(march(7, 22), march(9, 17)));
}

TEST(WaitExcludeTest, TheDurationMustBeExceeded) {
  const io::Wall end = march(3, 18);
  EXPECT_FALSE(passed(march(1, 12), end));
  EXPECT_TRUE(passed(march(1, 12), end + io::Duration{1}));
  const WaitAnswer answer = wait_exclude(march(1, 12), march(3, 17), io::hours{30}, kMondayAndWednesday);
  EXPECT_EQ(answer.remaining, io::hours{1});
  EXPECT_EQ(answer.changes_at, end + io::Duration{1});
  const WaitAnswer at_end = wait_exclude(march(1, 12), end, io::hours{30}, kMondayAndWednesday);
  EXPECT_EQ(at_end.remaining, io::Duration{0});
  EXPECT_EQ(at_end.changes_at, end + io::Duration{1});
}

// An excluded day is left out once, also while it lasts.
TEST(WaitExcludeTest, AnExcludedDayDoesNotCountTwice) {
  const WaitAnswer answer = wait_exclude(march(1, 6), march(2, 17), io::hours{17}, kMondayAndWednesday);
  EXPECT_TRUE(answer.passed);
  EXPECT_EQ(wait_exclude(march(1, 6), march(2, 17), io::hours{20}, kMondayAndWednesday).remaining, io::hours{2});
}

TEST(WaitExcludeTest, AfterTheLastHourBeforeAnExcludedDayTheNextCountedDayPasses) {
  // Saturday 23:00 with one hour to wait: passes in the first moment that counts after the weekend.
  const Weekdays sunday{0b0000001};
  const WaitAnswer answer = wait_exclude(march(7, 23), march(7, 23, 30), io::hours{1}, sunday);
  EXPECT_FALSE(answer.passed);
  EXPECT_EQ(answer.changes_at, march(9, 0) + io::Duration{1});
  // One nanosecond less, and it passes at midnight sharp.
  EXPECT_EQ(wait_exclude(march(7, 23), march(7, 23, 30), io::hours{1} - io::Duration{1}, sunday).changes_at,
            march(8, 0));
}

TEST(WaitExcludeTest, WithoutExcludedDaysItIsAPlainWait) {
  EXPECT_FALSE(passed(march(1, 12), march(2, 18), kNone));
  EXPECT_TRUE(passed(march(1, 12), march(2, 18) + io::Duration{1}, kNone));
  EXPECT_EQ(wait_exclude(march(1, 12), march(1, 13), io::hours{30}, kNone).changes_at, march(2, 18) + io::Duration{1});
}

TEST(WaitExcludeTest, OverManyWeeks) {
  const WaitAnswer answer = wait_exclude(march(2, 0), march(2, 1), days{50}, kWeekend);
  EXPECT_EQ(answer.changes_at, march(2, 0) + days{70} + io::Duration{1});
}

TEST(WaitExcludeTest, WhenNoDayCountsItNeverPasses) {
  const WaitAnswer answer = wait_exclude(march(1, 0), march(30, 0), io::Duration{0}, kAll);
  EXPECT_FALSE(answer.passed);
  EXPECT_EQ(answer.changes_at, std::nullopt);
  EXPECT_TRUE(wait_exclude(march(1, 0), march(30, 0), io::Duration{-1}, kAll).passed);
}

TEST(WaitExcludeTest, NegativeDurationsAndClocksThatWentBack) {
  EXPECT_TRUE(wait_exclude(march(1, 12), march(1, 12), -io::hours{1}, kNone).passed);
  EXPECT_FALSE(wait_exclude(march(1, 12), march(1, 12), io::Duration{0}, kNone).passed);
  const WaitAnswer back = wait_exclude(march(1, 12), march(1, 10), io::hours{1}, kNone);
  EXPECT_EQ(back.remaining, io::hours{3});
  EXPECT_EQ(back.changes_at, march(1, 13) + io::Duration{1});
}

TEST(WaitExcludeTest, TheEndsOfTime) {
  EXPECT_TRUE(passed(io::Wall::min(), march(1, 0)));
  EXPECT_TRUE(wait_exclude(io::Wall::min(), io::Wall::max(), io::Duration::max(), kNone).passed);
  const WaitAnswer never = wait_exclude(march(1, 0), march(2, 0), io::Duration::max(), kNone);
  EXPECT_FALSE(never.passed);
  EXPECT_EQ(never.changes_at, std::nullopt);
  EXPECT_EQ(wait_exclude(io::Wall::max(), io::Wall::min(), io::Duration::max(), kNone).remaining, io::Duration::max());
}

// Against a count of minutes, one by one.
TEST(WaitExcludeTest, CountsLikeAStopwatch) {
  io::Random random{11};
  for (int round = 0; round < 300; ++round) {
    const Weekdays excluded{random.next() % 127};
    const io::Wall since = march(1, 0) + io::minutes{random.next() % (40 * 24 * 60)};
    const io::Duration duration = io::minutes{random.next() % (9 * 24 * 60)};
    io::Duration counted{0};
    io::Wall t = since;
    for (; counted <= duration; t += io::minutes{1}) {
      if (!excluded[weekday_of(day_of(t))]) counted += io::minutes{1};
    }
    // More than the duration was counted for the first time within the last minute.
    const auto answer = wait_exclude(since, since, duration, excluded);
    ASSERT_FALSE(answer.passed);
    EXPECT_EQ(answer.changes_at, t - io::minutes{1} + io::Duration{1});
    EXPECT_TRUE(wait_exclude(since, *answer.changes_at, duration, excluded).passed);
    EXPECT_FALSE(wait_exclude(since, *answer.changes_at - io::Duration{1}, duration, excluded).passed);
  }
}

}  // namespace
}  // namespace careen::windows
