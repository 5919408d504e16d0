#include "controllers/profiles/names.h"

#include <algorithm>

namespace careen::profiles {

std::vector<std::string> profiles_of(std::optional<std::string_view> label) {
  if (!label || label->empty()) return {std::string(kDefaultProfile)};
  std::vector<std::string> names;
  std::string_view rest = *label;
  for (;;) {
    const size_t end = rest.find("--");
    std::string name(rest.substr(0, end));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (end == std::string_view::npos) return names;
    rest.remove_prefix(end + 2);
  }
}

bool names_profile(std::string_view label, std::string_view profile) {
  for (;;) {
    const size_t end = label.find("--");
    if (label.substr(0, end) == profile) return true;
    if (end == std::string_view::npos) return false;
    label.remove_prefix(end + 2);
  }
}

}  // namespace careen::profiles
