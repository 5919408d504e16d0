#include "windows/zone.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "windows/test_times.h"

namespace careen::windows {
namespace {

TEST(ZoneTest, UtcNeedsNoData) {
  const Zone::Span span = Zone{}.span(io::Wall{});
  EXPECT_EQ(span.begin, io::Wall::min());
  EXPECT_EQ(span.end, io::Wall::max());
  EXPECT_EQ(span.offset, io::Duration{0});
  EXPECT_EQ(span.abbreviation, "UTC");
  EXPECT_EQ(Zone::find("UTC")->name(), "UTC");
}

TEST(ZoneTest, SpansEndWhereTheClocksChange) {
  const Zone berlin = *Zone::find("Europe/Berlin");
  const Zone::Span summer = berlin.span(time("2026-07-01T00:00:00Z"));
  EXPECT_EQ(summer.begin, time("2026-03-29T01:00:00Z"));
  EXPECT_EQ(summer.end, time("2026-10-25T01:00:00Z"));
  EXPECT_EQ(summer.offset, io::hours{2});
  EXPECT_EQ(summer.abbreviation, "CEST");
  EXPECT_EQ(berlin.span(summer.end).offset, io::hours{1});
  EXPECT_EQ(berlin.span(summer.end - io::Duration{1}).offset, io::hours{2});
}

TEST(ZoneTest, HalfHours) {
  const Zone lord_howe = *Zone::find("Australia/Lord_Howe");
  EXPECT_EQ(lord_howe.span(time("2026-07-01T00:00:00Z")).offset, io::minutes{630});
  EXPECT_EQ(lord_howe.span(time("2026-01-01T00:00:00Z")).offset, io::minutes{660});
}

// A database that stops years before it is used would silently lose summer time.
TEST(ZoneTest, TheDataReachesFarEnough) {
  EXPECT_EQ(Zone::find("Europe/Berlin")->span(time("2036-07-01T00:00:00Z")).offset, io::hours{2});
}

TEST(ZoneTest, TheEndsOfTimeHaveAnOffset) {
  const Zone berlin = *Zone::find("Europe/Berlin");
  EXPECT_EQ(berlin.span(io::Wall::min()).begin, io::Wall::min());
  EXPECT_EQ(berlin.span(io::Wall::max()).end, io::Wall::max());
}

TEST(ZoneTest, UnknownNamesAreRefusedWithASuggestion) {
  const auto message = [](const char* name) { return Zone::find(name).error().message; };
  EXPECT_EQ(message("Europe/Berlim"),
            "must be a time zone such as Europe/Berlin, not \"Europe/Berlim\"; did you mean Europe/Berlin?");
  for (const char* name : {"europe/berlin", "Berlin", "Europe/Belrin", "Europe/Berln", "Europe/Berlinn"}) {
    EXPECT_THAT(message(name), testing::EndsWith("; did you mean Europe/Berlin?")) << name;
  }
  EXPECT_THAT(message("New York"), testing::EndsWith("; did you mean America/New_York?"));
  EXPECT_THAT(message("utc"), testing::EndsWith("; did you mean UTC?"));
  for (const char* name : {"", "Moon/Tranquility", "../../etc/passwd", "/", "+01:00"}) {
    EXPECT_EQ(message(name), std::string("must be a time zone such as Europe/Berlin, not \"") + name + "\"");
  }
}

}  // namespace
}  // namespace careen::windows
