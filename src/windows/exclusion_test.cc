#include "windows/exclusion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::windows {
namespace {

using std::chrono::year;

bool excluded(const char* text, std::chrono::year_month_day date) {
  const auto exclusion = parse_exclusion(text);
  if (!exclusion) {
    ADD_FAILURE() << text << " " << exclusion.error().message;
    return false;
  }
  return excludes(*exclusion, date);
}

TEST(ExclusionTest, OneDayOfEveryYear) {
  for (const char* text : {"Dec 4", "Dec 04", "dec 4", "DEC  04"}) {
    EXPECT_TRUE(excluded(text, year{2026} / 12 / 4)) << text;
    EXPECT_TRUE(excluded(text, year{1999} / 12 / 4)) << text;
    EXPECT_FALSE(excluded(text, year{2026} / 12 / 5)) << text;
    EXPECT_FALSE(excluded(text, year{2026} / 11 / 4)) << text;
  }
}

TEST(ExclusionTest, LeapDay) {
  EXPECT_TRUE(excluded("Feb 29", year{2028} / 2 / 29));
  EXPECT_FALSE(excluded("Feb 29", year{2027} / 2 / 28));
  EXPECT_FALSE(excluded("Feb 29", year{2027} / 3 / 1));
  EXPECT_TRUE(excluded("Feb 29..Mar 1", year{2027} / 3 / 1));
  EXPECT_TRUE(excluded("2028-02-29", year{2028} / 2 / 29));
}

TEST(ExclusionTest, OneDatedDay) {
  EXPECT_TRUE(excluded("2026-12-24", year{2026} / 12 / 24));
  EXPECT_FALSE(excluded("2026-12-24", year{2027} / 12 / 24));
}

TEST(ExclusionTest, RangesIncludeBothEnds) {
  for (const char* text : {"2026-12-24..2027-01-02", "2026-12-24 .. 2027-01-02", "Dec 24..Jan 2", "dec 24 ..jan 02"}) {
    EXPECT_FALSE(excluded(text, year{2026} / 12 / 23)) << text;
    EXPECT_TRUE(excluded(text, year{2026} / 12 / 24)) << text;
    EXPECT_TRUE(excluded(text, year{2026} / 12 / 31)) << text;
    EXPECT_TRUE(excluded(text, year{2027} / 1 / 1)) << text;
    EXPECT_TRUE(excluded(text, year{2027} / 1 / 2)) << text;
    EXPECT_FALSE(excluded(text, year{2027} / 1 / 3)) << text;
    EXPECT_FALSE(excluded(text, year{2027} / 7 / 1)) << text;
  }
  EXPECT_FALSE(excluded("2026-12-24..2027-01-02", year{2027} / 12 / 25));
  EXPECT_TRUE(excluded("Dec 24..Jan 2", year{2031} / 12 / 25));
  EXPECT_TRUE(excluded("Jul 1..Jul 31", year{2031} / 7 / 31));
  EXPECT_FALSE(excluded("Jul 1..Jul 31", year{2031} / 8 / 1));
}

TEST(ExclusionTest, WhatIsNoDateIsRefused) {
  for (const char* text : {"",
                           "Dec",
                           "Dec ",
                           "Dec24",
                           "December 24",
                           "24 Dec",
                           "Dec 024",
                           "Dec 2a",
                           " Dec 24",
                           "Dec 24 ",
                           "Dec -1",
                           "2026-1-2",
                           "2026-12-24T00:00:00Z",
                           "26-12-24",
                           "..",
                           "Dec 24..",
                           "..Dec 24",
                           "Dec 24...Dec 26",
                           "Dec 24..Dec 25..Dec 26",
                           "Dec 24-26"}) {
    const auto exclusion = parse_exclusion(text);
    ASSERT_FALSE(exclusion) << text;
    EXPECT_THAT(exclusion.error().message, testing::StartsWith("must be dates such as Dec 24, ")) << text;
  }
}

TEST(ExclusionTest, DatesMustExist) {
  for (const char* text : {"Feb 30", "Dec 0", "Apr 31", "Jan 32", "2027-02-29", "2026-13-01", "2026-00-10"}) {
    const auto exclusion = parse_exclusion(text);
    ASSERT_FALSE(exclusion) << text;
    EXPECT_EQ(exclusion.error().message, std::string("must be dates that exist, not \"") + text + "\"");
  }
}

TEST(ExclusionTest, RangesMustMakeSense) {
  EXPECT_EQ(parse_exclusion("2027-01-02..2026-12-24").error().message,
            "must not end before it begins, as \"2027-01-02..2026-12-24\" does");
  EXPECT_EQ(parse_exclusion("Dec 24..2027-01-02").error().message,
            "must have a year on both sides of \"Dec 24..2027-01-02\" or on none");
}

}  // namespace
}  // namespace careen::windows
