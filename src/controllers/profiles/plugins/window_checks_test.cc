// The checks timeWindow and waitExclude: their settings, and that what they answer comes from the rules of windows/.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/plugins/plugin_fixture.h"

namespace careen::profiles {
namespace {

using testing::HasSubstr;

class WindowChecksTest : public PluginFixture {
 protected:
  // 2026-03-02 is a Monday.
  void at(std::string_view text) { now = *io::parse_rfc3339(text); }
};

constexpr const char* kDay = "{start: '10:30', end: '15:20', weekdays: [mon, Tuesday], exclude: [Mar 03]}";

TEST_F(WindowChecksTest, PassesStrictlyInsideTheWindow) {
  at("2026-03-02T10:30:00Z");
  EXPECT_FALSE(ask("timeWindow", kDay).passed);
  EXPECT_EQ(ask("timeWindow", kDay).changes_at, now + io::Duration{1});
  at("2026-03-02T11:00:00Z");
  const CheckResult open = ask("timeWindow", kDay);
  EXPECT_TRUE(open.passed);
  EXPECT_EQ(open.changes_at, *io::parse_rfc3339("2026-03-02T15:20:00Z"));
  EXPECT_TRUE(open.info.empty());
  at("2026-03-02T15:20:00Z");
  EXPECT_FALSE(ask("timeWindow", kDay).passed);
}

TEST_F(WindowChecksTest, OtherDaysAndExcludedDatesAreReportedAsTheOriginalDoes) {
  at("2026-03-04T11:00:00Z");
  EXPECT_EQ(info_text(ask("timeWindow", kDay), "reason"), "current day of week forbidden");
  at("2026-03-03T11:00:00Z");
  EXPECT_FALSE(ask("timeWindow", kDay).passed);
  EXPECT_EQ(info_text(ask("timeWindow", kDay), "reason"), "day/month forbidden");
  EXPECT_NE(ask("timeWindow", kDay).reason, "");
}

TEST_F(WindowChecksTest, FurtherWindowsAndTimeZones) {
  constexpr const char* kNight =
      "{timezone: Europe/Berlin, windows: [{start: '22:00', end: '6:00', weekdays: mon}, "
      "{start: '12:00', end: '24:00', weekdays: [sat]}]}";
  at("2026-03-02T20:59:00Z");
  EXPECT_FALSE(ask("timeWindow", kNight).passed);
  at("2026-03-02T21:01:00Z");
  EXPECT_TRUE(ask("timeWindow", kNight).passed);
  at("2026-03-03T04:59:00Z");
  EXPECT_TRUE(ask("timeWindow", kNight).passed);
  at("2026-03-07T22:30:00Z");
  EXPECT_TRUE(ask("timeWindow", kNight).passed);
  constexpr const char* kBoth =
      "{start: '1:00', end: '2:00', weekdays: tue, windows: [{start: '3:00', end: '4:00', weekdays: tue}]}";
  at("2026-03-03T01:30:00Z");
  EXPECT_TRUE(ask("timeWindow", kBoth).passed);
  at("2026-03-03T02:30:00Z");
  EXPECT_FALSE(ask("timeWindow", kBoth).passed);
  at("2026-03-03T03:30:00Z");
  EXPECT_TRUE(ask("timeWindow", kBoth).passed);
}

TEST_F(WindowChecksTest, TimeWindowSettingsThatCannotWorkAreRefused) {
  const auto refused_with = [&](std::string_view settings) { return refused("check", "timeWindow", settings); };
  EXPECT_EQ(refused_with(kDay), "");
  EXPECT_THAT(refused_with("{}"), HasSubstr("\"start\" is required"));
  EXPECT_THAT(refused_with("{start: '1:00', end: '2:00'}"), HasSubstr("\"weekdays\" is required"));
  EXPECT_THAT(refused_with("{start: '1:00', end: '2:00', weekdays: []}"), HasSubstr("\"weekdays\""));
  EXPECT_THAT(refused_with("{start: '1:00', weekdays: mon}"), HasSubstr("\"end\" is required"));
  EXPECT_THAT(refused_with("{start: '3:00', end: '2:00', weekdays: mon}"), HasSubstr("\"end\" must not be before"));
  EXPECT_THAT(refused_with("{start: '1:00', end: '24:00', weekdays: mon}"), HasSubstr("\"end\" must be a time of day"));
  EXPECT_THAT(refused_with("{start: '1:00', end: '2:00', weekdays: someday}"), HasSubstr("\"weekdays\" must be"));
  EXPECT_THAT(refused_with("{start: '1:00', end: '2:00', weekdays: mon, exclude: [Feb 30]}"), HasSubstr("\"exclude\""));
  EXPECT_THAT(refused_with("{start: '1:00', end: '2:00', weekdays: mon, timezone: Mars}"), HasSubstr("\"timezone\""));
  EXPECT_THAT(refused_with("{windows: []}"), HasSubstr("\"windows\" must have at least one entry"));
  EXPECT_THAT(refused_with("{windows: [{start: '1:00', end: '2:00'}]}"), HasSubstr("\"weekdays\" is required"));
  EXPECT_THAT(refused_with("{windows: [{start: '1:00', end: '1:00', weekdays: mon}]}"), HasSubstr("\"end\""));
}

constexpr const char* kWait = "{duration: 30h, exclude: [mon, wednesday]}";

TEST_F(WindowChecksTest, ExcludedDaysDoNotCount) {
  since = *io::parse_rfc3339("2026-03-01T12:00:00Z");  // a Sunday
  at("2026-03-03T17:00:00Z");
  const CheckResult blocked = ask("waitExclude", kWait);
  EXPECT_FALSE(blocked.passed);
  EXPECT_EQ(blocked.changes_at, *io::parse_rfc3339("2026-03-03T18:00:00.000000001Z"));
  EXPECT_EQ(blocked.reason, "1h of 30h remain");
  ASSERT_EQ(blocked.info.size(), 1u);
  EXPECT_EQ(blocked.info[0].first, "remaining_seconds");
  EXPECT_EQ(std::get<double>(blocked.info[0].second), 3600.0);
  at("2026-03-03T18:10:00Z");
  EXPECT_TRUE(ask("waitExclude", kWait).passed);
  EXPECT_FALSE(ask("waitExclude", kWait).changes_at);
}

TEST_F(WindowChecksTest, WaitExcludeSettings) {
  const auto refused_with = [&](std::string_view settings) { return refused("check", "waitExclude", settings); };
  EXPECT_EQ(refused_with(kWait), "");
  EXPECT_THAT(refused_with("{exclude: [mon]}"), HasSubstr("\"duration\" is required"));
  EXPECT_THAT(refused_with("{duration: 5, exclude: [mon]}"), HasSubstr("\"duration\" must be a duration"));
  EXPECT_THAT(refused_with("{duration: 5h}"), HasSubstr("\"exclude\" is required"));
  EXPECT_THAT(refused_with("{duration: 5h, exclude: [someday]}"), HasSubstr("\"exclude\" must be"));
  EXPECT_THAT(warnings("check", "waitExclude", "{duration: 5h, exclude: [mon, tue, wed, thu, fri, sat, sun]}"),
              HasSubstr("never ends"));
}

}  // namespace
}  // namespace careen::profiles
