#include "observe/number_expression.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "observe/expression_scanner.h"
#include "observe/expression_value.h"

namespace careen::observe {

namespace {

// Bounds the compiler's recursion; no person nests like that.
constexpr int kDeepest = 200;

// Instructions for a stack of values. Jumps are relative, so that programs can be put together from parts.
struct Step {
  enum class Code {
    constant,       // pushes `value`
    variable,       // pushes the number
    prefix,         // replaces the top
    infix,          // replaces the two on top
    keep_if_known,  // jumps by `count` when the top decides the operator already
    jump_if_blank,  // takes the top and jumps by `count` when it is blank
    jump,           // by `count`
    list,           // replaces the `count` on top
  };
  Code code = Code::constant;
  Infix infix = Infix::add;
  Prefix prefix = Prefix::minus;
  std::size_t count = 0;
  Value value;
};

using Steps = std::vector<Step>;

Step constant(Value value) { return {Step::Code::constant, {}, {}, 0, std::move(value)}; }
Step jump(Step::Code code, std::size_t count) { return {code, {}, {}, count, {}}; }

bool is_constant(const Steps& steps) { return steps.size() == 1 && steps.front().code == Step::Code::constant; }

void append(Steps& to, Steps steps) {
  to.insert(to.end(), std::make_move_iterator(steps.begin()), std::make_move_iterator(steps.end()));
}

Value take_top(std::vector<Value>& stack) {
  Value top = std::move(stack.back());
  stack.pop_back();
  return top;
}

ValueResult run(const Steps& steps, double variable) {
  std::vector<Value> stack;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const Step& step = steps[at];
    switch (step.code) {
      case Step::Code::constant:
        stack.push_back(step.value);
        break;
      case Step::Code::variable:
        stack.emplace_back(variable);
        break;
      case Step::Code::prefix: {
        auto result = compute(step.prefix, stack.back());
        if (!result) return result;
        stack.back() = std::move(*result);
        break;
      }
      case Step::Code::infix: {
        const Value right = take_top(stack);
        auto result = compute(step.infix, stack.back(), right);
        if (!result) return result;
        stack.back() = std::move(*result);
        break;
      }
      case Step::Code::keep_if_known:
        if (decided_by_left(step.infix, stack.back())) at += step.count;
        break;
      case Step::Code::jump_if_blank:
        if (is_blank(take_top(stack))) at += step.count;
        break;
      case Step::Code::jump:
        at += step.count;
        break;
      case Step::Code::list: {
        const auto first = stack.end() - static_cast<std::ptrdiff_t>(step.count);
        ValueList list(std::make_move_iterator(first), std::make_move_iterator(stack.end()));
        stack.erase(first, stack.end());
        stack.emplace_back(std::move(list));
        break;
      }
    }
  }
  return take_top(stack);
}

struct Binding {
  std::string_view spelled;
  Infix infix;
  int strength;
};

constexpr std::array<Binding, 21> kBindings = {{
    {"??", Infix::or_else, 0},  {"||", Infix::either, 20},     {"&&", Infix::both, 21},
    {"==", Infix::equal, 40},   {"!=", Infix::unequal, 40},    {"<", Infix::less, 40},
    {"<=", Infix::at_most, 40}, {">", Infix::greater, 40},     {">=", Infix::at_least, 40},
    {"in", Infix::in, 40},      {"&", Infix::bit_and, 60},     {"|", Infix::bit_or, 60},
    {"^", Infix::bit_xor, 60},  {"<<", Infix::shift_left, 90}, {">>", Infix::shift_right, 90},
    {"+", Infix::add, 120},     {"-", Infix::subtract, 120},   {"*", Infix::multiply, 150},
    {"/", Infix::divide, 150},  {"%", Infix::remainder, 150},  {"**", Infix::power, 200},
}};

const Binding* find_binding(const Word& word) {
  if (word.kind != Word::Kind::name && word.kind != Word::Kind::sign) return nullptr;
  for (const Binding& binding : kBindings) {
    if (binding.spelled == word.spelled) return &binding;
  }
  return nullptr;
}

// Byte of the first character that no text has: not UTF-8, or NUL.
std::optional<std::size_t> find_binary(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto byte = [&](std::size_t i) {
      return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
    };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first == 0 || (first >= 0x80 && first < 0xc2) || first > 0xf4) return at;
    for (std::size_t i = 1; i < length; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return at;
    }
    const unsigned second = byte(1);
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return at;
    if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace

struct NumberExpression::Program {
  Steps steps;
};

class NumberExpression::Compiler {
 public:
  explicit Compiler(std::string_view text) : text_(text), scanner_(text) {}

