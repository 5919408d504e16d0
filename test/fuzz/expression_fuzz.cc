// Check expressions and chains out of any text: parsing never fails but with an error whose place lies in the text,
// and what parses is the same expression after it was printed and parsed again.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "controllers/profiles/expression.h"

namespace {

using careen::profiles::CheckExpression;
using careen::profiles::ExpressionError;
using careen::profiles::InstanceNames;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "expression fuzz: %s\n", what);
  std::abort();
}

void expect_places(const std::vector<ExpressionError>& errors, std::string_view text) {
  expect(!errors.empty(), "refused without an error");
  for (const ExpressionError& error : errors) {
    expect(error.offset <= text.size(), "an error lies outside of the text");
    expect(!error.message.empty(), "an error without a message");
  }
}

bool evaluated(const CheckExpression& expression, std::uint64_t seed) {
  const auto values = std::make_unique<bool[]>(expression.leaves.size());
  for (std::size_t i = 0; i < expression.leaves.size(); ++i) {
    values[i] = ((seed >> (static_cast<std::size_t>(expression.leaves[i]) % 64)) & 1) != 0;
  }
  return expression.evaluate({values.get(), expression.leaves.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const std::vector<std::string> kTexts{"a", "b", "c", "reboot-ok", "größe"};
  static const InstanceNames kNames = [] {
    InstanceNames names;
    for (const std::string& name : kTexts) names.emplace(name, static_cast<int>(names.size()));
    return names;
  }();
  const auto expression = careen::profiles::parse_check_expression(text, kNames);
  if (!expression) {
    expect_places(expression.error(), text);
  } else {
    const std::string printed = to_text(*expression, kTexts);
    const auto again = careen::profiles::parse_check_expression(printed, kNames);
    expect(again.has_value(), "the printed expression does not parse");
    expect(again->leaves == expression->leaves, "printing changed the checks");
    expect(to_text(*again, kTexts) == printed, "printing is not stable");
    for (std::uint64_t seed = 0; seed < 32; ++seed) {
      expect(evaluated(*expression, seed) == evaluated(*again, seed), "printing changed the meaning");
    }
  }

  const auto chain = careen::profiles::parse_chain(text, kNames, "trigger");
  if (!chain) {
    expect_places(chain.error(), text);
  } else {
    const bool in_range = std::all_of(chain->begin(), chain->end(), [](int i) { return i >= 0 && i < 5; });
    expect(in_range, "a chain names an instance that does not exist");
  }
  return 0;
}
