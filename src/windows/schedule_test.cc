#include "windows/schedule.h"

#include <gtest/gtest.h>

#include "windows/calendar.h"
#include "windows/test_times.h"

namespace careen::windows {
namespace {

ScheduleAnswer periodic(ScheduleInputs inputs, io::Duration interval = io::hours{1}) {
  Schedule schedule;
  schedule.interval = interval;
  return due(schedule, inputs);
}

// At 12:00 on Mondays unless told otherwise.
ScheduleAnswer scheduled(io::Wall now, io::Wall last = io::Wall::min(), Weekdays weekdays = Weekdays{0b0000010}) {
  Schedule schedule;
  schedule.type = ScheduleType::scheduled;
  schedule.instant = io::hours{12};
  schedule.weekdays = weekdays;
  ScheduleInputs inputs;
  inputs.now = now;
  inputs.last = last;
  return due(schedule, inputs);
}

ScheduleAnswer oneshot(io::Wall now, io::Wall transition, io::Wall last = io::Wall::min(),
                       io::Duration delay = io::minutes{10}) {
  Schedule schedule;
  schedule.type = ScheduleType::oneshot;
  schedule.delay = delay;
  ScheduleInputs inputs;
  inputs.now = now;
  inputs.last = last;
  inputs.transition = transition;
  return due(schedule, inputs);
}

TEST(ScheduleTest, TypesMatchInAnyCase) {
  EXPECT_EQ(parse_schedule_type("periodic"), ScheduleType::periodic);
  EXPECT_EQ(parse_schedule_type("Scheduled"), ScheduleType::scheduled);
  EXPECT_EQ(parse_schedule_type("ONESHOT"), ScheduleType::oneshot);
  EXPECT_EQ(parse_schedule_type("daily"), std::nullopt);
  EXPECT_EQ(parse_schedule_type(""), std::nullopt);
}

TEST(PeriodicTest, AChangeIsToldAtOnce) {
  ScheduleInputs inputs;
  inputs.now = inputs.last = time("2026-03-02T10:00:00Z");
  inputs.current_differs_from_previous = true;
  EXPECT_TRUE(periodic(inputs).due);
  inputs.previous_is_operational = false;
  EXPECT_TRUE(periodic(inputs).due);
}

TEST(PeriodicTest, OperationalStaysSilent) {
  ScheduleInputs inputs;
  inputs.now = time("2026-03-02T10:00:00Z");
  EXPECT_FALSE(periodic(inputs).due);
  EXPECT_EQ(periodic(inputs).next, std::nullopt);
}

TEST(PeriodicTest, RepeatsAfterTheInterval) {
  ScheduleInputs inputs;
  inputs.previous_is_operational = false;
  inputs.last = time("2026-03-02T10:00:00Z");
  inputs.now = inputs.last + io::hours{1} - io::Duration{1};
  EXPECT_FALSE(periodic(inputs).due);
  EXPECT_EQ(periodic(inputs).next, inputs.last + io::hours{1});
  inputs.now += io::Duration{1};
  EXPECT_TRUE(periodic(inputs).due);
  EXPECT_EQ(periodic(inputs).next, std::nullopt);
}

TEST(PeriodicTest, NeverFiredAndNegativeIntervals) {
  ScheduleInputs inputs;
  inputs.previous_is_operational = false;
  inputs.now = time("2026-03-02T10:00:00Z");
  EXPECT_TRUE(periodic(inputs).due);
  EXPECT_TRUE(periodic(inputs, io::Duration::max()).due);
  EXPECT_TRUE(periodic(inputs, io::Duration::min()).due);
  inputs.last = inputs.now;
  EXPECT_TRUE(periodic(inputs, -io::hours{1}).due);
  EXPECT_TRUE(periodic(inputs, io::Duration{0}).due);
  EXPECT_FALSE(periodic(inputs, io::Duration::max()).due);
}

// 2026-09-21 is a Monday.
TEST(ScheduledTest, FromTheInstantOnOnceADay) {
  EXPECT_FALSE(scheduled(time("2026-09-21T11:00:00Z")).due);
  EXPECT_TRUE(scheduled(time("2026-09-21T13:00:00Z")).due);
  EXPECT_TRUE(scheduled(time("2026-09-21T13:00:00Z"), time("2026-09-20T13:00:00Z")).due);
  EXPECT_FALSE(scheduled(time("2026-09-21T13:00:00Z"), time("2026-09-21T12:30:00Z")).due);
  EXPECT_FALSE(scheduled(time("2026-09-22T13:00:00Z")).due);
}

TEST(ScheduledTest, TheInstantIsInclusiveAndLastsUntilMidnight) {
  EXPECT_FALSE(scheduled(time("2026-09-21T11:59:59.999999999Z")).due);
  EXPECT_TRUE(scheduled(time("2026-09-21T12:00:00Z")).due);
  EXPECT_TRUE(scheduled(time("2026-09-21T23:59:59.999999999Z")).due);
  EXPECT_FALSE(scheduled(time("2026-09-22T00:00:00Z")).due);
}

TEST(ScheduledTest, TheWholeDateIsCompared) {
  const Weekdays all{0b1111111};
  EXPECT_TRUE(scheduled(time("2026-10-21T13:00:00Z"), time("2026-09-21T13:00:00Z"), all).due);
  EXPECT_TRUE(scheduled(time("2026-09-01T13:00:00Z"), io::Wall::min(), all).due);
  EXPECT_TRUE(scheduled(time("2027-09-21T13:00:00Z"), time("2026-09-21T13:00:00Z"), all).due);
}

TEST(ScheduledTest, SaysWhenItIsDueNext) {
  EXPECT_EQ(scheduled(time("2026-09-21T11:00:00Z")).next, time("2026-09-21T12:00:00Z"));
  EXPECT_EQ(scheduled(time("2026-09-22T11:00:00Z")).next, time("2026-09-28T12:00:00Z"));
  EXPECT_EQ(scheduled(time("2026-09-21T13:00:00Z"), time("2026-09-21T12:00:00Z")).next, time("2026-09-28T12:00:00Z"));
  EXPECT_EQ(scheduled(time("2026-09-21T11:00:00Z"), time("2026-09-21T01:00:00Z")).next, time("2026-09-28T12:00:00Z"));
  // The clock went back by a week.
  EXPECT_EQ(scheduled(time("2026-09-15T11:00:00Z"), time("2026-09-21T13:00:00Z")).next, time("2026-09-28T12:00:00Z"));
  EXPECT_EQ(scheduled(time("2026-12-31T13:00:00Z"), io::Wall::min(), Weekdays{0b0100000}).next,
            time("2027-01-01T12:00:00Z"));
}

TEST(ScheduledTest, WithoutDaysItIsNeverDue) {
  const ScheduleAnswer answer = scheduled(time("2026-09-21T13:00:00Z"), io::Wall::min(), Weekdays{});
  EXPECT_FALSE(answer.due);
  EXPECT_EQ(answer.next, std::nullopt);
}

TEST(OneshotTest, OnceAfterTheDelay) {
  const io::Wall transition = time("2026-03-02T10:00:00Z"), ripe = transition + io::minutes{10};
  EXPECT_FALSE(oneshot(ripe - io::Duration{1}, transition).due);
  EXPECT_EQ(oneshot(ripe - io::Duration{1}, transition).next, ripe);
  EXPECT_TRUE(oneshot(ripe, transition).due);
  EXPECT_TRUE(oneshot(ripe, transition, transition).due);
  EXPECT_FALSE(oneshot(ripe + io::hours{1}, transition, ripe).due);
  EXPECT_EQ(oneshot(ripe + io::hours{1}, transition, ripe).next, std::nullopt);
}

TEST(OneshotTest, WithoutATransitionItIsNeverDue) {
  const ScheduleAnswer answer = oneshot(time("2026-03-02T10:00:00Z"), io::Wall::min());
  EXPECT_FALSE(answer.due);
  EXPECT_EQ(answer.next, std::nullopt);
}

TEST(OneshotTest, DelaysOfAnySize) {
  const io::Wall t = time("2026-03-02T10:00:00Z");
  EXPECT_EQ(Schedule{}.delay, io::minutes{1});
  EXPECT_TRUE(oneshot(t, t, io::Wall::min(), io::Duration{0}).due);
  EXPECT_TRUE(oneshot(t, t, io::Wall::min(), -io::hours{1}).due);
  EXPECT_TRUE(oneshot(t, t, io::Wall::min(), io::Duration::min()).due);
  EXPECT_FALSE(oneshot(t, t, io::Wall::min(), io::Duration::max()).due);
}

// When it is not due it becomes so exactly at `next`.
TEST(ScheduleTest, NextIsExact) {
  for (unsigned bits = 1; bits < 128; ++bits) {
    for (int hour = 0; hour < 24 * 8; hour += 5) {
      const io::Wall now = time("2026-02-26T00:30:00Z") + io::hours{hour};
      for (const io::Wall last : {io::Wall::min(), now - io::hours{7}, now}) {
        const ScheduleAnswer answer = scheduled(now, last, Weekdays{bits});
        if (answer.due) continue;
        ASSERT_TRUE(answer.next) << bits;
        EXPECT_TRUE(scheduled(*answer.next, last, Weekdays{bits}).due);
        EXPECT_EQ(scheduled(*answer.next - io::Duration{1}, last, Weekdays{bits}).next, answer.next);
      }
    }
  }
}

}  // namespace
}  // namespace careen::windows
