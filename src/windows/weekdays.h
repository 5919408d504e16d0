// Days of the week and times of day as configuration files write them.
#pragma once

#include <bitset>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "io/result.h"
#include "io/time.h"

namespace careen::windows {

// Bit 0 is Sunday, as std::chrono::weekday::c_encoding() counts.
using Weekdays = std::bitset<7>;

// Full English name or its first three letters, any case; the number as in Weekdays.
std::optional<unsigned> parse_weekday(std::string_view text);
// At least one name. The error continues the name of the key: must be …
io::Result<Weekdays> parse_weekdays(std::span<const std::string> names);
// Mon, for people.
std::string_view short_name(unsigned weekday);

// Hour with one or two digits, a colon, two-digit minutes: 9:30.
std::optional<io::Duration> parse_time_of_day(std::string_view text);

}  // namespace careen::windows
