#include "controllers/profiles/expression.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include "io/ascii.h"

namespace careen::profiles {

namespace {

using Op = CheckExpression::Op;
using ErrorKind = ExpressionError::Kind;

// Bounds the parser's recursion; no person nests like that.
constexpr int kDeepestExpression = 200;

constexpr std::string_view kBlanks = " \t\r\n";

ExpressionError unknown(std::size_t offset, std::string_view kind, std::string_view name) {
  return {offset, ErrorKind::unknown_name, fmt::format("{} \"{}\" is not defined", kind, name), std::string{name}};
}

enum class Token { end, name, both, either, negate, open, close, stray };

struct Lexeme {
  Token token = Token::end;
  std::size_t offset = 0;
  std::string_view text;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Lexeme next() {
    while (at_ < text_.size() && io::is_blank(text_[at_])) ++at_;
    // What is missing at the end is missing behind the last word, not behind the blanks that follow it.
    if (at_ == text_.size()) return {Token::end, text_.find_last_not_of(kBlanks) + 1, {}};
    switch (text_[at_]) {
      case '(':
        return take(Token::open, 1);
      case ')':
        return take(Token::close, 1);
      case '!':
        return take(Token::negate, 1);
      case '&':
        return text_.substr(at_, 2) == "&&" ? take(Token::both, 2) : take(Token::stray, 1);
      case '|':
        return text_.substr(at_, 2) == "||" ? take(Token::either, 2) : take(Token::stray, 1);
      default:
        return take(Token::name, name_length());
    }
  }

 private:
  Lexeme take(Token token, std::size_t length) {
    const Lexeme lexeme{token, at_, text_.substr(at_, length)};
    at_ += length;
    return lexeme;
  }

