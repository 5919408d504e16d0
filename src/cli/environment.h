// The process's environment variables, as the libraries below the program receive them: by function.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

namespace careen::app {

inline std::optional<std::string> read_environment(std::string_view name) {
  const char* value = std::getenv(std::string(name).c_str());
  if (!value) return std::nullopt;
  return value;
}

}  // namespace careen::app
