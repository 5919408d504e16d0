// Windows of time in one line, for places that have no more room, such as an annotation:
//
//   Sat,Sun 22:00-6:00 Europe/Berlin
//   Mon-Thu 20:00-5:00; Fri-Sun 0:00-24:00; except Dec 24..Jan 2, 2026-05-01; Europe/Berlin
//
// Days, and from when to when; times may run over midnight, and 24:00 is an end. Dates after "except" are those of an
// Exclusion. One time zone counts for all of it and is named last, or once in the end of any part; without one it is
// UTC.
#pragma once

#include <string_view>

#include "io/result.h"
#include "windows/time_window.h"

namespace careen::windows {

// The error says which part is wrong, and what was expected there.
io::Result<TimeWindowSettings> parse_window_text(std::string_view text);

}  // namespace careen::windows
