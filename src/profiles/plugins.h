// The plugins this version offers. Each lives in a file of its own; this table is the only other place that knows it.
#pragma once

#include "profiles/plugin.h"

namespace careen::profiles {

std::unique_ptr<Check> make_has_annotation(ConfigReader& config);
std::unique_ptr<Check> make_has_label(ConfigReader& config);
std::unique_ptr<Check> make_max_maintenance(ConfigReader& config);
std::unique_ptr<Check> make_wait(ConfigReader& config);
std::unique_ptr<Trigger> make_alter_annotation(ConfigReader& config);
std::unique_ptr<Trigger> make_alter_label(ConfigReader& config);

PluginRegistry all_plugins();

}  // namespace careen::profiles
