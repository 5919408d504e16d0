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
    // Jan, but not in January's stead in a longer word that goes on in lower case, such as Janet.
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

}  // namespace

GoTime GoTime::from(io::Wall wall) {
  if (wall == io::Wall::min()) return {};
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wall);
  return {seconds.time_since_epoch().count(), static_cast<int32_t>((wall - seconds).count())};
}

Calendar calendar(const GoTime& time) {
  constexpr int64_t kDay = 86400;
  const int64_t of_day = ((time.seconds % kDay) + kDay) % kDay;
  const std::chrono::sys_days days{std::chrono::days((time.seconds - of_day) / kDay)};
  const std::chrono::year_month_day date(days);
  const std::chrono::sys_days new_year = date.year() / std::chrono::January / 1;
  Calendar parts;
  parts.year = static_cast<int>(date.year());
  parts.month = static_cast<int>(static_cast<unsigned>(date.month()));
  parts.day = static_cast<int>(static_cast<unsigned>(date.day()));
  parts.weekday = static_cast<int>(std::chrono::weekday(days).c_encoding());
  parts.year_day = static_cast<int>((days - new_year).count()) + 1;
  parts.hour = static_cast<int>(of_day / 3600);
  parts.minute = static_cast<int>(of_day / 60 % 60);
  parts.second = static_cast<int>(of_day % 60);
  return parts;
}

std::string_view month_name(int month) { return kMonths.at(static_cast<size_t>(month - 1)); }
std::string_view weekday_name(int weekday) { return kWeekdays.at(static_cast<size_t>(weekday)); }

std::string to_text(const GoTime& time) { return format(time, "2006-01-02 15:04:05.999999999 -0700 MST"); }

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
