#include "windows/calendar.h"

#include <cstdint>
#include <limits>

namespace careen::windows {

std::chrono::sys_days day_of(io::Wall t) {
  const std::int64_t count = t.time_since_epoch().count();
  const std::int64_t days = count / kNanosInDay - (count % kNanosInDay < 0 ? 1 : 0);
  return std::chrono::sys_days{std::chrono::days{static_cast<std::chrono::days::rep>(days)}};
}

io::Duration time_of_day(io::Wall t) {
  const std::int64_t rest = t.time_since_epoch().count() % kNanosInDay;
  return io::Duration{rest < 0 ? rest + kNanosInDay : rest};
}

io::Wall at(std::chrono::sys_days day, io::Duration since_midnight) {
  const __int128 count = static_cast<__int128>(day.time_since_epoch().count()) * kNanosInDay + since_midnight.count();
  if (count < std::numeric_limits<std::int64_t>::min()) return io::Wall::min();
  if (count > std::numeric_limits<std::int64_t>::max()) return io::Wall::max();
  return io::Wall{io::Duration{static_cast<std::int64_t>(count)}};
}

}  // namespace careen::windows
