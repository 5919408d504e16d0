#include "windows/wait_exclude.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "windows/calendar.h"

namespace careen::windows {

namespace {

// Two times may lie further apart than nanoseconds count in 64 bits.
using Nanos = __int128;

// A Sunday: weeks count from here.
constexpr std::chrono::sys_days kOrigin = std::chrono::sys_days{std::chrono::days{3}};
static_assert(std::chrono::weekday{kOrigin} == std::chrono::Sunday);

Nanos floor_div(Nanos a, Nanos b) { return a / b - (a % b < 0 ? 1 : 0); }

struct CountedTime {
  Weekdays excluded;

  Nanos a_week() const { return static_cast<Nanos>(excluded.size() - excluded.count()) * kNanosInDay; }

  // From the origin to t; negative before it.
  Nanos until(io::Wall t) const {
    const std::chrono::sys_days day = day_of(t);
    const unsigned weekday = weekday_of(day);
    Nanos counted = floor_div((day - kOrigin).count(), 7) * a_week();
    for (unsigned passed = 0; passed < weekday; ++passed) counted += excluded[passed] ? 0 : kNanosInDay;
    return counted + (excluded[weekday] ? 0 : time_of_day(t).count());
  }

  // The earliest time with until(t) ≥ counted.
  std::optional<io::Wall> when(Nanos counted) const {
    if (a_week() == 0) return std::nullopt;
    const Nanos weeks = floor_div(counted - 1, a_week());
    Nanos rest = counted - weeks * a_week();
    Nanos days = weeks * 7;
    for (unsigned weekday = 0; weekday < 7; ++weekday, ++days) {
      if (excluded[weekday]) continue;
      if (rest <= kNanosInDay) break;
      rest -= kNanosInDay;
    }
    const Nanos count = (days + kOrigin.time_since_epoch().count()) * kNanosInDay + rest;
    if (count > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    return io::Wall{io::Duration{static_cast<std::int64_t>(count)}};
  }
};

}  // namespace

WaitAnswer wait_exclude(io::Wall since, io::Wall now, io::Duration duration, Weekdays excluded) {
  const CountedTime time{excluded};
  const Nanos wanted = time.until(since) + duration.count();
  const Nanos missing = wanted - time.until(now);
  WaitAnswer answer;
  answer.passed = missing < 0;
  if (answer.passed) return answer;
  constexpr Nanos kMost = std::numeric_limits<std::int64_t>::max();
  answer.remaining = io::Duration{static_cast<std::int64_t>(std::min(missing, kMost))};
  answer.changes_at = time.when(wanted + 1);
  return answer;
}

}  // namespace careen::windows
