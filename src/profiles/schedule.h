// Schedules of notifications as the configuration writes them. When one is due is the matter of src/windows.
#pragma once

#include <vector>

#include "profiles/plugin_doc.h"
#include "windows/schedule.h"

namespace careen::profiles {

class ConfigReader;

using windows::parse_schedule_type;
using windows::Schedule;
using windows::ScheduleType;

// What the schedules say about themselves, in order of ScheduleType; the examples are the text below `schedule`.
const std::vector<PluginDoc>& schedule_docs();
const PluginDoc& schedule_doc(ScheduleType type);

// The keys of `type` out of the schedule's `config`. Errors go to the reader.
Schedule read_schedule(ScheduleType type, ConfigReader& reader);

}  // namespace careen::profiles
