#include "windows/window_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "windows/test_times.h"

namespace careen::windows {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TimeWindow window(std::string_view text) {
  auto settings = parse_window_text(text);
  EXPECT_TRUE(settings) << text << ": " << (settings ? "" : settings.error().message);
  return TimeWindow(settings ? std::move(*settings) : TimeWindowSettings{});
}
bool open_at(std::string_view text, const char* when) { return window(text).evaluate(time(when)).open; }
std::string mistake_in(std::string_view text) {
  const auto settings = parse_window_text(text);
  return settings ? "none" : settings.error().message;
}

// 2026-03-07 is a Saturday.
TEST(WindowTextTest, DaysAndTimes) {
  constexpr const char* kText = "Sat,Sun 22:00-6:00";
  EXPECT_FALSE(open_at(kText, "2026-03-07T05:00:00Z")) << "Friday's night is none";
  EXPECT_TRUE(open_at(kText, "2026-03-07T23:00:00Z"));
  EXPECT_TRUE(open_at(kText, "2026-03-08T05:59:59Z"));
  EXPECT_FALSE(open_at(kText, "2026-03-08T06:00:00Z"));
  EXPECT_TRUE(open_at(kText, "2026-03-09T05:00:00Z"));
  EXPECT_EQ(window(kText).evaluate(time("2026-03-06T12:00:00Z")).changes_at,
            time("2026-03-07T22:00:00Z") + io::Duration{1});
}

TEST(WindowTextTest, DaysInARowMayRunOverTheWeekend) {
  constexpr const char* kText = "fri-monday 9:00-10:00";
  for (const char* open : {"2026-03-06", "2026-03-07", "2026-03-08", "2026-03-09"}) {
    EXPECT_TRUE(open_at(kText, (std::string(open) + "T09:30:00Z").c_str())) << open;
  }
  for (const char* closed : {"2026-03-05", "2026-03-10"}) {
    EXPECT_FALSE(open_at(kText, (std::string(closed) + "T09:30:00Z").c_str())) << closed;
  }
}

TEST(WindowTextTest, SeveralWindowsHaveOneZone) {
  for (const char* text :
       {"Mon 20:00-24:00; Sat,Sun 0:00-24:00; Europe/Berlin", "Mon 20:00-24:00; Sat,Sun 0:00-24:00 Europe/Berlin",
        "Mon 20:00-24:00 Europe/Berlin; Sat,Sun 0:00-24:00",
        "  Europe/Berlin;Mon  20:00 - 24:00 ;; Sat, Sun 0:00-24:00;"}) {
    EXPECT_TRUE(open_at(text, "2026-03-06T23:00:01Z")) << text;  // Saturday in Berlin
    EXPECT_FALSE(open_at(text, "2026-03-08T23:00:01Z")) << text;
    EXPECT_TRUE(open_at(text, "2026-03-09T19:30:00Z")) << text;
    EXPECT_FALSE(open_at(text, "2026-03-09T23:00:00Z")) << text;
  }
}

TEST(WindowTextTest, DatesOnWhichItDoesNotOpen) {
  constexpr const char* kText = "Mon-Sun 0:00-24:00; Except Dec 24..Jan 2, 2026-05-01";
  EXPECT_TRUE(open_at(kText, "2026-12-23T12:00:00Z"));
  EXPECT_FALSE(open_at(kText, "2026-12-24T12:00:00Z"));
  EXPECT_FALSE(open_at(kText, "2027-01-02T12:00:00Z"));
  EXPECT_FALSE(open_at(kText, "2026-05-01T12:00:00Z"));
  EXPECT_TRUE(open_at(kText, "2027-05-01T12:00:00Z"));
}

TEST(WindowTextTest, AMistakeIsToldWithItsPart) {
  EXPECT_THAT(mistake_in(""), HasSubstr("must have days and times such as Sat,Sun"));
  EXPECT_THAT(mistake_in("Europe/Berlin"), HasSubstr("must have days and times"));
  EXPECT_THAT(mistake_in("Sat 1:00-2:00; Son 3:00-4:00"),
              AllOf(HasSubstr("in \"Son 3:00-4:00\""), HasSubstr("\"Son\" must be a day such as Mon")));
  EXPECT_THAT(mistake_in("Mon-Son 3:00-4:00"), HasSubstr("\"Son\""));
  EXPECT_THAT(mistake_in("Sat, 3:00-4:00"), HasSubstr("must be"));
  EXPECT_THAT(mistake_in("Sat 3:00"), HasSubstr("\"3:00\" must be two times"));
  EXPECT_THAT(mistake_in("3:00-4:00"), HasSubstr("must be days and times"));
  EXPECT_THAT(mistake_in("Sat 25:00-4:00"), HasSubstr("the start must be a time of day"));
  EXPECT_THAT(mistake_in("Sat 3:00-24:30"), HasSubstr("the end must be a time of day"));
  EXPECT_THAT(mistake_in("Sat 3:00-3:00"), HasSubstr("a whole day is 0:00 to 24:00"));
  EXPECT_THAT(mistake_in("Sat 3:00-4:00 Berlin"), HasSubstr("did you mean Europe/Berlin?"));
  EXPECT_THAT(mistake_in("Sat 3:00-4:00 Europe/Berlin; UTC"), HasSubstr("one time zone for all"));
  EXPECT_THAT(mistake_in("Sat 3:00-4:00 Europe/Berlin 5:00-6:00"), HasSubstr("must be days and times"));
  EXPECT_THAT(mistake_in("Sat 3:00-4:00; except"), HasSubstr("a date must be"));
  EXPECT_THAT(mistake_in("Sat 3:00-4:00; except Dec 24, 31"), AllOf(HasSubstr("a date must be"), HasSubstr("31")));
  EXPECT_THAT(mistake_in(std::string(5000, 'x')), HasSubstr("must not be longer than 1000"));
}

}  // namespace
}  // namespace careen::windows
