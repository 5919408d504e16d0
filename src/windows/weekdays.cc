#include "windows/weekdays.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "io/ascii.h"

namespace careen::windows {

namespace {

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return io::lower(x) == io::lower(y); });
}

constexpr std::array<std::string_view, 7> kNames{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                 "Thursday", "Friday", "Saturday"};

}  // namespace

std::optional<unsigned> parse_weekday(std::string_view text) {
  for (unsigned i = 0; i < kNames.size(); ++i) {
    if (same_but_case(text, kNames[i]) || same_but_case(text, short_name(i))) return i;
  }
  return std::nullopt;
}

io::Result<Weekdays> parse_weekdays(std::span<const std::string> names) {
  if (names.empty()) return io::fail(io::ErrorKind::invalid, "must name at least one day such as monday or mon");
  Weekdays days;
  for (const std::string& name : names) {
    const auto number = parse_weekday(name);
    if (!number) {
      return io::fail(io::ErrorKind::invalid,
                      fmt::format("must be names of days such as monday or mon, not \"{}\"", name));
    }
    days.set(*number);
  }
  return days;
}

std::string_view short_name(unsigned weekday) { return kNames.at(weekday).substr(0, 3); }

std::optional<io::Duration> parse_time_of_day(std::string_view text) {
  const std::size_t colon = text.find(':');
  if ((colon != 1 && colon != 2) || text.size() != colon + 3) return std::nullopt;
  const std::string_view hour_text = text.substr(0, colon), minute_text = text.substr(colon + 1);
  if (!std::all_of(hour_text.begin(), hour_text.end(), io::is_digit) ||
      !std::all_of(minute_text.begin(), minute_text.end(), io::is_digit)) {
    return std::nullopt;
  }
  int hour = 0;
  for (char c : hour_text) hour = hour * 10 + (c - '0');
  const int minute = (minute_text[0] - '0') * 10 + (minute_text[1] - '0');
  if (hour > 23 || minute > 59) return std::nullopt;
  return io::hours{hour} + io::minutes{minute};
}

}  // namespace careen::windows
