#include "windows/exclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "io/ascii.h"

namespace careen::windows {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"jan", "feb", "mar", "apr", "may", "jun",
                                                   "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::string_view kForms = "Dec 24, 2026-12-24, Dec 24..Jan 2 or 2026-12-24..2027-01-02";

using std::chrono::month_day;
using std::chrono::year_month_day;
using Date = std::variant<month_day, year_month_day>;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<unsigned> short_number(std::string_view digits) {
  unsigned value = 0;
  if (digits.empty() || digits.size() > 4) return std::nullopt;
  for (char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

std::optional<unsigned> month_number(std::string_view name) {
  const auto same = [&](std::string_view month) {
    return std::equal(name.begin(), name.end(), month.begin(), month.end(),
                      [](char written, char wanted) { return io::lower(written) == wanted; });
  };
  const auto found = std::find_if(kMonths.begin(), kMonths.end(), same);
  if (found == kMonths.end()) return std::nullopt;
  return static_cast<unsigned>(found - kMonths.begin()) + 1;
}

// Dec 24, with any number of blanks and a day of one or two digits.
std::optional<month_day> parse_yearly(std::string_view text) {
  if (text.size() < 5 || text[3] != ' ') return std::nullopt;
  const auto month = month_number(text.substr(0, 3));
  const std::size_t digits = text.find_first_not_of(' ', 3);
  if (!month || digits == std::string_view::npos || text.size() - digits > 2) return std::nullopt;
  const auto day = short_number(text.substr(digits));
  if (!day) return std::nullopt;
  return std::chrono::month{*month} / std::chrono::day{*day};
}

std::optional<year_month_day> parse_dated(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = short_number(text.substr(0, 4)), month = short_number(text.substr(5, 2)),
             day = short_number(text.substr(8));
  if (!year || !month || !day) return std::nullopt;
  return std::chrono::year{static_cast<int>(*year)} / std::chrono::month{*month} / std::chrono::day{*day};
}

io::Result<Date> parse_date(std::string_view text) {
  Date date;
  bool exists = false;
  if (const auto yearly = parse_yearly(text)) {
    date = *yearly;
    exists = yearly->ok();
  } else if (const auto dated = parse_dated(text)) {
    date = *dated;
    exists = dated->ok();
  } else {
    return io::refuse(fmt::format("must be dates such as {}, not \"{}\"", kForms, text));
  }
  if (!exists) return io::refuse(fmt::format("must be dates that exist, not \"{}\"", text));
  return date;
}

io::Result<Exclusion> between(const Date& first, const Date& last, std::string_view text) {
  if (first.index() != last.index()) {
    return io::refuse(fmt::format("must have a year on both sides of \"{}\" or on none", text));
  }
  if (const auto* yearly = std::get_if<month_day>(&first)) return YearlyDays{*yearly, std::get<month_day>(last)};
  const DatedDays days{std::get<year_month_day>(first), std::get<year_month_day>(last)};
  if (days.last < days.first) return io::refuse(fmt::format("must not end before it begins, as \"{}\" does", text));
  return days;
}

struct Excludes {
  year_month_day date;
  bool operator()(const DatedDays& days) const { return days.first <= date && date <= days.last; }
  bool operator()(const YearlyDays& days) const {
    const month_day day{date.month(), date.day()};
    if (days.first <= days.last) return days.first <= day && day <= days.last;
    return days.first <= day || day <= days.last;
  }
};

}  // namespace

io::Result<Exclusion> parse_exclusion(std::string_view text) {
  const std::size_t dots = text.find("..");
  const bool range = dots != std::string_view::npos;
  const auto first = parse_date(range ? trimmed(text.substr(0, dots)) : text);
  if (!first) return tl::make_unexpected(first.error());
  if (!range) return between(*first, *first, text);
  const auto last = parse_date(trimmed(text.substr(dots + 2)));
  if (!last) return tl::make_unexpected(last.error());
  return between(*first, *last, text);
}

bool excludes(const Exclusion& exclusion, year_month_day date) { return std::visit(Excludes{date}, exclusion); }

}  // namespace careen::windows
