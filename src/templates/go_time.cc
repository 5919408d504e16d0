#include "templates/go_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

namespace careen::templates {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};

bool is_digit_at(std::string_view text, size_t index) {
  return index < text.size() && text[index] >= '0' && text[index] <= '9';
}

std::string clock(int value, int width, char fill = '0') {
  return fill == '0' ? fmt::format("{:0{}}", value, width) : fmt::format("{:{}}", value, width);
}

int twelve_hour(int hour) { return hour % 12 == 0 ? 12 : hour % 12; }

// One element of a layout: how it is written, and what it stands for. Of those that begin alike the longer comes first.
struct Element {
  std::string_view written;
  std::string (*print)(const Calendar&);
};

constexpr Element kElements[] = {
    {"January", [](const Calendar& c) { return std::string(month_name(c.month)); }},
    {"Jan", [](const Calendar& c) { return std::string(month_name(c.month).substr(0, 3)); }},
    {"Monday", [](const Calendar& c) { return std::string(weekday_name(c.weekday)); }},
    {"Mon", [](const Calendar& c) { return std::string(weekday_name(c.weekday).substr(0, 3)); }},
    {"MST", [](const Calendar&) { return std::string("UTC"); }},
    {"002", [](const Calendar& c) { return clock(c.year_day, 3); }},
    {"01", [](const Calendar& c) { return clock(c.month, 2); }},
    {"02", [](const Calendar& c) { return clock(c.day, 2); }},
    {"03", [](const Calendar& c) { return clock(twelve_hour(c.hour), 2); }},
    {"04", [](const Calendar& c) { return clock(c.minute, 2); }},
    {"05", [](const Calendar& c) { return clock(c.second, 2); }},
    {"06", [](const Calendar& c) { return clock(static_cast<int>(c.year % 100), 2); }},
    {"15", [](const Calendar& c) { return clock(c.hour, 2); }},
    {"1", [](const Calendar& c) { return clock(c.month, 1); }},
    {"2006", [](const Calendar& c) { return fmt::format("{:04}", c.year); }},
    {"2", [](const Calendar& c) { return clock(c.day, 1); }},
    // An underscore, then a year: not a padded day followed by 006.
    {"_2006", [](const Calendar& c) { return fmt::format("_{:04}", c.year); }},
    {"__2", [](const Calendar& c) { return clock(c.year_day, 3, ' '); }},
    {"_2", [](const Calendar& c) { return clock(c.day, 2, ' '); }},
    {"3", [](const Calendar& c) { return clock(twelve_hour(c.hour), 1); }},
    {"4", [](const Calendar& c) { return clock(c.minute, 1); }},
    {"5", [](const Calendar& c) { return clock(c.second, 1); }},
    {"PM", [](const Calendar& c) { return std::string(c.hour >= 12 ? "PM" : "AM"); }},
    {"pm", [](const Calendar& c) { return std::string(c.hour >= 12 ? "pm" : "am"); }},
    {"-07:00:00", [](const Calendar&) { return std::string("+00:00:00"); }},
    {"-070000", [](const Calendar&) { return std::string("+000000"); }},
    {"-07:00", [](const Calendar&) { return std::string("+00:00"); }},
    {"-0700", [](const Calendar&) { return std::string("+0000"); }},
    {"-07", [](const Calendar&) { return std::string("+00"); }},
    {"Z07:00:00", [](const Calendar&) { return std::string("Z"); }},
    {"Z070000", [](const Calendar&) { return std::string("Z"); }},
    {"Z07:00", [](const Calendar&) { return std::string("Z"); }},
    {"Z0700", [](const Calendar&) { return std::string("Z"); }},
    {"Z07", [](const Calendar&) { return std::string("Z"); }},
};

const Element* element_at(std::string_view layout) {
  for (const Element& element : kElements) {
    if (!layout.starts_with(element.written)) continue;
    // Jan, but not as the start of a longer word that continues in lower case, such as Janet.
    const size_t end = element.written.size();
    const bool goes_on = end < layout.size() && layout[end] >= 'a' && layout[end] <= 'z';
    if (goes_on && (element.written == "Jan" || element.written == "Mon")) continue;
    return &element;
  }
  return nullptr;
}

