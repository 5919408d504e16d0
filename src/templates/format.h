// Values as text the way Go's fmt package prints them: Sprint, Sprintln and Sprintf.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "templates/value.h"

namespace careen::templates {

// No text that a template makes is longer; what would be longer is cut, and the caller refuses it by its length.
inline constexpr size_t kLongestText = size_t{1} << 20U;

// Blanks only between two values neither of which is text.
std::string sprint(std::span<const Value> values);
// Blanks between all, and a new line.
std::string sprintln(std::span<const Value> values);
std::string sprintf(std::string_view format, std::span<const Value> values);

}  // namespace careen::templates
