// The hours in which maintenance may begin: windows of time on days of the week, except on excluded dates, by the
// clocks of one time zone. Answers come with the next time at which they change, so that nobody has to ask again
// before.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "windows/exclusion.h"
#include "windows/weekdays.h"
#include "windows/zone.h"

namespace careen::windows {

// Open strictly between start and end on these days.
struct Hours {
  io::Duration start{0};
  io::Duration end{0};  // from midnight of the day it starts on: 22:00 to 6:00 ends at 30 h
  Weekdays weekdays;    // days on which it starts
};

// The keys start and end of the check itself are the original's: there, start after end is a mistake. Entries of the
// list "windows" may run over midnight and may end at 24:00. No other key tells them apart.
enum class HoursForm { single, listed };

// `message` continues the name of the key: must be …
struct FieldError {
  std::string_view key;
  std::string message;
};

tl::expected<Hours, FieldError> parse_hours(std::string_view start, std::string_view end, Weekdays weekdays,
                                            HoursForm form);

struct TimeWindowSettings {
  std::vector<Hours> windows;
  std::vector<Exclusion> exclude;  // no window starts on these days
  Zone zone;
};

struct WindowAnswer {
  bool open = false;
  // The first time after now with another answer. None: not within thirty years.
  std::optional<io::Wall> changes_at;
};

enum class WindowReason { open, wrong_weekday, excluded_date, outside_hours };

struct WindowExplanation {
  WindowReason reason = WindowReason::open;
  // For the info document: the original's text, or empty where it has none.
  std::string_view info;
  std::string sentence;
};

// The local time of day decides: what a clock change skips never happens, and what it repeats happens twice.
class TimeWindow {
 public:
  explicit TimeWindow(TimeWindowSettings settings) : settings_(std::move(settings)) {}

  WindowAnswer evaluate(io::Wall now) const;
  WindowExplanation explain(io::Wall now) const;

 private:
  // As the clocks on the wall show it.
  using Local = std::chrono::local_time<io::Duration>;

  WindowAnswer search(io::Wall now, io::Wall horizon) const;
  bool open_at(Local t) const;
  bool excluded(std::chrono::local_days day) const;
  template <class Visit>
  void visit_openings(std::chrono::local_days day, const Visit& visit) const;
  template <class Visit>
  void visit_near(Local t, const Visit& visit) const;
  std::optional<Local> next_opening(Local after, Local limit) const;
  std::optional<Local> next_closing(Local after, Local limit) const;
  WindowReason reason_at(Local t, std::chrono::local_days& excluded_day) const;
  std::string all_hours_text() const;
  std::string time_text(io::Wall t) const;

  TimeWindowSettings settings_;

  // The last answer and how long it holds; invisible but for the speed.
  struct Known {
    io::Wall from = io::Wall::max(), until = io::Wall::min();
    WindowAnswer answer;
  };
  mutable Known known_;
};

}  // namespace careen::windows
