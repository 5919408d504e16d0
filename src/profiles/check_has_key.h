// What hasLabel and hasAnnotation share: a key that must be there, and a value it must have unless that is empty.
#pragma once

#include <fmt/format.h>

#include "profiles/check_context.h"

namespace careen::profiles {

inline CheckResult check_key(std::string_view kind, std::string_view key, std::string_view wanted,
                             std::optional<std::string_view> value, bool explain) {
  CheckResult result;
  result.passed = value && (wanted.empty() || *value == wanted);
  if (!explain) return result;
  if (!value) {
    result.reason = fmt::format("{} {} not present", kind, key);
    result.info.emplace_back("reason", result.reason);
    return result;
  }
  result.reason = fmt::format("{} {} is \"{}\"", kind, key, *value);
  if (!result.passed) result.reason += fmt::format(", not \"{}\"", wanted);
  return result;
}

}  // namespace careen::profiles
