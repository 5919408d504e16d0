// Chains as the configuration writes them: check expressions (`a && !(b || c)`) and trigger or notification chains
// (`a && b`). Parsing resolves names to indexes; evaluating needs no names any more.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace careen::profiles {

// Name of an instance to its index in the vector of its kind.
using InstanceNames = std::map<std::string, int, std::less<>>;

struct ExpressionError {
  enum class Kind { syntax, unknown_name };
  std::size_t offset = 0;  // byte in the text
  Kind kind = Kind::syntax;
  std::string message;  // may quote the text
  std::string name;     // unknown_name: the name
};

struct CheckExpression {
  enum class Op { leaf, negate, both, either };
  struct Node {
    Op op = Op::leaf;
    int left = 0;   // leaf: position in `leaves`; otherwise index of the operand's node
    int right = 0;  // both, either: index of the second operand's node
  };

  std::string text;         // as configured
  std::vector<Node> nodes;  // operands before operators; the last one is the root
  std::vector<int> leaves;  // check instances in order of occurrence, with repetitions

  // leaf_values[i] is the outcome of leaves[i]; the sizes must agree.
  bool evaluate(std::span<const bool> leaf_values) const;
};

// Operators `!`, `&&`, `||` (from tight to loose, left-associative) and parentheses over instance names; a name is a
// run of characters that are neither blanks nor operators. All unknown names are reported, then the first syntax
// error.
tl::expected<CheckExpression, std::vector<ExpressionError>> parse_check_expression(std::string_view text,
                                                                                   const InstanceNames& checks);

// Names separated by `&&`, in order of execution. The empty text is the empty chain. `kind` names the instances in
// messages: trigger, notification.
tl::expected<std::vector<int>, std::vector<ExpressionError>> parse_chain(std::string_view text,
                                                                         const InstanceNames& instances,
                                                                         std::string_view kind);

// The expression in canonical spelling, with no more parentheses than it needs; names[i] is the name of instance i.
std::string to_text(const CheckExpression& expression, std::span<const std::string> names);

}  // namespace careen::profiles
