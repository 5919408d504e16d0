#include "windows/weekdays.h"

#include <gtest/gtest.h>

#include <vector>

#include "windows/calendar.h"

namespace careen::windows {
namespace {

using std::chrono::sys_days;

TEST(WeekdaysTest, ByNameOrThreeLettersInAnyCase) {
  EXPECT_EQ(parse_weekday("sunday"), 0U);
  EXPECT_EQ(parse_weekday("Mon"), 1U);
  EXPECT_EQ(parse_weekday("tUe"), 2U);
  EXPECT_EQ(parse_weekday("WEDNESDAY"), 3U);
  EXPECT_EQ(parse_weekday("thu"), 4U);
  EXPECT_EQ(parse_weekday("Friday"), 5U);
  EXPECT_EQ(parse_weekday("sat"), 6U);
  for (const char* text : {"", "m", "mo", "mond", "montag", "mon ", " mon", "mondayy"}) {
    EXPECT_EQ(parse_weekday(text), std::nullopt) << text;
  }
}

TEST(WeekdaysTest, ListsNeedAtLeastOneDay) {
  EXPECT_EQ(*parse_weekdays(std::vector<std::string>{"mon", "Sunday", "MON"}), Weekdays{0b0000011});
  EXPECT_EQ(parse_weekdays({}).error().message, "must name at least one day such as monday or mon");
  EXPECT_EQ(parse_weekdays(std::vector<std::string>{"mon", "tu"}).error().message,
            "must be names of days such as monday or mon, not \"tu\"");
}

TEST(WeekdaysTest, TimesOfDay) {
  EXPECT_EQ(parse_time_of_day("9:30"), io::hours{9} + io::minutes{30});
  EXPECT_EQ(parse_time_of_day("00:00"), io::Duration{0});
  EXPECT_EQ(parse_time_of_day("23:59"), io::hours{23} + io::minutes{59});
  for (const char* text :
       {"", "24:00", "12:60", "12", "12:3", "123:00", ":30", "1a:00", "12:3x", "-1:00", "12:30:00", " 9:30"}) {
    EXPECT_EQ(parse_time_of_day(text), std::nullopt) << text;
  }
}

TEST(CalendarTest, DaysOfAllTimes) {
  const io::Wall noon = *io::parse_rfc3339("2026-03-01T12:00:00Z");
  EXPECT_EQ(day_of(noon), sys_days{std::chrono::year{2026} / 3 / 1});
  EXPECT_EQ(time_of_day(noon), io::hours{12});
  EXPECT_EQ(weekday_of(day_of(noon)), 0U);
  const io::Wall before_1970{io::Duration{-1}};
  EXPECT_EQ(day_of(before_1970), sys_days{std::chrono::year{1969} / 12 / 31});
  EXPECT_EQ(time_of_day(before_1970), io::hours{24} - io::Duration{1});
}

TEST(CalendarTest, TheEndsOfTimeDoNotOverflow) {
  EXPECT_EQ(day_of(io::Wall::min()), sys_days{std::chrono::year{1677} / 9 / 21});
  EXPECT_EQ(day_of(io::Wall::max()), sys_days{std::chrono::year{2262} / 4 / 11});
  for (const io::Wall t : {io::Wall::min(), io::Wall{}, io::Wall{io::Duration{-1}}, io::Wall::max()}) {
    EXPECT_EQ(at(day_of(t), time_of_day(t)), t);
  }
  EXPECT_EQ(at(day_of(io::Wall::min()), io::Duration{0}), io::Wall::min());
  EXPECT_EQ(at(day_of(io::Wall::max()), io::hours{24}), io::Wall::max());
}

}  // namespace
}  // namespace careen::windows
