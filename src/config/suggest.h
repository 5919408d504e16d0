// "Did you mean …?" for misspelt names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace careen::config {

// The candidate most like `name`, if one is like it enough that a typing error explains the difference.
std::optional<std::string_view> closest(std::string_view name, std::span<const std::string_view> candidates);

// `; did you mean "x"?`, or nothing.
std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace careen::config
