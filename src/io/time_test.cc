#include "io/time.h"

#include <gtest/gtest.h>

#include "io/whole_seconds.h"

namespace careen::io {
namespace {

TEST(TimeTest, FormatsRfc3339WithoutTrailingZeros) {
  const Wall t = *parse_rfc3339("2026-03-01T10:00:00.123456789Z");
  EXPECT_EQ(format_rfc3339(t), "2026-03-01T10:00:00.123456789Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-03-01T10:00:05.500Z")), "2026-03-01T10:00:05.5Z");
  EXPECT_EQ(format_rfc3339(*parse_rfc3339("2026-03-01T10:00:05Z")), "2026-03-01T10:00:05Z");
  EXPECT_EQ(format_micro_time(t), "2026-03-01T10:00:00.123456Z");
}

TEST(TimeTest, ReadsOffsetsAndGoZeroTime) {
  EXPECT_EQ(*parse_rfc3339("2026-03-01T12:30:00+02:30"), *parse_rfc3339("2026-03-01T10:00:00Z"));
  EXPECT_EQ(*parse_rfc3339("0001-01-01T00:00:00Z"), Wall::min());
  EXPECT_EQ(format_rfc3339(Wall::min()), "0001-01-01T00:00:00Z");
}

TEST(TimeTest, RejectsWhatIsNoTime) {
  for (const char* text : {"", "2026-03-01", "2026-02-30T10:00:00Z", "2026-03-01T24:00:00Z", "2026-03-01T10:00:00",
                           "2026-03-01T10:00:00.Z", "2026-03-01T10:00:00Zx", "2026-03-01T10:00:00+25:00"}) {
    EXPECT_FALSE(parse_rfc3339(text)) << text;
  }
}

TEST(TimeTest, ReadsGoDurations) {
  EXPECT_EQ(parse_duration("1h30m"), hours{1} + minutes{30});
  EXPECT_EQ(parse_duration("1.5s"), milliseconds{1500});
  EXPECT_EQ(parse_duration(".5s"), milliseconds{500});
  EXPECT_EQ(parse_duration("-2m"), -minutes{2});
  EXPECT_EQ(parse_duration("300us"), microseconds{300});
  EXPECT_EQ(parse_duration("300µs"), microseconds{300});
  EXPECT_EQ(parse_duration("0"), Duration{0});
  for (const char* text : {"", "5", "1d", "1 h", "s", ".s", "1h-2m", "9999999h", "1hm"}) {
    EXPECT_FALSE(parse_duration(text)) << text;
  }
}

TEST(TimeTest, FormatsDurationsAsPeopleWriteThem) {
  EXPECT_EQ(format_duration(hours{1} + minutes{30}), "1h30m");
  EXPECT_EQ(format_duration(seconds{90}), "1m30s");
  EXPECT_EQ(format_duration(milliseconds{1500}), "1.5s");
  EXPECT_EQ(format_duration(milliseconds{20}), "20ms");
  EXPECT_EQ(format_duration(Duration{0}), "0s");
  EXPECT_EQ(format_duration(-seconds{5}), "-5s");
  EXPECT_EQ(format_duration(hours{12} + microseconds{5}), "12h0.000005s");
  EXPECT_EQ(format_duration(Duration{1'000'001}), "1.000001ms");
}

// As far back as nanoseconds reach, and what stands for "never".
TEST(TimeTest, FormatsTheFirstMoments) {
  EXPECT_EQ(format_micro_time(Wall::min()), "0001-01-01T00:00:00.000000Z");
  EXPECT_EQ(format_rfc3339(Wall::min() + Duration{1}), "1677-09-21T00:12:43.145224193Z");
  EXPECT_EQ(format_micro_time(Wall{Duration{-1}}), "1969-12-31T23:59:59.999999Z");
}

TEST(WholeSeconds, OfATimeBeforeWhatCanBeCounted) {
  const auto ancient = parse_rfc3339("0678-03-02T09:00:00Z");
  ASSERT_TRUE(ancient);
  EXPECT_EQ(whole_seconds(*ancient), *ancient);
  EXPECT_EQ(format_whole_seconds(*ancient), format_rfc3339(Wall::min()));
  EXPECT_EQ(whole_seconds(Wall::min() + Duration{999'999'999}), Wall::min());
  EXPECT_EQ(whole_seconds(Wall(milliseconds{-1500})), Wall(seconds{-2}));
  EXPECT_EQ(whole_seconds(Wall(milliseconds{1500})), Wall(seconds{1}));
}

}  // namespace
}  // namespace careen::io