  Steps compile() {
    if (const auto offset = find_binary(text_)) refuse(*offset, "the expression is not UTF-8 text");
    advance();
    if (next_.kind == Word::Kind::end) refuse(0, "the expression is empty; it should say something like value > 5");
    Steps steps = expression(0);
    if (next_.kind != Word::Kind::end) unexpected_after_operand();
    return steps;
  }

 private:
  struct Waiting {
    Steps left;
    const Binding* binding;
    std::size_t offset;
  };

  // An operand, then operators and operands; what binds tighter on the left is joined before the next operator waits.
  Steps expression(int depth) {
    std::vector<Waiting> waiting;
    for (;;) {
      Steps steps = operand(depth);
      scanner_.lengthen(next_);
      if (next_.is("?")) {
        steps = join(waiting, std::move(steps), 0);
        return ternary(std::move(steps), depth);
      }
      if (next_.is("=~") || next_.is("!~")) refuse(next_.offset, "regular expressions are not supported");
      const Binding* binding = find_binding(next_);
      if (binding == nullptr) return join(waiting, std::move(steps), 0);
      steps = join(waiting, std::move(steps), binding->strength);
      waiting.push_back({std::move(steps), binding, next_.offset});
      advance();
    }
  }

  static Steps join(std::vector<Waiting>& waiting, Steps right, int strength) {
    while (!waiting.empty() && waiting.back().binding->strength >= strength) {
      Waiting left = std::move(waiting.back());
      waiting.pop_back();
      right = joined(std::move(left), std::move(right));
    }
    return right;
  }

  static Steps joined(Waiting left, Steps right) {
    const Infix infix = left.binding->infix;
    const bool known = is_constant(left.left) && is_constant(right);
    Steps steps = std::move(left.left);
    if (infix == Infix::both || infix == Infix::either || infix == Infix::or_else) {
      steps.push_back({Step::Code::keep_if_known, infix, {}, right.size() + 1, {}});
    }
    append(steps, std::move(right));
    steps.push_back({Step::Code::infix, infix, {}, 0, {}});
    if (known) return computed(steps, left.offset);
    return steps;
  }

  static Steps computed(const Steps& steps, std::size_t offset) {
    ValueResult result = run(steps, 0);
    if (!result) refuse(offset, result.error());
    return {constant(std::move(*result))};
  }

  // The third operand may be missing where the text ends.
  Steps ternary(Steps steps, int depth) {
    check_depth(depth);
    advance();
    Steps then = expression(depth + 1);
    Steps otherwise{constant({})};
    if (next_.is(":")) {
      advance();
      otherwise = expression(depth + 1);
    } else if (next_.kind != Word::Kind::end) {
      refuse(next_.offset, fmt::format("\"{}\" stands where the \":\" of \"a ? b : c\" is expected", next_.spelled));
    }
    steps.push_back(jump(Step::Code::jump_if_blank, then.size() + 1));
    append(steps, std::move(then));
    steps.push_back(jump(Step::Code::jump, otherwise.size()));
    append(steps, std::move(otherwise));
    return steps;
  }

