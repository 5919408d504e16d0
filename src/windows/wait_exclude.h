// A wait during which some days of the week do not count, by the UTC calendar. Without such days it is a plain wait.
#pragma once

#include <optional>

#include "io/time.h"
#include "windows/weekdays.h"

namespace careen::windows {

struct WaitAnswer {
  // Strictly more than the duration was counted.
  bool passed = false;
  // The least that is still missing, 0 when passed.
  io::Duration remaining{0};
  // When it passes, if it does not yet. None: it has passed, or never will since no day counts.
  std::optional<io::Wall> changes_at;
};

WaitAnswer wait_exclude(io::Wall since, io::Wall now, io::Duration duration, Weekdays excluded);

}  // namespace careen::windows
