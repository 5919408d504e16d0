#include "profiles/schedule.h"

#include <algorithm>
#include <array>
#include <string>

#include "profiles/config_reader.h"

namespace careen::profiles {

namespace {

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

constexpr std::array<std::string_view, 7> kWeekdays{"sunday",   "monday", "tuesday", "wednesday",
                                                    "thursday", "friday", "saturday"};

}  // namespace

std::optional<ScheduleType> parse_schedule_type(std::string_view text) {
  const std::string type = lower(text);
  if (type == "periodic") return ScheduleType::periodic;
  if (type == "scheduled") return ScheduleType::scheduled;
  if (type == "oneshot") return ScheduleType::oneshot;
  return std::nullopt;
}

std::optional<io::Duration> parse_time_of_day(std::string_view text) {
  const std::size_t colon = text.find(':');
  if ((colon != 1 && colon != 2) || text.size() != colon + 3) return std::nullopt;
  const std::string_view hour_text = text.substr(0, colon), minute_text = text.substr(colon + 1);
  if (!std::all_of(hour_text.begin(), hour_text.end(), is_digit) ||
      !std::all_of(minute_text.begin(), minute_text.end(), is_digit)) {
    return std::nullopt;
  }
  int hour = 0;
  for (char c : hour_text) hour = hour * 10 + (c - '0');
  const int minute = (minute_text[0] - '0') * 10 + (minute_text[1] - '0');
  if (hour > 23 || minute > 59) return std::nullopt;
  return io::hours{hour} + io::minutes{minute};
}

std::optional<unsigned> parse_weekday(std::string_view text) {
  const std::string day = lower(text);
  for (unsigned i = 0; i < kWeekdays.size(); ++i) {
    if (day == kWeekdays[i] || day == kWeekdays[i].substr(0, 3)) return i;
  }
  return std::nullopt;
}

Schedule read_schedule(ScheduleType type, ConfigReader& reader) {
  Schedule schedule;
  schedule.type = type;
  switch (type) {
    case ScheduleType::periodic:
      schedule.interval = reader.duration("interval", Required::no, schedule.interval);
      break;
    case ScheduleType::oneshot:
      schedule.delay = reader.duration("delay", Required::no, schedule.delay);
      break;
    case ScheduleType::scheduled: {
      const std::string instant = reader.string("instant", Required::yes);
      const auto time = parse_time_of_day(instant);
      if (!time && !instant.empty()) reader.error("instant", "must be a time of day such as 9:30");
      schedule.instant = time.value_or(schedule.instant);
      for (const std::string& day : reader.strings("weekdays", Required::yes)) {
        if (const auto number = parse_weekday(day)) {
          schedule.weekdays.set(*number);
        } else {
          reader.error("weekdays", "must be names of days such as monday or mon");
        }
      }
      break;
    }
  }
  return schedule;
}

}  // namespace careen::profiles
