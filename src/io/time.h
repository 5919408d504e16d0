// Time as careen speaks of it: durations, a steady clock that counts suspend, wall time, and the one way to
// read and print each. The types carry no clock: the time of day comes from the Loop, never from the system.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace careen::io {

using Duration = std::chrono::nanoseconds;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Tag of the steady time line. It has no now(): ask the Loop.
struct SteadyLine {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SteadyLine>;
  static constexpr bool is_steady = true;
};

using Steady = std::chrono::time_point<SteadyLine, Duration>;
using Wall = std::chrono::sys_time<Duration>;

// A point no timer reaches; "never".
inline constexpr Steady kNever = Steady::max();

// t + d, stopping at the ends of the range instead of overflowing.
Wall add(Wall t, Duration d);

// A duration as seconds with a fraction, for metrics and messages.
inline double to_seconds(Duration d) { return std::chrono::duration<double>(d).count(); }

// RFC 3339 in UTC with up to nine fractional digits, trailing zeros dropped: 2026-03-01T10:00:00.5Z.
std::string format_rfc3339(Wall t);
// The second that has begun, without a fraction, as Kubernetes' Time has it: 2026-03-01T10:00:00Z.
std::string format_whole_seconds(Wall t);
// RFC 3339 with exactly six fractional digits, as Kubernetes' MicroTime wants it.
std::string format_micro_time(Wall t);
// Any RFC 3339 text (fraction and offset optional in length); nullopt when it is not one. Years 1 to 9999 are accepted;
// what does not fit in nanoseconds since 1970 saturates (Go's zero time reads as Wall::min()).
std::optional<Wall> parse_rfc3339(std::string_view text);

// Go's duration grammar: 1h30m, 1.5s, 300ms, -2m, 0. nullopt when the text is not one or does not fit.
std::optional<Duration> parse_duration(std::string_view text);
// The shortest form of the same grammar that people write: 1h30m0s is printed as 1h30m, zero as 0s.
std::string format_duration(Duration d);

}  // namespace careen::io