  std::size_t name_length() const {
    const std::size_t end = text_.find_first_of(" \t\r\n()!&|", at_);
    return (end == std::string_view::npos ? text_.size() : end) - at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Recursive descent, one function for each level of binding. After the first syntax error every function returns at
// once; names go on being looked up until then.
class Parser {
 public:
  Parser(std::string_view text, const InstanceNames& checks) : text_(text), lexer_(text), checks_(checks) {
    next_ = lexer_.next();
  }

  tl::expected<CheckExpression, std::vector<ExpressionError>> parse() {
    if (next_.token == Token::end) {
      syntax_error(0, "the check expression is empty");
    } else {
      either(0);
      if (!failed_ && next_.token != Token::end) unexpected_after_operand();
      // The names behind a syntax error are worth a look too.
      for (; next_.token != Token::end; next_ = lexer_.next()) {
        if (next_.token == Token::name) lookup(next_);
      }
    }
    if (!errors_.empty()) return tl::make_unexpected(std::move(errors_));
    result_.text = text_;
    return std::move(result_);
  }

 private:
  int either(int depth) {
    int left = both(depth);
    while (!failed_ && next_.token == Token::either) {
      advance();
      const int right = both(depth);
      left = add(Op::either, left, right);
    }
    return left;
  }

  int both(int depth) {
    int left = operand(depth);
    while (!failed_ && next_.token == Token::both) {
      advance();
      const int right = operand(depth);
      left = add(Op::both, left, right);
    }
    return left;
  }

  int operand(int depth) {
    std::size_t negations = 0;
    for (; next_.token == Token::negate; advance()) ++negations;
    int inner = primary(depth);
    for (; !failed_ && negations > 0; --negations) inner = add(Op::negate, inner, 0);
    return inner;
  }

  int primary(int depth) {
    switch (next_.token) {
      case Token::name: {
        const int instance = lookup(next_);
        advance();
        result_.leaves.push_back(instance);
        return add(Op::leaf, static_cast<int>(result_.leaves.size()) - 1, 0);
      }
      case Token::open:
        return parenthesised(depth);
      case Token::end:
        return syntax_error(next_.offset, "the check expression ends where a name is expected");
      case Token::stray:
        return stray();
      default:
        return syntax_error(next_.offset, fmt::format("\"{}\" stands where a name is expected", next_.text));
    }
  }

  int parenthesised(int depth) {
    const std::size_t opened_at = next_.offset;
    if (depth >= kDeepestExpression) return syntax_error(opened_at, "the check expression is nested too deeply");
    advance();
    if (next_.token == Token::close) return syntax_error(opened_at, "the parentheses are empty");
    const int inner = either(depth + 1);
    if (failed_) return 0;
    if (next_.token == Token::end) return syntax_error(opened_at, "this parenthesis is not closed");
    if (next_.token != Token::close) return unexpected_after_operand();
    advance();
    return inner;
  }

  int unexpected_after_operand() {
    switch (next_.token) {
      case Token::close:
        return syntax_error(next_.offset, "this parenthesis was not opened");
      case Token::stray:
        return stray();
      default:
        return syntax_error(next_.offset, fmt::format("an operator, && or ||, is missing before \"{}\"", next_.text));
    }
  }

  int stray() {
    return syntax_error(next_.offset, fmt::format("\"{0}\" is no operator; did you mean \"{0}{0}\"?", next_.text));
  }

  int syntax_error(std::size_t offset, std::string message) {
    failed_ = true;
    errors_.push_back({offset, ErrorKind::syntax, std::move(message), {}});
    return 0;
  }

  int lookup(const Lexeme& name) {
    const auto found = checks_.find(name.text);
    if (found != checks_.end()) return found->second;
    errors_.push_back(unknown(name.offset, "check", name.text));
    return 0;
  }

  int add(Op op, int left, int right) {
    if (failed_) return 0;
    result_.nodes.push_back({op, left, right});
    return static_cast<int>(result_.nodes.size()) - 1;
  }

  void advance() { next_ = lexer_.next(); }

  std::string_view text_;
  Lexer lexer_;
  const InstanceNames& checks_;
  Lexeme next_;
  CheckExpression result_;
  std::vector<ExpressionError> errors_;
  bool failed_ = false;
};

[[noreturn]] void broken(const char* what) {
  std::fprintf(stderr, "careen: bug in a check expression: %s\n", what);
  std::abort();
}

int binding(Op op) {
  switch (op) {
    case Op::either:
      return 0;
    case Op::both:
      return 1;
    default:
      return 2;
  }
}

}  // namespace

bool CheckExpression::evaluate(std::span<const bool> leaf_values) const {
  if (nodes.empty()) broken("evaluated before it was parsed");
  if (leaf_values.size() != leaves.size()) broken("one value for each check is needed");
  // Nearly all expressions are short: no allocation for them.
  std::array<bool, 64> few{};
  std::unique_ptr<bool[]> many;
  bool* values = few.data();
  if (nodes.size() > few.size()) {
    many = std::make_unique<bool[]>(nodes.size());
    values = many.get();
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = nodes[i];
    switch (node.op) {
      case Op::leaf:
        values[i] = leaf_values[static_cast<std::size_t>(node.left)];
        break;
      case Op::negate:
        values[i] = !values[node.left];
        break;
      case Op::both:
        values[i] = values[node.left] && values[node.right];
        break;
      case Op::either:
        values[i] = values[node.left] || values[node.right];
        break;
    }
  }
  return values[nodes.size() - 1];
}

tl::expected<CheckExpression, std::vector<ExpressionError>> parse_check_expression(std::string_view text,
                                                                                   const InstanceNames& checks) {
  return Parser(text, checks).parse();
}

tl::expected<std::vector<int>, std::vector<ExpressionError>> parse_chain(std::string_view text,
                                                                         const InstanceNames& instances,
                                                                         std::string_view kind) {
  std::vector<int> chain;
  std::vector<ExpressionError> errors;
  if (text.empty()) return chain;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find("&&", at), text.size());
    const std::string_view piece = text.substr(at, end - at);
    const std::size_t first = std::min(piece.find_first_not_of(kBlanks), piece.size());
    const std::size_t last = piece.find_last_not_of(kBlanks);
    const std::string_view name =
        last == std::string_view::npos ? std::string_view{} : piece.substr(first, last - first + 1);
    if (const auto found = instances.find(name); found != instances.end()) {
      chain.push_back(found->second);
    } else if (name.empty()) {
      errors.push_back({at, ErrorKind::syntax, fmt::format("the name of a {} is missing here", kind), {}});
    } else {
      errors.push_back(unknown(at + first, kind, name));
    }
    at = end + 2;
  }
  if (!errors.empty()) return tl::make_unexpected(std::move(errors));
  return chain;
}

std::string to_text(const CheckExpression& expression, std::span<const std::string> names) {
  // Each operand is consumed by exactly one operator, so its text can be moved into it.
  std::vector<std::string> texts(expression.nodes.size());
  for (std::size_t i = 0; i < expression.nodes.size(); ++i) {
    const auto& node = expression.nodes[i];
    const auto take = [&](int operand, int at_least) {
      std::string text = std::move(texts[static_cast<std::size_t>(operand)]);
      const Op op = expression.nodes[static_cast<std::size_t>(operand)].op;
      if (binding(op) < at_least) text = "(" + std::move(text) + ")";
      return text;
    };
    const int mine = binding(node.op);
    switch (node.op) {
      case Op::leaf: {
        const int instance = expression.leaves.at(static_cast<std::size_t>(node.left));
        texts[i] = names[static_cast<std::size_t>(instance)];
        break;
      }
      case Op::negate:
        texts[i] = "!" + take(node.left, mine);
        break;
      case Op::both:
      case Op::either:
        texts[i] = take(node.left, mine);
        texts[i] += node.op == Op::both ? " && " : " || ";
        // Left-associative: the same operator on the right keeps its parentheses.
        texts[i] += take(node.right, mine + 1);
        break;
    }
  }
  return texts.empty() ? std::string{} : std::move(texts.back());
}

}  // namespace careen::profiles
