// A message template as a configuration key holds it: compiled when the file is loaded, with its mistakes reported at
// their place in the file.
#pragma once

#include <optional>
#include <string_view>

#include "config/reader.h"
#include "templates/template.h"

namespace careen::profiles {

// Nothing after an error, which was recorded.
std::optional<templates::Template> read_template(config::ConfigReader& config, std::string_view key);

}  // namespace careen::profiles
