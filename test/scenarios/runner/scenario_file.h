// Reads a scenario from the text of its file. docs/scenarios.md describes the language.
#pragma once

#include <string>
#include <tl/expected.hpp>

#include "scenario.h"

namespace careen::scenarios {

// `file` is for messages, and names of other files are relative to its directory. The error is all that is wrong, a
// line each, with file, line and column.
tl::expected<Scenario, std::string> read_scenario(std::string text, const std::string& file);

}  // namespace careen::scenarios