// .000 or ,999 and so on: how many digits; 0 where there is no such fraction.
size_t fraction_digits(std::string_view layout) {
  if (layout.size() < 2 || (layout[0] != '.' && layout[0] != ',')) return 0;
  const char digit = layout[1];
  if (digit != '0' && digit != '9') return 0;
  const size_t end = std::min(layout.find_first_not_of(digit, 1), layout.size());
  return is_digit_at(layout, end) ? 0 : end - 1;
}

// With nines, zeros at the end go, and with all of them the mark before them.
std::string fraction(std::string_view written, int32_t nanoseconds) {
  std::string digits = fmt::format("{:09}", nanoseconds);
  digits.resize(std::min(digits.size(), written.size() - 1));
  if (written[1] == '9') {
    while (!digits.empty() && digits.back() == '0') digits.pop_back();
    if (digits.empty()) return {};
  }
  return written[0] + digits;
}

constexpr int64_t kDay = 86400;
constexpr int64_t kYearsOfCycle = 400;
constexpr int64_t kDaysOfCycle = 146097;

int64_t floor_mod(int64_t value, int64_t by) { return ((value % by) + by) % by; }

// Nanoseconds since 1970. Any time fits.
using Nanos = __int128;
constexpr Nanos kNanosPerSecond = 1000000000;

Nanos nanos_of(const GoTime& time) { return time.seconds * kNanosPerSecond + time.nanoseconds; }

GoTime at_nanos(Nanos nanos) {
  const Nanos rest = ((nanos % kNanosPerSecond) + kNanosPerSecond) % kNanosPerSecond;
  return {static_cast<int64_t>((nanos - rest) / kNanosPerSecond), static_cast<int32_t>(rest)};
}

io::Duration clamped(Nanos nanos) {
  if (nanos > io::Duration::max().count()) return io::Duration::max();
  if (nanos < io::Duration::min().count()) return io::Duration::min();
  return io::Duration{static_cast<int64_t>(nanos)};
}

// How far the time is past a multiple of the step since the zero time.
Nanos past_multiple(const GoTime& time, io::Duration step) {
  const Nanos since_zero = nanos_of(time) - nanos_of(GoTime{});
  return ((since_zero % step.count()) + step.count()) % step.count();
}

// `scaled` with that many digits after the point, without zeros at the end.
std::string decimal(uint64_t scaled, int digits) {
  uint64_t unit = 1;
  for (int i = 0; i < digits; ++i) unit *= 10;
  std::string out = fmt::format("{}", scaled / unit);
  if (scaled % unit == 0) return out;
  out += fmt::format(".{:0{}}", scaled % unit, digits);
  while (out.back() == '0') out.pop_back();
  return out;
}

}  // namespace

GoTime GoTime::from(io::Wall wall) {
  if (wall == io::Wall::min()) return {};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wall);
  return {seconds.time_since_epoch().count(), static_cast<int32_t>((wall - seconds).count())};
}

Calendar calendar(const GoTime& time) {
  const int64_t of_day = floor_mod(time.seconds, kDay);
  const int64_t day = (time.seconds - of_day) / kDay;
  // The calendar repeats every 400 years, weekdays included; std::chrono knows some thousands of years only.
  const int64_t in_cycle = floor_mod(day, kDaysOfCycle);
  const std::chrono::sys_days days{std::chrono::days(in_cycle)};
  const std::chrono::year_month_day date(days);
  const std::chrono::sys_days new_year = date.year() / std::chrono::January / 1;
  Calendar parts;
  parts.year = static_cast<int>(date.year()) + (day - in_cycle) / kDaysOfCycle * kYearsOfCycle;
  parts.month = static_cast<int>(static_cast<unsigned>(date.month()));
  parts.day = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.weekday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  parts.year_day = static_cast<int>((days - new_year).count()) + 1;
  parts.hour = static_cast<int>(of_day / 3600);
  parts.minute = static_cast<int>(of_day / 60 % 60);
  parts.second = static_cast<int>(of_day % 60);
  return parts;
}

