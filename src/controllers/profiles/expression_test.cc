#include "controllers/profiles/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace careen::profiles {
namespace {

using testing::ElementsAre;

const InstanceNames kInstanceNames{{"a", 0}, {"b", 1}, {"c", 2}, {"reboot-ok", 3}, {"größe", 4}, {"2nd", 5}};
const std::vector<std::string> kTexts{"a", "b", "c", "reboot-ok", "größe", "2nd"};

CheckExpression parsed_check(std::string_view text) {
  auto expression = parse_check_expression(text, kInstanceNames);
  EXPECT_TRUE(expression.has_value()) << text << ": " << expression.error().at(0).message;
  return expression.value_or(CheckExpression{});
}

// The outcome for all eight values of a, b and c, from (0,0,0) to (1,1,1) with c changing fastest.
std::string table(std::string_view text) {
  const CheckExpression expression = parsed_check(text);
  std::string out;
  for (unsigned bits = 0; bits < 8; ++bits) {
    const bool instances[] = {(bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
    const auto values = std::make_unique<bool[]>(expression.leaves.size());
    for (std::size_t i = 0; i < expression.leaves.size(); ++i) {
      values[i] = instances[expression.leaves[i]];
    }
    out += expression.evaluate({values.get(), expression.leaves.size()}) ? '1' : '0';
  }
  return out;
}

std::string canonical(std::string_view text) { return to_text(parsed_check(text), kTexts); }

struct Fault {
  std::size_t offset;
  std::string message;
  bool operator==(const Fault&) const = default;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.offset << ": " << fault.message; }

std::vector<Fault> faults(std::string_view text) {
  const auto expression = parse_check_expression(text, kInstanceNames);
  std::vector<Fault> out;
  if (!expression) {
    for (const auto& error : expression.error()) out.push_back({error.offset, error.message});
  }
  return out;
}

TEST(ExpressionTest, EvaluatesOperatorsByTheirBinding) {
  EXPECT_EQ(table("a"), "00001111");
  EXPECT_EQ(table("!a"), "11110000");
  EXPECT_EQ(table("!!a"), "00001111");
  EXPECT_EQ(table("a && b"), "00000011");
  EXPECT_EQ(table("a || b"), "00111111");
  EXPECT_EQ(table("a || b && c"), "00011111");
  EXPECT_EQ(table("(a || b) && c"), "00010101");
  EXPECT_EQ(table("a && !(b || c)"), "00001000");
  EXPECT_EQ(table("!a && b"), "00110000");
  EXPECT_EQ(table("!(a && b)"), "11111100");
  EXPECT_EQ(table("a && b || !a && c"), "01010011");
}

TEST(ExpressionTest, ListsEveryOccurrenceOfACheck) {
  EXPECT_THAT(parsed_check("a && a").leaves, ElementsAre(0, 0));
  EXPECT_THAT(parsed_check("c || !(a && b) || a").leaves, ElementsAre(2, 0, 1, 0));
  EXPECT_EQ(parsed_check(" a &&  b ").text, " a &&  b ");
}

TEST(ExpressionTest, BlanksAreOptionalAndOfAnyKind) {
  EXPECT_EQ(table("a&&b"), "00000011");
  EXPECT_EQ(table("a\n&&\tb\n"), "00000011");
  EXPECT_EQ(table("\r\n( a||b )&&c"), "00010101");
}

TEST(ExpressionTest, NamesAreWhateverIsNoOperator) {
  EXPECT_THAT(parsed_check("reboot-ok && größe&&2nd").leaves, ElementsAre(3, 4, 5));
}

TEST(ExpressionTest, PrintsWithTheParenthesesItNeeds) {
  EXPECT_EQ(canonical("((a))&&(b)"), "a && b");
  EXPECT_EQ(canonical("a||b&&c"), "a || b && c");
  EXPECT_EQ(canonical("(a||b)&&c"), "(a || b) && c");
  EXPECT_EQ(canonical("!(a)&&!(a||b)"), "!a && !(a || b)");
  EXPECT_EQ(canonical("!!a"), "!!a");
  EXPECT_EQ(canonical("a && (b && c)"), "a && (b && c)");
  EXPECT_EQ(canonical("(a && b) && c"), "a && b && c");
}

TEST(ExpressionTest, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(faults(""), ElementsAre(Fault{0, "the check expression is empty"}));
  EXPECT_THAT(faults("  \n"), ElementsAre(Fault{0, "the check expression is empty"}));
  EXPECT_THAT(faults("a b"), ElementsAre(Fault{2, "an operator, && or ||, is missing before \"b\""}));
  EXPECT_THAT(faults("a !b"), ElementsAre(Fault{2, "an operator, && or ||, is missing before \"!\""}));
  EXPECT_THAT(faults("a (b)"), ElementsAre(Fault{2, "an operator, && or ||, is missing before \"(\""}));
  EXPECT_THAT(faults("a && "), ElementsAre(Fault{4, "the check expression ends where a name is expected"}));
  EXPECT_THAT(faults("&& a"), ElementsAre(Fault{0, "\"&&\" stands where a name is expected"}));
  EXPECT_THAT(faults("a && || b"), ElementsAre(Fault{5, "\"||\" stands where a name is expected"}));
  EXPECT_THAT(faults("a && ()"), ElementsAre(Fault{5, "the parentheses are empty"}));
  EXPECT_THAT(faults("a && (b || c"), ElementsAre(Fault{5, "this parenthesis is not closed"}));
  EXPECT_THAT(faults("a) && b"), ElementsAre(Fault{1, "this parenthesis was not opened"}));
  EXPECT_THAT(faults("(a b)"), ElementsAre(Fault{3, "an operator, && or ||, is missing before \"b\""}));
  EXPECT_THAT(faults("a & b"), ElementsAre(Fault{2, "\"&\" is no operator; did you mean \"&&\"?"}));
  EXPECT_THAT(faults("a||b|c"), ElementsAre(Fault{4, "\"|\" is no operator; did you mean \"||\"?"}));
  EXPECT_THAT(faults("!"), ElementsAre(Fault{1, "the check expression ends where a name is expected"}));
}

TEST(ExpressionTest, ReportsAllUnknownNamesAlsoBehindASyntaxError) {
  EXPECT_THAT(faults("x && a && y"),
              ElementsAre(Fault{0, "check \"x\" is not defined"}, Fault{10, "check \"y\" is not defined"}));
  EXPECT_THAT(faults("a x y"),
              ElementsAre(Fault{2, "an operator, && or ||, is missing before \"x\""},
                          Fault{2, "check \"x\" is not defined"}, Fault{4, "check \"y\" is not defined"}));
}

TEST(ExpressionTest, BoundsNesting) {
  const std::string deep = std::string(100, '(') + "a" + std::string(100, ')');
  EXPECT_EQ(canonical(deep), "a");
  const std::string too_deep = std::string(100'000, '(') + "a" + std::string(100'000, ')');
  EXPECT_THAT(faults(too_deep), ElementsAre(Fault{200, "the check expression is nested too deeply"}));
}

// Long is not deep: neither parsing nor evaluating recurses along a chain.
TEST(ExpressionTest, TakesLongExpressions) {
  std::string text = "a";
  for (int i = 0; i < 50'000; ++i) text += "||!!a";
  const CheckExpression expression = parsed_check(text);
  ASSERT_EQ(expression.leaves.size(), 50'001U);
  const auto values = std::make_unique<bool[]>(expression.leaves.size());
  EXPECT_FALSE(expression.evaluate({values.get(), expression.leaves.size()}));
  values[40'000] = true;
  EXPECT_TRUE(expression.evaluate({values.get(), expression.leaves.size()}));
  EXPECT_EQ(to_text(expression, kTexts).substr(0, 17), "a || !!a || !!a |");
}

TEST(ExpressionDeathTest, EvaluatingWithTheWrongNumberOfValuesIsABug) {
  const CheckExpression expression = parsed_check("a && b");
  const bool one[] = {true};
  EXPECT_DEATH(expression.evaluate(one), "one value for each check");
  EXPECT_DEATH(CheckExpression{}.evaluate({}), "before it was parsed");
}

TEST(ChainTest, KeepsOrderAndRepetitions) {
  EXPECT_THAT(*parse_chain("b && a&&b", kInstanceNames, "trigger"), ElementsAre(1, 0, 1));
  EXPECT_THAT(*parse_chain(" a ", kInstanceNames, "trigger"), ElementsAre(0));
  EXPECT_THAT(*parse_chain("\ta &&\n b\n", kInstanceNames, "trigger"), ElementsAre(0, 1));
  EXPECT_THAT(*parse_chain("", kInstanceNames, "trigger"), ElementsAre());
}

TEST(ChainTest, NamesMayContainAnythingButTheSeparator) {
  const InstanceNames names{{"tell (all) | !x", 0}, {"", 1}};
  EXPECT_THAT(*parse_chain("tell (all) | !x && tell (all) | !x", names, "trigger"), ElementsAre(0, 0));
  // An instance without a name can be reached by blanks.
  EXPECT_THAT(*parse_chain("  ", names, "trigger"), ElementsAre(1));
}

TEST(ChainTest, ReportsEveryBadPiece) {
  const auto chain = parse_chain("a && x && && y", kInstanceNames, "trigger");
  ASSERT_FALSE(chain);
  ASSERT_EQ(chain.error().size(), 3U);
  EXPECT_EQ(chain.error()[0].offset, 5U);
  EXPECT_EQ(chain.error()[0].message, "trigger \"x\" is not defined");
  EXPECT_EQ(chain.error()[0].name, "x");
  EXPECT_EQ(chain.error()[1].offset, 9U);
  EXPECT_EQ(chain.error()[1].message, "the name of a trigger is missing here");
  EXPECT_EQ(chain.error()[2].offset, 13U);
  EXPECT_FALSE(parse_chain(" ", kInstanceNames, "notification"));
  EXPECT_FALSE(parse_chain("a &&", kInstanceNames, "notification"));
}

}  // namespace
}  // namespace careen::profiles
