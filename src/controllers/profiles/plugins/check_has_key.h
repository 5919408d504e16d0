// What hasLabel and hasAnnotation share: a key that must be there, and a value it must have unless that is empty.
#pragma once

#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"

namespace careen::profiles {

// As configured, and as reasons may show it.
struct WantedKey {
  explicit WantedKey(config::ConfigReader& config)
      : key(config.string("key", config::Required::yes)),
        value(config.string("value", config::Required::no)),
        shown_key(config.shown("key")),
        shown_value(config.shown("value")) {}

  std::string key;
  std::string value;  // empty: any
  std::string shown_key;
  std::string shown_value;
};

inline CheckResult check_key(std::string_view kind, const WantedKey& wanted, std::optional<std::string_view> value,
                             bool explain) {
  CheckResult result;
  result.passed = value && (wanted.value.empty() || *value == wanted.value);
  if (!explain) return result;
  if (!value) {
    result.reason = fmt::format("{} {} not present", kind, wanted.shown_key);
    result.info.emplace_back("reason", result.reason);
    return result;
  }
  const bool is_wanted = *value == wanted.value;
  result.reason = fmt::format("{} {} is \"{}\"", kind, wanted.shown_key, is_wanted ? wanted.shown_value : *value);
  if (!result.passed) result.reason += fmt::format(", not \"{}\"", wanted.shown_value);
  return result;
}

}  // namespace careen::profiles
