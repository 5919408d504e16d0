#include "windows/time_window.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace careen::windows {

namespace {

using std::chrono::days;
using std::chrono::local_days;

constexpr io::Duration kDay = days{1};
constexpr io::Duration kInstant{1};

// Every pattern of weekdays and yearly dates has come around by then: it repeats after 28 years.
constexpr io::Duration kHorizon = std::chrono::years{30};

// The first and the last days that can be counted are taken for their neighbours: around them, local times overflow.
constexpr io::Wall kFirst = io::Wall::min() + days{4};
constexpr io::Wall kLast = io::Wall::max() - days{4};

local_days local_day_of(std::chrono::local_time<io::Duration> t) { return std::chrono::floor<days>(t); }
std::chrono::weekday local_weekday(local_days day) { return std::chrono::weekday{day}; }

std::string clock_text(io::Duration since_midnight) {
  const auto minutes = std::chrono::floor<io::minutes>(since_midnight).count();
  return fmt::format("{}:{:02}", minutes / 60, minutes % 60);
}

std::string hours_text(const Hours& hours) {
  const bool next_day = hours.end > kDay;
  return fmt::format("{}-{}", clock_text(hours.start), clock_text(next_day ? hours.end - kDay : hours.end));
}

std::string date_text(local_days day) {
  const std::chrono::year_month_day date{day};
  return fmt::format("{} {:04}-{:02}-{:02}", short_name(local_weekday(day).c_encoding()), static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

tl::unexpected<FieldError> refuse(std::string_view key, std::string message) {
  return tl::make_unexpected(FieldError{key, std::move(message)});
}

}  // namespace

tl::expected<Hours, FieldError> parse_hours(std::string_view start_text, std::string_view end_text, Weekdays weekdays,
                                            HoursForm form) {
  const bool listed = form == HoursForm::listed;
  const auto start = parse_time_of_day(start_text);
  if (!start) return refuse("start", fmt::format("must be a time of day such as 9:30, not \"{}\"", start_text));
  auto end = listed && end_text == "24:00" ? kDay : parse_time_of_day(end_text);
  if (!end) {
    return refuse(
        "end", fmt::format("must be a time of day such as 17:30{}, not \"{}\"", listed ? " or 24:00" : "", end_text));
  }
  if (!listed && *end < *start) {
    return refuse("end", fmt::format("must not be before \"start\" ({} to {}); an entry of \"windows\" may run over "
                                     "midnight",
                                     start_text, end_text));
  }
  if (listed && *end == *start) {
    return refuse("end",
                  fmt::format("must not be the same time as \"start\" ({}); a whole day is 0:00 to 24:00", start_text));
  }
  if (*end < *start) *end += kDay;
  return Hours{*start, *end, weekdays};
}

WindowAnswer TimeWindow::evaluate(io::Wall now) const {
  if (known_.from <= now && now < known_.until) return known_.answer;
  const io::Wall horizon = std::min(io::add(now, kHorizon), kLast);
  const WindowAnswer answer = search(std::clamp(now, kFirst, kLast), horizon);
  known_ = {now, answer.changes_at.value_or(std::max(horizon, now)), answer};
  return answer;
}

WindowAnswer TimeWindow::search(io::Wall now, io::Wall horizon) const {
  WindowAnswer answer;
  Zone::Span span = settings_.zone.span(now);
  Local local{now.time_since_epoch() + span.offset};
  answer.open = open_at(local);
  while (true) {
    const io::Wall end = std::min(span.end, horizon);
    const Local limit{end.time_since_epoch() + span.offset};
    const auto change = answer.open ? next_closing(local, limit) : next_opening(local, limit);
    if (change) {
      answer.changes_at = io::Wall{change->time_since_epoch() - span.offset};
      return answer;
    }
    if (end == horizon) return answer;
    // The clocks change, and may jump over or back to the edge of a window.
    span = settings_.zone.span(end);
    local = Local{end.time_since_epoch() + span.offset};
    if (open_at(local) != answer.open) {
      answer.changes_at = end;
      return answer;
    }
  }
}

bool TimeWindow::excluded(local_days day) const {
  const std::chrono::year_month_day date{day};
  return std::any_of(settings_.exclude.begin(), settings_.exclude.end(),
                     [&](const Exclusion& exclusion) { return excludes(exclusion, date); });
}

// visit(start, end) for every opening that begins on that day.
template <class Visit>
void TimeWindow::visit_openings(local_days day, const Visit& visit) const {
  const unsigned weekday = local_weekday(day).c_encoding();
  bool checked = false;
  for (const Hours& hours : settings_.windows) {
    if (!hours.weekdays[weekday] || hours.start >= hours.end) continue;
    if (!checked && excluded(day)) return;
    checked = true;
    visit(Local{day} + hours.start, Local{day} + hours.end);
  }
}

// The same for all that may reach t, which none of an earlier day does.
template <class Visit>
void TimeWindow::visit_near(Local t, const Visit& visit) const {
  const local_days today = local_day_of(t);
  visit_openings(today - days{1}, visit);
  visit_openings(today, visit);
}

// Where one window ends and another starts there is no gap, although both edges are exclusive.
bool TimeWindow::open_at(Local t) const {
  bool inside = false, ends = false, starts = false;
  visit_near(t, [&](Local start, Local end) {
    inside = inside || (start < t && t < end);
    starts = starts || start == t;
    ends = ends || end == t;
  });
  return inside || (starts && ends);
}

// `after` is closed. The next open moment before `limit`.
std::optional<TimeWindow::Local> TimeWindow::next_opening(Local after, Local limit) const {
  for (local_days day = local_day_of(after); day < limit; day += days{1}) {
    std::optional<Local> earliest;
    visit_openings(day, [&](Local start, Local) {
      if (start >= after && (!earliest || start < *earliest)) earliest = start;
    });
    if (!earliest) continue;
    const Local first_open = *earliest + kInstant;
    return first_open < limit ? std::optional{first_open} : std::nullopt;
  }
  return std::nullopt;
}

// `after` is open. The next closed moment before `limit`, through windows that overlap or touch.
std::optional<TimeWindow::Local> TimeWindow::next_closing(Local after, Local limit) const {
  Local reached = after;
  while (reached < limit) {
    Local furthest = reached;
    visit_near(reached, [&](Local start, Local end) {
      if (start <= reached) furthest = std::max(furthest, end);
    });
    if (furthest == reached) return reached;
    reached = furthest;
  }
  return std::nullopt;
}

WindowExplanation TimeWindow::explain(io::Wall now) const {
  const WindowAnswer answer = evaluate(now);
  const io::Wall time = std::clamp(now, kFirst, kLast);
  const std::string now_text = time_text(time);
  const std::string change_text = answer.changes_at ? time_text(*answer.changes_at) : std::string{};
  WindowExplanation out;
  if (answer.open) {
    out.sentence = change_text.empty() ? fmt::format("open at {} and always", now_text)
                                       : fmt::format("open at {} until {}", now_text, change_text);
    return out;
  }
  local_days excluded_day{};
  out.reason = reason_at(Local{time.time_since_epoch() + settings_.zone.span(time).offset}, excluded_day);
  std::string why;
  switch (out.reason) {
    case WindowReason::wrong_weekday:
      out.info = "current day of week forbidden";
      why = "not a day of the window";
      break;
    case WindowReason::excluded_date:
      out.info = "day/month forbidden";
      why = fmt::format("{} is excluded", date_text(excluded_day));
      break;
    case WindowReason::outside_hours:
    case WindowReason::open:
      why = fmt::format("outside of {}", all_hours_text());
      break;
  }
  out.sentence = fmt::format("closed at {}, {}; {}", now_text, why,
                             change_text.empty() ? "never opens" : fmt::format("opens at {}", change_text));
  return out;
}

// Why the moment is closed.
WindowReason TimeWindow::reason_at(Local t, local_days& excluded_day) const {
  const local_days today = local_day_of(t);
  Weekdays listed;
  for (const Hours& hours : settings_.windows) {
    listed |= hours.weekdays;
    // After midnight, the day before may be the one that is excluded.
    for (const local_days day : {today - days{1}, today}) {
      const bool in_hours = Local{day} + hours.start < t && t < Local{day} + hours.end;
      if (!in_hours || !hours.weekdays[local_weekday(day).c_encoding()]) continue;
      excluded_day = day;
      return WindowReason::excluded_date;
    }
  }
  if (!listed[local_weekday(today).c_encoding()]) return WindowReason::wrong_weekday;
  if (!excluded(today)) return WindowReason::outside_hours;
  excluded_day = today;
  return WindowReason::excluded_date;
}

std::string TimeWindow::all_hours_text() const {
  std::vector<std::string> texts;
  for (const Hours& hours : settings_.windows) {
    std::string text = hours_text(hours);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string TimeWindow::time_text(io::Wall t) const {
  const Zone::Span span = settings_.zone.span(t);
  const Local local{t.time_since_epoch() + span.offset};
  const local_days day = local_day_of(local);
  return fmt::format("{} {} {}", date_text(day), clock_text(local - Local{day}), span.abbreviation);
}

}  // namespace careen::windows
