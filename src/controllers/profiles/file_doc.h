// What the configuration file consists of, apart from the keys of the plugins and schedules: they describe themselves.
#pragma once

#include "config/plugin_doc.h"

namespace careen::profiles {

// The keys of the top level with all that lies below them. `config` of instances and schedules is left open.
const std::vector<config::KeyDoc>& file_keys();

}  // namespace careen::profiles
