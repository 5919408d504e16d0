// Dates on which no window opens: one day or a range, with a year (2026-12-24) or in every year (Dec 24).
#pragma once

#include <chrono>
#include <string_view>
#include <variant>

#include "io/result.h"

namespace careen::windows {

// Both ends belong to it. A last day before the first one lies in the year after: Dec 24..Jan 2.
struct YearlyDays {
  std::chrono::month_day first, last;
};

// Both ends belong to it.
struct DatedDays {
  std::chrono::year_month_day first, last;
};

using Exclusion = std::variant<YearlyDays, DatedDays>;

// Dec 24, 2026-12-24, Dec 24..Jan 2 or 2026-12-24..2027-01-02; months in any case. The error continues the name of
// the key: must be …
io::Result<Exclusion> parse_exclusion(std::string_view text);

bool excludes(const Exclusion& exclusion, std::chrono::year_month_day date);

}  // namespace careen::windows
