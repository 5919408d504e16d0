// The JSON Schema of the configuration file, made of what the plugins, the schedules and the file say about themselves.
// Editors complete and check with it while one types; `careen validate` knows more, such as names that do not exist.
#pragma once

#include <string>

#include "controllers/profiles/plugin.h"
#include "kube/json.h"

namespace careen::profiles {

// Draft 7, which the editors' YAML extensions understand best.
kube::Json config_schema(const PluginRegistry& registry);
// The same as text with indentation and a final line break, as it is shipped.
std::string config_schema_text(const PluginRegistry& registry);

}  // namespace careen::profiles
