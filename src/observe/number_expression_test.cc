#include "observe/number_expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace careen::observe {
namespace {

using ::testing::HasSubstr;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

tl::expected<bool, std::string> evaluated(std::string_view text, double value) {
  const auto expression = NumberExpression::compile(text);
  EXPECT_TRUE(expression.has_value()) << text << ": " << (expression ? "" : expression.error().message);
  return expression ? expression->evaluate(value) : tl::make_unexpected("refused");
}

NumberExpressionError refusal(std::string_view text) {
  const auto expression = NumberExpression::compile(text);
  EXPECT_FALSE(expression.has_value()) << text;
  return expression ? NumberExpressionError{} : expression.error();
}

TEST(NumberExpression, ComparesTheValue) {
  EXPECT_EQ(evaluated("value > 5", 6), true);
  EXPECT_EQ(evaluated("value > 5", 5), false);
  EXPECT_EQ(evaluated("value >= 5 && value < 7 || value == -1", -1), true);
  EXPECT_EQ(evaluated("!(value in [1, 2])", 2), false);
}

TEST(NumberExpression, BindsAsTheLibraryDoes) {
  EXPECT_EQ(evaluated("1 + 2 * 3 == 7", 0), true);
  EXPECT_EQ(evaluated("2 ** 3 ** 2 == 64", 0), true);
  EXPECT_EQ(evaluated("-value ** 2 == 4", 2), true);
  EXPECT_EQ(evaluated("value & 1 == 1", 3), true);  // the comparison binds looser, unlike in C
}

TEST(NumberExpression, ANumberIsTrueUnlessZero) {
  EXPECT_EQ(evaluated("value", 0), false);
  EXPECT_EQ(evaluated("value", -0.0), false);
  EXPECT_EQ(evaluated("value", 0.1), true);
  EXPECT_EQ(evaluated("value", kNaN), true);
}

TEST(NumberExpression, NotANumberComparesWithNothing) {
  EXPECT_EQ(evaluated("value > 5", kNaN), false);
  EXPECT_EQ(evaluated("value <= 5", kNaN), false);
  EXPECT_EQ(evaluated("value == value", kNaN), false);
  EXPECT_EQ(evaluated("value / 0 > 1", 1), true);
}

TEST(NumberExpression, Ternary) {
  EXPECT_EQ(evaluated("value > 5 ? value < 10 : value == 0", 7), true);
  EXPECT_EQ(evaluated("value > 5 ? value < 10 : value == 0", 0), true);
  EXPECT_EQ(evaluated("value > 5 ? 1", 0), false);
}

TEST(NumberExpression, ResultsThatAreNoTruthAreErrors) {
  EXPECT_THAT(evaluated("value > 5 ? \"yes\" : \"no\"", 7).error(), HasSubstr("the result is a string"));
  EXPECT_THAT(evaluated("[value]", 7).error(), HasSubstr("the result is a list"));
  EXPECT_THAT(evaluated("value - \"a\"", 7).error(), HasSubstr("\"-\" cannot combine a number with a string"));
}

TEST(NumberExpression, WhatIsNotReachedCannotFail) {
  EXPECT_EQ(evaluated("value > 5 || value - \"a\"", 7), true);
  EXPECT_FALSE(evaluated("value > 5 || value - \"a\"", 3).has_value());
}

TEST(NumberExpression, BitsOnlyOfIntegers) {
  EXPECT_EQ(evaluated("(value & 6) == 4", 12.9), true);
  EXPECT_THAT(evaluated("value & 1", kNaN).error(), HasSubstr("works on 64-bit integers, and NaN is none"));
  EXPECT_THAT(evaluated("1 << value", -1).error(), HasSubstr("cannot shift by -1"));
  EXPECT_EQ(evaluated("1 << value", 64), false);
}

TEST(NumberExpression, ErrorsNameTheirPlace) {
  const std::vector<std::tuple<std::string, std::size_t, std::string>> cases = {
      {"", 0, "empty"},
      {"  // nothing", 0, "empty"},
      {"value >", 7, "ends where a value is expected"},
      {"value = 5", 6, "did you mean \"==\"?"},
      {"value > 5 and value < 7", 10, "did you mean \"&&\"?"},
      {"vlaue > 5", 0, "\"vlaue\" is not known; the number is called value"},
      {"(value > 5", 0, "this parenthesis is not closed"},
      {"value > 5)", 9, "\")\" closes nothing"},
      {"value in [1", 9, "this list is not closed"},
      {"value > \"a", 8, "this string is not closed"},
      {"value > 1e400", 8, "\"1e400\" is no number"},
      {"value ≥ 5", 6, "an operator is missing before \"≥\""},
      {"value > 5 ? 1 ; 2", 14, "stands where the \":\""},
      {"value > 5 && \"a\" - 1", 17, "\"-\" cannot combine a string with a number"},
      {"value =~ \"1\"", 6, "regular expressions are not supported"},
      {"value == 'ab'", 9, "single quotes hold one character"},
      {"value == \"\\q\"", 10, "no escape sequence"},
      {std::string("value\0", 6), 5, "not UTF-8"},
      {"value \xff", 6, "not UTF-8"},
      {std::string(300, '(') + "value", 200, "nested too deeply"},
  };
  for (const auto& [text, offset, message] : cases) {
    const NumberExpressionError error = refusal(text);
    EXPECT_EQ(error.offset, offset) << text;
    EXPECT_THAT(error.message, HasSubstr(message)) << text;
  }
}

TEST(NumberExpression, LongExpressionsNeedNoDeepStack) {
  std::string text = "value";
  for (int i = 0; i < 100'000; ++i) text += "+value";
  EXPECT_EQ(evaluated(text + " == 100001", 1), true);
}

TEST(NumberExpression, KeepsItsText) { EXPECT_EQ(NumberExpression::compile("value>5")->text(), "value>5"); }

}  // namespace
}  // namespace careen::observe
