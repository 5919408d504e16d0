// Expressions over one number, `value`, as the check prometheusInstant takes them: arithmetic, comparison, logic,
// `a ? b : c`, `in [..]`, bit operators, numbers and strings. Compiled when the configuration is loaded, evaluated as
// often as wanted; the language is that of the Go library gval, so that existing expressions keep their meaning.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace careen::observe {

struct NumberExpressionError {
  std::size_t offset = 0;  // byte in the text
  std::string message;
};

class NumberExpression {
 public:
  // Operators from loose to tight: `?:` and `??`; `||`; `&&`; comparisons and `in`; `& | ^`; `<< >>`; `+ -`; `* / %`;
  // `**`; then the prefixes `! - ~`. All are left-associative. What has no `value` in it is computed here, so that its
  // errors show here too.
  static tl::expected<NumberExpression, NumberExpressionError> compile(std::string_view text);

  // True for true and for numbers other than zero (NaN is one); the error says what cannot be computed. `a ? b`
  // without a third operand is false where a is.
  tl::expected<bool, std::string> evaluate(double value) const;

  const std::string& text() const { return text_; }

 private:
  struct Program;
  class Compiler;
  NumberExpression(std::string text, std::shared_ptr<const Program> program)
      : text_(std::move(text)), program_(std::move(program)) {}

  std::string text_;
  std::shared_ptr<const Program> program_;
};

}  // namespace careen::observe
