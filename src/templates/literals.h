// Constants as Go writes them: numbers of all bases, characters, quoted and raw strings.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "templates/syntax.h"

namespace careen::templates {

// Nothing, where the text is not a number or does not fit one.
std::optional<Number> parse_number(std::string_view text);
// 'x' with its quotes.
std::optional<Number> parse_character(std::string_view text);
// "…" or `…` with its quotes.
std::optional<std::string> unquote(std::string_view text);

}  // namespace careen::templates
