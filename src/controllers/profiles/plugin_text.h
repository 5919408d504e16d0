// What `careen plugins` shows: the plugins and schedules as a table, one of them in full, or all of them as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/plugin.h"
#include "kube/json.h"

namespace careen::profiles {

enum class Colour { no, yes };

// Kind, type and summary, one line each.
std::string plugin_table(const PluginRegistry& registry, Colour colour);
// Summary, keys and example of the plugin or schedule of that type; nullopt: there is none.
std::optional<std::string> plugin_page(const PluginRegistry& registry, std::string_view type, Colour colour);
// `; did you mean "x"?`, or nothing.
std::string suggest_plugin(const PluginRegistry& registry, std::string_view type);

// A list of all, or of those with that type.
kube::Json plugins_json(const PluginRegistry& registry, std::string_view type = {});

}  // namespace careen::profiles
