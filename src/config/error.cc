#include "config/error.h"

#include <fmt/format.h>

namespace careen::config {

std::string ConfigError::to_text() const {
  if (line == 0) return fmt::format("{}: {}", file, message);
  return fmt::format("{}:{}:{}: {}", file, line, column, message);
}

}  // namespace careen::config