GoTime add(const GoTime& time, io::Duration duration) { return at_nanos(nanos_of(time) + duration.count()); }

io::Duration between(const GoTime& from, const GoTime& to) { return clamped(nanos_of(to) - nanos_of(from)); }

GoTime add_date(const GoTime& time, int64_t years, int64_t months, int64_t days) {
  const Calendar from = calendar(time);
  const int64_t month = from.month - 1 + months;
  const int64_t month_of_year = floor_mod(month, 12);
  const int64_t year = from.year + years + (month - month_of_year) / 12;
  const int64_t year_of_cycle = floor_mod(year, kYearsOfCycle);
  const std::chrono::sys_days first_of_month = std::chrono::year(static_cast<int>(year_of_cycle)) /
                                               std::chrono::month(static_cast<unsigned>(month_of_year) + 1) / 1;
  const int64_t day = first_of_month.time_since_epoch().count() +
                      (year - year_of_cycle) / kYearsOfCycle * kDaysOfCycle + from.day - 1 + days;
  return {day * kDay + floor_mod(time.seconds, kDay), time.nanoseconds};
}

GoTime truncate(const GoTime& time, io::Duration step) {
  if (step.count() <= 0) return time;
  return at_nanos(nanos_of(time) - past_multiple(time, step));
}

GoTime round(const GoTime& time, io::Duration step) {
  if (step.count() <= 0) return time;
  const Nanos over = past_multiple(time, step);
  return at_nanos(nanos_of(time) + (2 * over < step.count() ? -over : step.count() - over));
}

std::string_view month_name(int month) { return kMonths.at(static_cast<size_t>(month - 1)); }
std::string_view weekday_name(int weekday) { return kWeekdays.at(static_cast<size_t>(weekday)); }

std::string to_text(const GoTime& time) { return format(time, "2006-01-02 15:04:05.999999999 -0700 MST"); }

std::string go_source(const GoTime& time) {
  const Calendar date = calendar(time);
  return fmt::format("time.Date({}, time.{}, {}, {}, {}, {}, {}, time.UTC)", date.year, month_name(date.month),
                     date.day, date.hour, date.minute, date.second, time.nanoseconds);
}

std::string to_text(io::Duration duration) {
  const int64_t count = duration.count();
  if (count == 0) return "0s";
  const std::string sign = count < 0 ? "-" : "";
  const uint64_t rest = count < 0 ? ~static_cast<uint64_t>(count) + 1 : static_cast<uint64_t>(count);
  if (rest < 1000) return fmt::format("{}{}ns", sign, rest);
  if (rest < 1000000) return sign + decimal(rest, 3) + "µs";
  if (rest < 1000000000) return sign + decimal(rest, 6) + "ms";
  const uint64_t minutes = rest / 60000000000;
  const std::string seconds = decimal(rest % 60000000000, 9) + "s";
  if (minutes == 0) return sign + seconds;
  if (minutes < 60) return fmt::format("{}{}m{}", sign, minutes, seconds);
  return fmt::format("{}{}h{}m{}", sign, minutes / 60, minutes % 60, seconds);
}

std::string format(const GoTime& time, std::string_view layout) {
  const Calendar parts = calendar(time);
  std::string out;
  while (!layout.empty()) {
    const size_t digits = fraction_digits(layout);
    if (digits > 0) {
      out += fraction(layout.substr(0, digits + 1), time.nanoseconds);
      layout.remove_prefix(digits + 1);
      continue;
    }
    if (const Element* element = element_at(layout)) {
      out += element->print(parts);
      layout.remove_prefix(element->written.size());
      continue;
    }
    out.push_back(layout.front());
    layout.remove_prefix(1);
  }
  return out;
}

}  // namespace careen::templates
