// Numbers in text as Go's standard library reads and prints them: expressions and Prometheus' answers are written
// for it, and a number read otherwise would be a decision made otherwise.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace careen::observe {

// Decimal and hexadecimal floating-point literals with an optional sign, `_` between digits, and inf, infinity and
// nan in any case. nullopt when the text is not one, or one too large for a double; one that is too small is zero.
std::optional<double> parse_go_float(std::string_view text);

// The shortest text that reads back as the same number: 0.5, 1e+06, NaN, +Inf.
std::string format_go_float(double number);

}  // namespace careen::observe