  Steps operand(int depth) {
    const Word word = next_;
    switch (word.kind) {
      case Word::Kind::end:
        refuse(word.offset, "the expression ends where a value is expected");
      case Word::Kind::number:
        advance();
        return {constant(word.number)};
      case Word::Kind::text:
        advance();
        return {constant(word.text)};
      case Word::Kind::name:
        return named(word);
      case Word::Kind::sign:
        break;
    }
    check_depth(depth);
    if (word.is("-")) return prefixed(Prefix::minus, depth);
    if (word.is("!")) return prefixed(Prefix::negate, depth);
    if (word.is("~")) return prefixed(Prefix::complement, depth);
    if (word.is("(")) return parenthesised(depth);
    if (word.is("[")) return list(depth);
    if (word.is("{")) refuse(word.offset, "objects are not supported");
    refuse(word.offset, fmt::format("\"{}\" stands where a value is expected", word.spelled));
  }

  Steps named(const Word& word) {
    advance();
    if (word.spelled == "true") return {constant(true)};
    if (word.spelled == "false") return {constant(false)};
    if (next_.is("(")) refuse(word.offset, fmt::format("there is no function \"{}\"", word.spelled));
    if (word.spelled != "value") {
      refuse(word.offset, fmt::format("\"{}\" is not known; the number is called value", word.spelled));
    }
    if (next_.is(".") || next_.is("[")) refuse(next_.offset, "value is a number and has no parts");
    return {Step{Step::Code::variable, {}, {}, 0, {}}};
  }

  Steps prefixed(Prefix prefix, int depth) {
    const std::size_t offset = next_.offset;
    advance();
    Steps steps = operand(depth + 1);
    const bool known = is_constant(steps);
    steps.push_back({Step::Code::prefix, {}, prefix, 0, {}});
    if (known) return computed(steps, offset);
    return steps;
  }

  Steps parenthesised(int depth) {
    const std::size_t opened_at = next_.offset;
    advance();
    Steps steps = expression(depth + 1);
    if (next_.kind == Word::Kind::end) refuse(opened_at, "this parenthesis is not closed");
    if (!next_.is(")")) unexpected_after_operand();
    advance();
    return steps;
  }

  // Commas between the elements may be missing or many.
  Steps list(int depth) {
    const std::size_t opened_at = next_.offset;
    advance();
    Steps steps;
    std::size_t count = 0;
    while (!next_.is("]")) {
      if (next_.kind == Word::Kind::end) refuse(opened_at, "this list is not closed");
      if (next_.is(",")) {
        advance();
        continue;
      }
      append(steps, expression(depth + 1));
      ++count;
    }
    advance();
    steps.push_back(jump(Step::Code::list, count));
    return steps;
  }

  [[noreturn]] void unexpected_after_operand() {
    if (next_.is(")") || next_.is("]")) refuse(next_.offset, fmt::format("\"{}\" closes nothing", next_.spelled));
    if (next_.is("=")) refuse(next_.offset, "\"=\" is no operator; did you mean \"==\"?");
    if (next_.spelled == "and") refuse(next_.offset, "\"and\" is no operator; did you mean \"&&\"?");
    if (next_.spelled == "or") refuse(next_.offset, "\"or\" is no operator; did you mean \"||\"?");
    refuse(next_.offset, fmt::format("an operator is missing before \"{}\"", next_.spelled));
  }

  void check_depth(int depth) const {
    if (depth >= kDeepest) refuse(next_.offset, "the expression is nested too deeply");
  }

  [[noreturn]] static void refuse(std::size_t offset, std::string message) {
    throw ExpressionProblem{offset, std::move(message)};
  }

  void advance() { next_ = scanner_.next(); }

  std::string_view text_;
  ExpressionScanner scanner_;
  Word next_;
};

tl::expected<NumberExpression, NumberExpressionError> NumberExpression::compile(std::string_view text) {
  try {
    Steps steps = Compiler(text).compile();
    return NumberExpression(std::string(text), std::make_shared<Program>(Program{std::move(steps)}));
  } catch (ExpressionProblem& problem) {
    return tl::make_unexpected(NumberExpressionError{problem.offset, std::move(problem.message)});
  }
}

tl::expected<bool, std::string> NumberExpression::evaluate(double value) const {
  const ValueResult result = run(program_->steps, value);
  if (!result) return tl::make_unexpected(result.error());
  return truth_of(*result);
}

}  // namespace careen::observe
