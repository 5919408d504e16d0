// What identifies a drain.
#pragma once

#include <compare>
#include <string>

namespace careen::drain {

// Who drains which node: two owners may drain the same one, with different options.
struct Key {
  std::string node;
  std::string owner;
  friend auto operator<=>(const Key&, const Key&) = default;
};

}  // namespace careen::drain
