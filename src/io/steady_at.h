// When a wall-clock time will come, by the clock that nobody sets.
#pragma once

#include <algorithm>

#include "io/loop.h"
#include "io/time.h"

namespace careen::io {

// For timers: at once if it has passed, and within a year however far it is.
inline Steady steady_at(const Loop& loop, Wall when) {
  const Wall now = loop.wall_now();
  return loop.now() + std::max(Duration{0}, std::min(when, add(now, hours{24 * 365})) - now);
}

}  // namespace careen::io
