// The small words of the scenario language: names in ranges ("node-1..3"), globs, values in turn ("a|b|c"), amounts
// ("at most 3"), counts of nodes ("more than 1 in-maintenance per zone") and spans of time ("2d3h").
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::scenarios {

// "node-1..3 db" gives node-1, node-2, node-3, db. Zeros in front are kept: 08..10 gives 08, 09, 10.
std::vector<std::string> expand(std::string_view words);
// `*` stands for any text, `?` for one character.
bool matches(std::string_view pattern, std::string_view text);
// The choice for the index-th: of "a|b|c" a, b, c, a, …
std::string in_turn(std::string_view choices, size_t index);

struct Amount {
  enum class Kind { exactly, at_least, at_most, other_than };
  Kind kind = Kind::exactly;
  double value = 0;

  bool admits(double number) const;
  // Admits whole numbers that this one does not.
  Amount opposite() const;
};
// 3, "exactly 3", "at least 3", "at most 3", "more than 3", "fewer than 3".
std::optional<Amount> parse_amount(std::string_view text);

// How many nodes are in a state: "<amount> <state> [per <label>] [among <names>]".
struct Count {
  Amount amount;
  std::string state;  // one of the three, "cordoned", or the key of a label, with a slash: those that have it
  std::string per;    // label; the count is of the nodes with equal values, those without it aside
  std::vector<std::string> among;
};
std::optional<Count> parse_count(std::string_view text);

// Go's grammar with days in front: 1d12h, 90s, 0s.
std::optional<io::Duration> parse_span(std::string_view text);
// The same, to the millisecond: 1d2h0.1s.
std::string format_span(io::Duration span);

}  // namespace careen::scenarios
