#include "windows/time_window.h"

#include <date/tz.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/random.h"
#include "windows/test_times.h"

namespace careen::windows {
namespace {

using std::chrono::days;

constexpr io::Duration kInstant{1};
const Weekdays kMonday{0b0000010};

struct Listed {
  const char* start;
  const char* end;
  Weekdays weekdays = kAll;
};

TimeWindowSettings settings(std::vector<Listed> windows, std::vector<const char*> exclude = {},
                            const char* zone = "UTC") {
  TimeWindowSettings out;
  for (const Listed& window : windows) {
    out.windows.push_back(*parse_hours(window.start, window.end, window.weekdays, HoursForm::listed));
  }
  for (const char* text : exclude) out.exclude.push_back(*parse_exclusion(text));
  out.zone = *Zone::find(zone);
  return out;
}

TimeWindow listed(std::vector<Listed> windows, std::vector<const char*> exclude = {}, const char* zone = "UTC") {
  return TimeWindow{settings(std::move(windows), std::move(exclude), zone)};
}

// Keys of the check itself, as of old.
TimeWindow single(const char* start, const char* end, Weekdays weekdays, std::vector<const char*> exclude = {}) {
  TimeWindowSettings out;
  out.windows.push_back(*parse_hours(start, end, weekdays, HoursForm::single));
  for (const char* text : exclude) out.exclude.push_back(*parse_exclusion(text));
  return TimeWindow{std::move(out)};
}

// Open from the first to before the second, closed just outside, and each side knows the other.
void expect_open_between(const TimeWindow& window, io::Wall opens, io::Wall closes) {
  const WindowAnswer before = window.evaluate(opens - kInstant), first = window.evaluate(opens),
                     last = window.evaluate(closes - kInstant), after = window.evaluate(closes);
  EXPECT_FALSE(before.open) << io::format_rfc3339(opens);
  EXPECT_TRUE(first.open) << io::format_rfc3339(opens);
  EXPECT_TRUE(last.open) << io::format_rfc3339(closes);
  EXPECT_FALSE(after.open) << io::format_rfc3339(closes);
  EXPECT_EQ(before.changes_at, opens);
  EXPECT_EQ(first.changes_at, closes);
  EXPECT_EQ(last.changes_at, closes);
}

// 2026-03-02 is a Monday.
TEST(TimeWindowTest, HoursOnListedDays) {
  const TimeWindow window = single("10:30", "15:20", Weekdays{0b0001010}, {"Mar 09"});
  EXPECT_TRUE(window.evaluate(time("2026-03-02T11:00:00Z")).open);
  EXPECT_TRUE(window.evaluate(time("2026-03-04T15:00:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-02T10:29:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-02T15:30:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-03T11:00:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-09T11:00:00Z")).open);
}

TEST(TimeWindowTest, BothEndsAreExclusive) {
  expect_open_between(single("10:30", "15:20", kMonday), time("2026-03-02T10:30:00.000000001Z"),
                      time("2026-03-02T15:20:00Z"));
}

TEST(TimeWindowTest, TheNextOpeningMayBeAWeekAway) {
  const TimeWindow window = single("10:30", "15:20", kMonday);
  EXPECT_EQ(window.evaluate(time("2026-03-02T15:20:00Z")).changes_at, time("2026-03-09T10:30:00.000000001Z"));
  EXPECT_EQ(window.evaluate(time("2026-03-08T23:59:59.999999999Z")).changes_at, time("2026-03-09T10:30:00.000000001Z"));
}

TEST(TimeWindowTest, ExcludedDatesAreSkipped) {
  const TimeWindow window = single("10:30", "15:20", kMonday, {"Mar 9", "Mar 16"});
  EXPECT_EQ(window.evaluate(time("2026-03-03T00:00:00Z")).changes_at, time("2026-03-23T10:30:00.000000001Z"));
}

TEST(TimeWindowTest, EqualTimesNeverPassInTheOldForm) {
  const TimeWindow window = single("10:30", "10:30", kAll);
  EXPECT_FALSE(window.evaluate(time("2026-03-02T10:30:00Z")).open);
  EXPECT_EQ(window.evaluate(time("2026-03-02T10:30:00Z")).changes_at, std::nullopt);
}

TEST(TimeWindowTest, TheOldFormRefusesWhatItAlwaysRefused) {
  const auto error = [](const char* start, const char* end) {
    return parse_hours(start, end, kAll, HoursForm::single).error();
  };
  EXPECT_EQ(error("22:00", "6:00").key, "end");
  EXPECT_EQ(error("22:00", "6:00").message,
            "must not be before \"start\" (22:00 to 6:00); an entry of \"windows\" may run over midnight");
  EXPECT_EQ(error("10:00", "24:00").message, "must be a time of day such as 17:30, not \"24:00\"");
  EXPECT_EQ(error("", "6:00").key, "start");
  EXPECT_EQ(error("", "6:00").message, "must be a time of day such as 9:30, not \"\"");
  EXPECT_EQ(error("6:00", "").key, "end");
}

TEST(TimeWindowTest, TheListTakesMidnight) {
  const auto error = [](const char* start, const char* end) {
    return parse_hours(start, end, kAll, HoursForm::listed).error();
  };
  EXPECT_EQ(parse_hours("22:00", "6:00", kAll, HoursForm::listed)->end, io::hours{30});
  EXPECT_EQ(parse_hours("22:00", "24:00", kAll, HoursForm::listed)->end, io::hours{24});
  EXPECT_EQ(parse_hours("22:00", "0:00", kAll, HoursForm::listed)->end, io::hours{24});
  EXPECT_EQ(error("24:00", "6:00").key, "start");
  EXPECT_EQ(error("6:00", "24:01").message, "must be a time of day such as 17:30 or 24:00, not \"24:01\"");
  EXPECT_EQ(error("6:00", "6:00").message,
            "must not be the same time as \"start\" (6:00); a whole day is 0:00 to 24:00");
}

TEST(TimeWindowTest, OvernightBelongsToTheDayItStartsOn) {
  const TimeWindow window = listed({{"22:00", "6:00", kMonday}});
  expect_open_between(window, time("2026-03-02T22:00:00.000000001Z"), time("2026-03-03T06:00:00Z"));
  EXPECT_FALSE(window.evaluate(time("2026-03-02T03:00:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-03T23:00:00Z")).open);
}

TEST(TimeWindowTest, AnExclusionCountsForTheDayTheWindowStartsOn) {
  const TimeWindow starts = listed({{"22:00", "6:00", kAll}}, {"2026-03-02"});
  EXPECT_TRUE(starts.evaluate(time("2026-03-02T03:00:00Z")).open);
  EXPECT_FALSE(starts.evaluate(time("2026-03-02T23:00:00Z")).open);
  EXPECT_FALSE(starts.evaluate(time("2026-03-03T03:00:00Z")).open);
  EXPECT_TRUE(starts.evaluate(time("2026-03-03T23:00:00Z")).open);
  EXPECT_EQ(starts.evaluate(time("2026-03-02T06:00:00Z")).changes_at, time("2026-03-03T22:00:00.000000001Z"));
}

TEST(TimeWindowTest, WindowsThatOverlapOrTouchAreOne) {
  expect_open_between(listed({{"8:00", "10:00"}, {"10:00", "12:00"}, {"11:00", "14:00"}}),
                      time("2026-03-02T08:00:00.000000001Z"), time("2026-03-02T14:00:00Z"));
  expect_open_between(listed({{"22:00", "24:00", kMonday}, {"0:00", "3:00", Weekdays{0b0000100}}}),
                      time("2026-03-02T22:00:00.000000001Z"), time("2026-03-03T03:00:00Z"));
  EXPECT_TRUE(listed({{"8:00", "10:00"}, {"10:00", "12:00"}}).evaluate(time("2026-03-02T10:00:00Z")).open);
}

TEST(TimeWindowTest, SeveralWindowsADay) {
  const TimeWindow window = listed({{"13:00", "14:00"}, {"8:00", "9:00"}});
  expect_open_between(window, time("2026-03-02T08:00:00.000000001Z"), time("2026-03-02T09:00:00Z"));
  expect_open_between(window, time("2026-03-02T13:00:00.000000001Z"), time("2026-03-02T14:00:00Z"));
  EXPECT_EQ(window.evaluate(time("2026-03-02T09:00:00Z")).changes_at, time("2026-03-02T13:00:00.000000001Z"));
}

TEST(TimeWindowTest, AlwaysOpenAndNeverOpen) {
  const TimeWindow always = listed({{"0:00", "24:00"}});
  EXPECT_TRUE(always.evaluate(time("2026-03-02T00:00:00Z")).open);
  EXPECT_EQ(always.evaluate(time("2026-03-02T00:00:00Z")).changes_at, std::nullopt);
  const TimeWindow never = listed({{"8:00", "9:00"}}, {"Jan 1..Dec 31"});
  EXPECT_FALSE(never.evaluate(time("2026-03-02T08:30:00Z")).open);
  EXPECT_EQ(never.evaluate(time("2026-03-02T08:30:00Z")).changes_at, std::nullopt);
  const TimeWindow empty{TimeWindowSettings{}};
  EXPECT_FALSE(empty.evaluate(time("2026-03-02T08:30:00Z")).open);
  EXPECT_EQ(empty.evaluate(time("2026-03-02T08:30:00Z")).changes_at, std::nullopt);
}

TEST(TimeWindowTest, TheTurnOfTheYear) {
  const TimeWindow window = listed({{"0:00", "24:00"}}, {"Dec 24..Jan 2"});
  expect_open_between(window, time("2026-01-03T00:00:00.000000001Z"), time("2026-12-24T00:00:00Z"));
  const TimeWindow once = listed({{"0:00", "24:00"}}, {"2026-12-24..2027-01-02"});
  EXPECT_EQ(once.evaluate(time("2026-12-24T00:00:00Z")).changes_at, time("2027-01-03T00:00:00.000000001Z"));
  EXPECT_EQ(once.evaluate(time("2027-01-03T12:00:00Z")).changes_at, std::nullopt);
}

TEST(TimeWindowTest, LeapDays) {
  const TimeWindow window = listed({{"8:00", "9:00"}}, {"Feb 29"});
  EXPECT_FALSE(window.evaluate(time("2028-02-29T08:30:00Z")).open);
  EXPECT_TRUE(window.evaluate(time("2027-03-01T08:30:00Z")).open);
  // Only on a leap day that is a Monday.
  const TimeWindow rare = listed({{"8:00", "9:00", kMonday}}, {"Mar 1..Feb 28"});
  EXPECT_EQ(rare.evaluate(time("2026-03-02T08:30:00Z")).changes_at, time("2044-02-29T08:00:00.000000001Z"));
}

TEST(TimeWindowTest, TheZoneDecidesOnTimeDayAndDate) {
  const TimeWindow tokyo = listed({{"0:30", "2:00", kMonday}}, {"Mar 9"}, "Asia/Tokyo");
  expect_open_between(tokyo, time("2026-03-01T15:30:00.000000001Z"), time("2026-03-01T17:00:00Z"));
  EXPECT_EQ(tokyo.evaluate(time("2026-03-02T00:00:00Z")).changes_at, time("2026-03-15T15:30:00.000000001Z"));
  const TimeWindow new_york = listed({{"22:00", "23:00", kMonday}}, {}, "America/New_York");
  expect_open_between(new_york, time("2026-03-03T03:00:00.000000001Z"), time("2026-03-03T04:00:00Z"));
}

// On 2026-03-29 the clocks of Berlin go from 2:00 to 3:00, at 1:00 UTC.
TEST(TimeWindowTest, BerlinInSpring) {
  const auto berlin = [](const char* start, const char* end) {
    return listed({{start, end, Weekdays{0b0000001}}}, {}, "Europe/Berlin");
  };
  // Inside of the hour that is skipped: not that day.
  EXPECT_EQ(berlin("2:10", "2:50").evaluate(time("2026-03-28T12:00:00Z")).changes_at,
            time("2026-04-05T00:10:00.000000001Z"));
  // Begins in it: opens when the clocks change, with the first moment that is later.
  expect_open_between(berlin("2:30", "4:00"), time("2026-03-29T01:00:00Z"), time("2026-03-29T02:00:00Z"));
  // Ends in it: closes when the clocks change.
  expect_open_between(berlin("1:00", "2:30"), time("2026-03-29T00:00:00.000000001Z"), time("2026-03-29T01:00:00Z"));
  // Around it: an hour shorter.
  expect_open_between(berlin("1:00", "4:00"), time("2026-03-29T00:00:00.000000001Z"), time("2026-03-29T02:00:00Z"));
  // Where the skipped hour ends, the start is still exclusive.
  expect_open_between(berlin("3:00", "4:00"), time("2026-03-29T01:00:00.000000001Z"), time("2026-03-29T02:00:00Z"));
}

// On 2026-10-25 they go from 3:00 back to 2:00, at 1:00 UTC.
TEST(TimeWindowTest, BerlinInAutumn) {
  const auto berlin = [](const char* start, const char* end) {
    return listed({{start, end, Weekdays{0b0000001}}}, {}, "Europe/Berlin");
  };
  // Twice on that day.
  const TimeWindow twice = berlin("2:10", "2:50");
  expect_open_between(twice, time("2026-10-25T00:10:00.000000001Z"), time("2026-10-25T00:50:00Z"));
  expect_open_between(twice, time("2026-10-25T01:10:00.000000001Z"), time("2026-10-25T01:50:00Z"));
  // Begins in the repeated hour: closed again until the time comes for the second time.
  const TimeWindow begins = berlin("2:30", "4:00");
  expect_open_between(begins, time("2026-10-25T00:30:00.000000001Z"), time("2026-10-25T01:00:00Z"));
  expect_open_between(begins, time("2026-10-25T01:30:00.000000001Z"), time("2026-10-25T03:00:00Z"));
  // Ends in it: the clock change opens it once more.
  const TimeWindow ends = berlin("1:00", "2:30");
  expect_open_between(ends, time("2026-10-24T23:00:00.000000001Z"), time("2026-10-25T00:30:00Z"));
  expect_open_between(ends, time("2026-10-25T01:00:00Z"), time("2026-10-25T01:30:00Z"));
  // Around it: an hour longer.
  expect_open_between(berlin("1:00", "4:00"), time("2026-10-24T23:00:00.000000001Z"), time("2026-10-25T03:00:00Z"));
}

// 2026-03-08 2:00 to 3:00 at 7:00 UTC; 2026-11-01 2:00 to 1:00 at 6:00 UTC.
TEST(TimeWindowTest, NewYork) {
  const TimeWindow overnight = listed({{"22:00", "6:00", Weekdays{0b1000000}}}, {}, "America/New_York");
  expect_open_between(overnight, time("2026-03-08T03:00:00.000000001Z"), time("2026-03-08T10:00:00Z"));
  expect_open_between(overnight, time("2026-11-01T02:00:00.000000001Z"), time("2026-11-01T11:00:00Z"));
  const TimeWindow skipped = listed({{"2:00", "3:00"}}, {}, "America/New_York");
  EXPECT_EQ(skipped.evaluate(time("2026-03-07T12:00:00Z")).changes_at, time("2026-03-09T06:00:00.000000001Z"));
}

// The island's clocks change by half an hour: on 2026-04-05 at 15:00 UTC (of April 4) 2:00 becomes 1:30, on 2026-10-04
// at 15:30 UTC (of October 3) 2:00 becomes 2:30.
TEST(TimeWindowTest, LordHowe) {
  const TimeWindow repeated = listed({{"1:40", "1:50", Weekdays{0b0000001}}}, {}, "Australia/Lord_Howe");
  expect_open_between(repeated, time("2026-04-04T14:40:00.000000001Z"), time("2026-04-04T14:50:00Z"));
  expect_open_between(repeated, time("2026-04-04T15:10:00.000000001Z"), time("2026-04-04T15:20:00Z"));
  const TimeWindow skipped = listed({{"2:10", "3:00", Weekdays{0b0000001}}}, {}, "Australia/Lord_Howe");
  expect_open_between(skipped, time("2026-10-03T15:30:00Z"), time("2026-10-03T16:00:00Z"));
}

TEST(TimeWindowTest, TheClocksMayChangeAtMidnight) {
  // 2026-03-29 has no 0:00 in Beirut: the day begins at 1:00, which is 22:00 UTC.
  const TimeWindow beirut = listed({{"0:00", "24:00", Weekdays{0b0000001}}}, {}, "Asia/Beirut");
  expect_open_between(beirut, time("2026-03-28T22:00:00Z"), time("2026-03-29T21:00:00Z"));
}

TEST(TimeWindowTest, ReasonsForTheInfoDocument) {
  const TimeWindow window = single("10:30", "15:20", kMonday, {"Mar 9"});
  const auto explain = [&](const char* text) { return window.explain(time(text)); };
  EXPECT_EQ(explain("2026-03-02T11:00:00Z").reason, WindowReason::open);
  EXPECT_EQ(explain("2026-03-02T11:00:00Z").info, "");
  EXPECT_EQ(explain("2026-03-02T10:30:00Z").reason, WindowReason::outside_hours);
  EXPECT_EQ(explain("2026-03-02T10:30:00Z").info, "");
  EXPECT_EQ(explain("2026-03-03T11:00:00Z").reason, WindowReason::wrong_weekday);
  EXPECT_EQ(explain("2026-03-03T11:00:00Z").info, "current day of week forbidden");
  EXPECT_EQ(explain("2026-03-09T08:00:00Z").reason, WindowReason::excluded_date);
  EXPECT_EQ(explain("2026-03-09T11:00:00Z").info, "day/month forbidden");
}

TEST(TimeWindowTest, TheWeekdayIsToldBeforeTheDate) {
  EXPECT_EQ(single("10:30", "15:20", kMonday, {"Mar 3"}).explain(time("2026-03-03T11:00:00Z")).reason,
            WindowReason::wrong_weekday);
}

TEST(TimeWindowTest, SentencesSpeakLocalTime) {
  const TimeWindow window = listed({{"22:00", "6:00", Weekdays{0b0100000}}}, {"Dec 25"}, "Europe/Berlin");
  const auto sentence = [&](const char* text) { return window.explain(time(text)).sentence; };
  EXPECT_EQ(sentence("2026-03-06T22:15:30Z"), "open at Fri 2026-03-06 23:15 CET until Sat 2026-03-07 6:00 CET");
  EXPECT_EQ(sentence("2026-07-03T10:00:00Z"),
            "closed at Fri 2026-07-03 12:00 CEST, outside of 22:00-6:00; opens at Fri 2026-07-03 22:00 CEST");
  EXPECT_EQ(sentence("2026-03-07T10:00:00Z"),
            "closed at Sat 2026-03-07 11:00 CET, not a day of the window; opens at Fri 2026-03-13 22:00 CET");
  // After midnight, the night of an excluded day.
  EXPECT_EQ(sentence("2026-12-26T01:00:00Z"),
            "closed at Sat 2026-12-26 2:00 CET, Fri 2026-12-25 is excluded; opens at Fri 2027-01-01 22:00 CET");
  EXPECT_EQ(listed({{"0:00", "24:00"}}).explain(time("2026-03-02T00:00:00Z")).sentence,
            "open at Mon 2026-03-02 0:00 UTC and always");
  EXPECT_EQ(single("8:00", "8:00", kAll).explain(time("2026-03-02T00:00:00Z")).sentence,
            "closed at Mon 2026-03-02 0:00 UTC, outside of 8:00-8:00; never opens");
}

TEST(TimeWindowTest, TheEndsOfTime) {
  const TimeWindow window = listed({{"22:00", "6:00"}}, {}, "Europe/Berlin");
  for (const io::Wall t : {io::Wall::min(), io::Wall::min() + kInstant, io::Wall::max() - kInstant}) {
    const auto changes_at = window.evaluate(t).changes_at;
    EXPECT_TRUE(!changes_at || *changes_at > t);
    EXPECT_FALSE(window.explain(t).sentence.empty());
  }
  EXPECT_EQ(window.evaluate(io::Wall::max()).changes_at, std::nullopt);
}

TEST(TimeWindowTest, TimeMayGoBack) {
  const TimeWindow window = single("10:30", "15:20", kMonday);
  EXPECT_TRUE(window.evaluate(time("2026-03-02T11:00:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-02T10:00:00Z")).open);
  EXPECT_TRUE(window.evaluate(time("2026-03-02T11:00:00Z")).open);
  EXPECT_FALSE(window.evaluate(time("2026-03-02T15:20:00Z")).open);
}

// The definition, word by word, by means of the library's own local times.
bool open_by_definition(const TimeWindowSettings& settings, io::Wall now) {
  const auto local = date::locate_zone(settings.zone.name())->to_local(now).time_since_epoch();
  const auto today = std::chrono::floor<days>(local);
  bool inside = false, starts = false, ends = false;
  for (const auto day : {today - days{1}, today}) {
    const std::chrono::sys_days date{day};
    bool allowed = true;
    for (const Exclusion& exclusion : settings.exclude) allowed = allowed && !excludes(exclusion, date);
    for (const Hours& hours : settings.windows) {
      if (!allowed || !hours.weekdays[std::chrono::weekday{date}.c_encoding()]) continue;
      inside = inside || (day + hours.start < local && local < day + hours.end);
      starts = starts || day + hours.start == local;
      ends = ends || day + hours.end == local;
    }
  }
  return inside || (starts && ends);
}

TimeWindowSettings random_settings(io::Random& random) {
  constexpr std::array kZones{"UTC",          "Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
                              "Asia/Kolkata", "Asia/Beirut",   "Pacific/Chatham",  "Africa/Casablanca",
                              "Pacific/Apia", "Europe/Dublin"};
  constexpr std::array kExclusions{
      "Dec 24", "Feb 29", "Dec 24..Jan 2", "2026-03-29", "2026-10-20..2026-11-05", "Mar 1..Mar 20", "2027-01-01"};
  TimeWindowSettings out;
  for (std::uint64_t i = random.next() % 3; i < 3; ++i) {
    // Often around the hours at which clocks change.
    const std::uint64_t hours = random.next() % 3 == 0 ? 24 : 4;
    const io::Duration start = io::minutes{random.next() % (hours * 4) * 15};
    const io::Duration length = io::minutes{15 * (1 + random.next() % (random.next() % 2 == 0 ? 95 : 8))};
    out.windows.push_back({start, start + length, Weekdays{random.next() % 128}});
  }
  for (std::uint64_t i = random.next() % 3; i < 2; ++i) {
    out.exclude.push_back(*parse_exclusion(kExclusions[random.next() % kExclusions.size()]));
  }
  out.zone = *Zone::find(kZones[random.next() % kZones.size()]);
  return out;
}

// Some of the moments between two, most of them on the minute or just beside it.
std::vector<io::Wall> moments_between(io::Wall from, io::Wall to, io::Random& random) {
  std::vector<io::Wall> out;
  const auto minutes = std::chrono::floor<io::minutes>(to - from).count();
  for (int i = 0; i < 60 && minutes > 0; ++i) {
    const io::Wall minute = std::chrono::floor<io::minutes>(
        from + io::minutes{static_cast<std::int64_t>(random.next() % static_cast<std::uint64_t>(minutes))});
    for (const io::Wall t : {minute - kInstant, minute, minute + kInstant}) {
      if (from < t && t < to) out.push_back(t);
    }
  }
  return out;
}

TEST(TimeWindowTest, ChangesAreExact) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE(seed);
    io::Random random{seed};
    const TimeWindowSettings config = random_settings(random);
    const TimeWindow window{config};
    io::Wall now = time("2026-01-01T00:00:00Z") + io::seconds{random.next() % (3 * 365 * 86400)};
    // Half of them shortly before the clocks of Berlin, New York or Lord Howe change.
    constexpr std::array kClockChanges{"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-03-08T07:00:00Z",
                                       "2026-11-01T06:00:00Z", "2026-04-04T15:00:00Z", "2026-10-03T15:30:00Z"};
    if (seed % 2 == 0) now = time(kClockChanges[seed / 2 % kClockChanges.size()]) - io::minutes{random.next() % 240};
    for (int step = 0; step < 12; ++step) {
      const WindowAnswer answer = window.evaluate(now);
      ASSERT_EQ(answer.open, open_by_definition(config, now)) << io::format_rfc3339(now);
      if (!answer.changes_at) break;
      const io::Wall change = *answer.changes_at;
      ASSERT_GT(change, now);
      ASSERT_EQ(open_by_definition(config, change - kInstant), answer.open) << io::format_rfc3339(change);
      ASSERT_NE(open_by_definition(config, change), answer.open) << io::format_rfc3339(change);
      for (const io::Wall t : moments_between(now, change, random)) {
        ASSERT_EQ(open_by_definition(config, t), answer.open) << io::format_rfc3339(t);
        ASSERT_EQ(window.evaluate(t).changes_at, change);
        ASSERT_EQ(TimeWindow{config}.evaluate(t).changes_at, change) << io::format_rfc3339(t);
      }
      now = change;
    }
  }
}

}  // namespace
}  // namespace careen::windows
