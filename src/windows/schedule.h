// When a notification is due: periodic, at an hour of some days of the week, or once after a transition.
#pragma once

#include <optional>
#include <string_view>

#include "io/time.h"
#include "windows/weekdays.h"

namespace careen::windows {

enum class ScheduleType { periodic, scheduled, oneshot };

struct Schedule {
  ScheduleType type = ScheduleType::periodic;
  io::Duration interval = io::hours{1};    // periodic
  io::Duration delay = io::minutes{1};     // oneshot
  io::Duration instant = io::Duration{0};  // scheduled: time of day, UTC
  Weekdays weekdays;                       // scheduled
};

// Any case; nullopt when there is no such type.
std::optional<ScheduleType> parse_schedule_type(std::string_view text);

// Wall::min() stands for "never".
struct ScheduleInputs {
  bool current_differs_from_previous = false;
  bool previous_is_operational = true;
  io::Wall now;
  io::Wall last = io::Wall::min();        // when it fired
  io::Wall transition = io::Wall::min();  // when the state was entered
};

struct ScheduleAnswer {
  bool due = false;
  // If it is not due: when it becomes so, if nothing else changes.
  std::optional<io::Wall> next;
};

ScheduleAnswer due(const Schedule& schedule, const ScheduleInputs& inputs);

}  // namespace careen::windows
