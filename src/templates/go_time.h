// A point in time as Go's time.Time in UTC: it reaches from the year 1, prints as Go prints it, and knows the layout
// language of Format.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::templates {

struct GoTime {
  // Seconds since 1970 and the nanoseconds after them; without anything else, Go's zero time.
  int64_t seconds = -62135596800;
  int32_t nanoseconds = 0;

  // Wall::min() stands for the zero time.
  static GoTime from(io::Wall wall);
  bool is_zero() const { return *this == GoTime{}; }
  friend auto operator<=>(const GoTime&, const GoTime&) = default;
};

struct Calendar {
  int64_t year = 1;
  int month = 1;
  int day = 1;
  int weekday = 0;   // Sunday is 0
  int year_day = 1;  // 1 January is 1
  int hour = 0;
  int minute = 0;
  int second = 0;
};

Calendar calendar(const GoTime& time);
std::string_view month_name(int month);
std::string_view weekday_name(int weekday);

GoTime add(const GoTime& time, io::Duration duration);
// From `from` to `to`; the longest or shortest duration where it does not fit.
io::Duration between(const GoTime& from, const GoTime& to);
// Years, months and days later, by the calendar: 31 October and one month are 1 December.
GoTime add_date(const GoTime& time, int64_t years, int64_t months, int64_t days);
// To a multiple of `step` since the zero time; as it is where the step is not positive.
GoTime truncate(const GoTime& time, io::Duration step);
GoTime round(const GoTime& time, io::Duration step);

// 2006-01-02 15:04:05.999999999 -0700 MST
std::string to_text(const GoTime& time);
// time.Date(2006, time.January, 2, 15, 4, 5, 0, time.UTC)
std::string go_source(const GoTime& time);
// 1h0m0s, 1.5s, 300ms
std::string to_text(io::Duration duration);
std::string format(const GoTime& time, std::string_view layout);

}  // namespace careen::templates
