#include "profiles/schedule.h"

#include <gtest/gtest.h>

namespace careen::profiles {
namespace {

TEST(ScheduleTest, TypesMatchInAnyCase) {
  EXPECT_EQ(parse_schedule_type("periodic"), ScheduleType::periodic);
  EXPECT_EQ(parse_schedule_type("Scheduled"), ScheduleType::scheduled);
  EXPECT_EQ(parse_schedule_type("ONESHOT"), ScheduleType::oneshot);
  EXPECT_EQ(parse_schedule_type("daily"), std::nullopt);
  EXPECT_EQ(parse_schedule_type(""), std::nullopt);
}

TEST(ScheduleTest, TimesOfDay) {
  EXPECT_EQ(parse_time_of_day("9:30"), io::hours{9} + io::minutes{30});
  EXPECT_EQ(parse_time_of_day("00:00"), io::Duration{0});
  EXPECT_EQ(parse_time_of_day("23:59"), io::hours{23} + io::minutes{59});
  for (const char* text :
       {"", "24:00", "12:60", "12", "12:3", "123:00", ":30", "1a:00", "12:3x", "-1:00", "12:30:00"}) {
    EXPECT_EQ(parse_time_of_day(text), std::nullopt) << text;
  }
}

TEST(ScheduleTest, WeekdaysByNameOrThreeLetters) {
  EXPECT_EQ(parse_weekday("sunday"), 0U);
  EXPECT_EQ(parse_weekday("Mon"), 1U);
  EXPECT_EQ(parse_weekday("WEDNESDAY"), 3U);
  EXPECT_EQ(parse_weekday("sat"), 6U);
  for (const char* text : {"", "m", "mo", "mond", "montag"}) EXPECT_EQ(parse_weekday(text), std::nullopt) << text;
}

}  // namespace
}  // namespace careen::profiles
