// What a number expression computes with: nothing, a truth, a number, a string or a list, and the operators on them.
// Operands of unlike types are converted first (numbers in strings to numbers, then both to truths, then both to
// text), by the rules of the expression library that existing configurations were written for.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

namespace careen::observe {

struct Value;
using ValueList = std::vector<Value>;
struct Value : std::variant<std::monostate, bool, double, std::string, ValueList> {
  using variant::variant;
};

enum class Infix {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  power,
  less,
  at_most,
  greater,
  at_least,
  equal,
  unequal,
  both,
  either,
  or_else,
  in,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
};

enum class Prefix { minus, negate, complement };

// The error says what the operator cannot do.
using ValueResult = tl::expected<Value, std::string>;

ValueResult compute(Infix infix, const Value& left, const Value& right);
ValueResult compute(Prefix prefix, const Value& operand);

// The operator's result is its left operand, whatever the right one is.
bool decided_by_left(Infix infix, const Value& left);

// Nothing, false, zero and the empty string: what the ternary operator and `??` take for "no".
bool is_blank(const Value& value);

// What the whole expression means: a truth, or a number that is not zero. Nothing is false.
tl::expected<bool, std::string> truth_of(const Value& value);

std::string_view spelling(Infix infix);

}  // namespace careen::observe
