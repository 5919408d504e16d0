// What somebody says who was told no at the desk.
#pragma once

#include <string>
#include <string_view>

namespace careen::limits {

// Of the answer's text: "waits for place 3 in limit workers (…)", "waits for a place: limit workers has a mistake, …".
inline std::string waits_text(std::string_view answer) {
  const bool names_place = answer.starts_with("place ") || answer.starts_with("a place ");
  return std::string(names_place ? "waits for " : "waits for a place: ").append(answer);
}

}  // namespace careen::limits
