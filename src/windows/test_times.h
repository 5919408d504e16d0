// What the tests of this folder share: a time from its text, and all days of the week.
#pragma once

#include "io/time.h"
#include "windows/weekdays.h"

namespace careen::windows {

inline const Weekdays kAll{0b1111111};

inline io::Wall time(const char* text) { return *io::parse_rfc3339(text); }

}  // namespace careen::windows
