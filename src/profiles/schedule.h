// When a notification instance is due, as configured. The decision itself needs the node's data and lies elsewhere.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>

#include "io/time.h"

namespace careen::profiles {

class ConfigReader;

enum class ScheduleType { periodic, scheduled, oneshot };

// Bit 0 is Sunday, as std::chrono::weekday::c_encoding() counts.
using Weekdays = std::bitset<7>;

struct Schedule {
  ScheduleType type = ScheduleType::periodic;
  io::Duration interval = io::hours{1};    // periodic
  io::Duration delay = io::minutes{1};     // oneshot
  io::Duration instant = io::Duration{0};  // scheduled: time of day, UTC
  Weekdays weekdays;                       // scheduled
};

// Any case; nullopt when there is no such type.
std::optional<ScheduleType> parse_schedule_type(std::string_view text);
// The keys of `type` out of the schedule's `config`. Errors go to the reader.
Schedule read_schedule(ScheduleType type, ConfigReader& reader);

// Hour with one or two digits, a colon, two-digit minutes: 9:30.
std::optional<io::Duration> parse_time_of_day(std::string_view text);
// Full English name or its first three letters, any case; the number as in Weekdays.
std::optional<unsigned> parse_weekday(std::string_view text);

}  // namespace careen::profiles
