// A plan in the forms it is passed on in: the JSON document of the view API, an iCalendar file, and a page with a Gantt
// chart that needs nothing but itself. All are pure functions.
#pragma once

#include <string>

#include "plan/plan.h"

namespace careen::plan {

// As docs/api.md has it.
std::string plan_document(const Plan& plan);

// RFC 5545: an event for each maintenance, the same one (by its UID) in each later plan of the same round.
std::string plan_calendar(const Plan& plan);

// HTML with inline style and SVG, light and dark, no script.
std::string plan_page(const Plan& plan);

// 2026-03-02 10:00, in UTC.
std::string short_time(io::Wall time);
// 3d4h, 2h30m, 45s: the two greatest units.
std::string short_span(io::Duration span);
// The plan's most important sentence: when it ends, or why that is not known.
std::string headline(const Plan& plan);

}  // namespace careen::plan
