#include "controllers/profiles/schedule.h"

#include <string>

#include "config/reader.h"

namespace careen::profiles {

const std::vector<config::PluginDoc>& schedule_docs() {
  static const std::vector<config::PluginDoc> kDocs{
      {"periodic",
       "Due when the state changed, and again after each interval while the node is not operational",
       {{.name = "interval",
         .type = config::KeyType::duration,
         .text = "Time between two notifications of one node",
         .otherwise = "1h"}},
       R"(type: periodic
config:
  interval: 24h
)"},
      {"scheduled",
       "Due once a day at a time of day, on some days of the week",
       {{.name = "instant", .type = config::KeyType::time_of_day, .text = "When, in UTC", .required = true},
        {.name = "weekdays",
         .type = config::KeyType::texts,
         .text = "Names of days, in full or their first three letters",
         .required = true}},
       R"(type: scheduled
config:
  instant: "9:30"
  weekdays: [monday, wed, fri]
)"},
      {"oneshot",
       "Due once for each change of state, after a delay",
       {{.name = "delay",
         .type = config::KeyType::duration,
         .text = "Time from the change of state to the notification",
         .otherwise = "1m"}},
       R"(type: oneshot
config:
  delay: 10m
)"},
  };
  return kDocs;
}

const config::PluginDoc& schedule_doc(ScheduleType type) { return schedule_docs()[static_cast<std::size_t>(type)]; }

Schedule read_schedule(ScheduleType type, config::ConfigReader& reader) {
  Schedule schedule;
  schedule.type = type;
  switch (type) {
    case ScheduleType::periodic:
      schedule.interval = reader.duration("interval", config::Required::no, schedule.interval);
      break;
    case ScheduleType::oneshot:
      schedule.delay = reader.duration("delay", config::Required::no, schedule.delay);
      break;
    case ScheduleType::scheduled: {
      const std::string instant = reader.string("instant", config::Required::yes);
      const auto time = windows::parse_time_of_day(instant);
      if (!time && !instant.empty()) reader.error("instant", "must be a time of day such as 9:30");
      schedule.instant = time.value_or(schedule.instant);
      const std::vector<std::string> names = reader.strings("weekdays", config::Required::yes);
      if (names.empty()) break;
      const auto weekdays = windows::parse_weekdays(names);
      if (!weekdays) reader.error("weekdays", weekdays.error().message);
      schedule.weekdays = weekdays.value_or(schedule.weekdays);
      break;
    }
  }
  return schedule;
}

}  // namespace careen::profiles
