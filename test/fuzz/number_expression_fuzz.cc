// Number expressions out of any text: what is refused is refused with a message and a place in the text, and what
// compiles gives an answer or an error for every number, the same each time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "observe/number_expression.h"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "number expression fuzz: %s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto expression = careen::observe::NumberExpression::compile(text);
  if (!expression) {
    expect(expression.error().offset <= text.size(), "an error lies outside of the text");
    expect(!expression.error().message.empty(), "refused without a message");
    return 0;
  }
  expect(expression->text() == text, "the text is not kept");
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0, -0.0, 1.0, -2.5, 63.0, 1e19, Limits::max(), Limits::infinity(), -Limits::infinity(),
                             Limits::quiet_NaN(), Limits::denorm_min()}) {
    const auto once = expression->evaluate(value);
    const auto again = expression->evaluate(value);
    expect(once == again, "two evaluations differ");
    expect(once || !once.error().empty(), "an error without a message");
  }
  return 0;
}
