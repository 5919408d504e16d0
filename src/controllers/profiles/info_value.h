// A fact behind a check's answer, of a type that the info document can show.
#pragma once

#include <string>
#include <variant>
#include <vector>

namespace careen::profiles {

using InfoValue = std::variant<std::string, double, bool, std::vector<double>, std::vector<std::string>>;

}  // namespace careen::profiles
