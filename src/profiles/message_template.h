// A message template as a configuration key holds it: compiled when the file is loaded, with its mistakes reported at
// their place in the file.
#pragma once

#include <optional>
#include <string_view>

#include "profiles/config_reader.h"
#include "templates/template.h"

namespace careen::profiles {

// Nothing after an error, which was recorded.
std::optional<templates::Template> read_template(ConfigReader& config, std::string_view key);

}  // namespace careen::profiles
