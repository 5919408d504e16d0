// Days of the UTC calendar for every time careen can name, the ends of the range included, where std::chrono's own
// conversions overflow.
#pragma once

#include <chrono>
#include <cstdint>

#include "io/time.h"

namespace careen::windows {

inline constexpr std::int64_t kNanosInDay = io::Duration{std::chrono::days{1}}.count();

std::chrono::sys_days day_of(io::Wall t);
// Since midnight.
io::Duration time_of_day(io::Wall t);
// That time on that day, or the end of the range if it lies outside.
io::Wall at(std::chrono::sys_days day, io::Duration since_midnight);

// As Weekdays counts: Sunday is 0.
inline unsigned weekday_of(std::chrono::sys_days day) { return std::chrono::weekday{day}.c_encoding(); }

}  // namespace careen::windows
