#include "windows/schedule.h"

#include <algorithm>
#include <string>

#include "windows/calendar.h"

namespace careen::windows {

namespace {

constexpr io::Wall kNeverHappened = io::Wall::min();

ScheduleAnswer due_from(io::Wall t, io::Wall now) {
  if (t <= now) return {true, std::nullopt};
  return {false, t};
}

// A change of state is told at once; nothing is repeated while all is well.
ScheduleAnswer periodic_due(const Schedule& schedule, const ScheduleInputs& inputs) {
  if (inputs.current_differs_from_previous) return {true, std::nullopt};
  if (inputs.previous_is_operational) return {};
  return due_from(io::add(inputs.last, schedule.interval), inputs.now);
}

// Once a calendar day, from the instant on.
ScheduleAnswer scheduled_due(const Schedule& schedule, const ScheduleInputs& inputs) {
  const std::chrono::sys_days today = day_of(inputs.now), told = day_of(inputs.last);
  // One of the days may be the one of the last message, if that lies in the future: two weeks hold every weekday twice.
  for (int ahead = 0; ahead <= 14; ++ahead) {
    const std::chrono::sys_days day = today + std::chrono::days{ahead};
    const bool told_then = day == told && inputs.last != kNeverHappened;
    if (schedule.weekdays[weekday_of(day)] && !told_then) return due_from(at(day, schedule.instant), inputs.now);
  }
  return {};
}

ScheduleAnswer oneshot_due(const Schedule& schedule, const ScheduleInputs& inputs) {
  if (inputs.transition == kNeverHappened || inputs.last > inputs.transition) return {};
  return due_from(io::add(inputs.transition, schedule.delay), inputs.now);
}

}  // namespace

std::optional<ScheduleType> parse_schedule_type(std::string_view text) {
  std::string type{text};
  std::transform(type.begin(), type.end(), type.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (type == "periodic") return ScheduleType::periodic;
  if (type == "scheduled") return ScheduleType::scheduled;
  if (type == "oneshot") return ScheduleType::oneshot;
  return std::nullopt;
}

ScheduleAnswer due(const Schedule& schedule, const ScheduleInputs& inputs) {
  switch (schedule.type) {
    case ScheduleType::periodic:
      return periodic_due(schedule, inputs);
    case ScheduleType::scheduled:
      return scheduled_due(schedule, inputs);
    case ScheduleType::oneshot:
      return oneshot_due(schedule, inputs);
  }
  return {};
}

}  // namespace careen::windows
