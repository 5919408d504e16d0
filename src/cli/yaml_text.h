// A JSON document as YAML, for `-o yaml`.
#pragma once

#include <string>

#include "kube/json.h"

namespace careen::app {

// Ends with a line break. Texts that a reader would take for something else are quoted.
std::string yaml_text(kube::JsonView document);

}  // namespace careen::app
