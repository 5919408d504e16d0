// Timers run on the steady clock. Whatever waits for a time of day has computed how long that takes; when somebody sets
// the wall clock, or the machine has slept, it has to be computed again.
#pragma once

#include <functional>

#include "io/loop.h"
#include "io/task.h"

namespace careen::io {

// How often it looks, and what counts as a step.
inline constexpr Duration kClockLook = seconds{5};
inline constexpr Duration kClockStep = seconds{1};

// For ever: reports by how much the wall clock has moved against the steady one since its last report.
Task<void> follow_clock(Loop& loop, std::function<void(Duration by)> stepped);

}  // namespace careen::io
