// Schedules of notifications as the configuration writes them. When one is due is the matter of src/windows.
#pragma once

#include <vector>

#include "config/plugin_doc.h"
#include "windows/schedule.h"

namespace careen::config {
class ConfigReader;
}

namespace careen::profiles {

using windows::parse_schedule_type;
using windows::Schedule;
using windows::ScheduleType;

// What the schedules say about themselves, in order of ScheduleType; the examples are the text below `schedule`.
const std::vector<config::PluginDoc>& schedule_docs();
const config::PluginDoc& schedule_doc(ScheduleType type);

// The keys of `type` out of the schedule's `config`. Errors go to the reader.
Schedule read_schedule(ScheduleType type, config::ConfigReader& reader);

}  // namespace careen::profiles
