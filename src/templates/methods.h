// The methods of the Go types that templates can call: of times, durations, quantities, resource lists, taints.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "templates/value.h"

namespace careen::templates {

struct Method {
  std::string_view name;
  const Type* result;
  // The value is not a pointer, unless the method can be called on nothing. The arguments are as many as it wants and
  // of its types. Throws FunctionFailure.
  Value (*call)(const Value& receiver, std::span<const Value> arguments);
  std::array<const Type*, 3> wants{};
  // Go has it for the pointer, and it has an answer for nil.
  bool of_nothing = false;

  // How many arguments it wants.
  size_t count() const;
};

const Method* find_method(const Type& type, std::string_view name);
// Fields, promoted fields and methods, for suggestions.
std::vector<std::string_view> names_of(const Type& type);

}  // namespace careen::templates
