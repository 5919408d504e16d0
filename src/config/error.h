// Where and what is wrong in a configuration file, for people.
#pragma once

#include <compare>
#include <string>

namespace careen::config {

// Counted from 1; line 0 stands for the file as a whole.
struct Position {
  int line = 0;
  int column = 0;
  auto operator<=>(const Position&) const = default;
};

struct ConfigError {
  std::string file;
  int line = 0;
  int column = 0;
  std::string message;

  // maintenance.yaml:14:12: check "can_drian" is not defined; did you mean "can_drain"?
  std::string to_text() const;
};

}  // namespace careen::config
