#include "controllers/profiles/expression_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const InstanceNames kFoldedNames{{"a", 0}, {"b", 1}, {"c", 2}, {"d", 3}};

CheckExpression folded(std::string_view text) { return *parse_check_expression(text, kFoldedNames); }

// The values of the leaves, in their order: "01" is false, true.
std::vector<size_t> blocking(std::string_view text, std::string_view values) {
  return blocking_leaves(folded(text), [&](size_t place) { return values.at(place) == '1'; });
}

TEST(ExpressionFoldTest, NamesTheLeavesThatKeepItFromBeingTrue) {
  EXPECT_THAT(blocking("a", "1"), IsEmpty());
  EXPECT_THAT(blocking("a", "0"), ElementsAre(0));
  EXPECT_THAT(blocking("!a", "1"), ElementsAre(0));
  EXPECT_THAT(blocking("a && b && c", "101"), ElementsAre(1));
  EXPECT_THAT(blocking("a || b", "00"), ElementsAre(0, 1));
  EXPECT_THAT(blocking("a || b", "01"), IsEmpty());
  EXPECT_THAT(blocking("a && (b || c)", "101"), IsEmpty());
  EXPECT_THAT(blocking("a && (b || c)", "000"), ElementsAre(0, 1, 2));
}

TEST(ExpressionFoldTest, ANegationTurnsWhatIsWanted) {
  EXPECT_THAT(blocking("!(a && b)", "11"), ElementsAre(0, 1)) << "either would do";
  EXPECT_THAT(blocking("!(a || b)", "01"), ElementsAre(1)) << "only this one is in the way";
  EXPECT_THAT(blocking("!(a && !b) && c", "101"), ElementsAre(0, 1));
}

TEST(ExpressionFoldTest, IsWhatItsTextSays) {
  const auto say = [](std::string_view text) {
    return fold(
        folded(text), true, [](size_t place, bool wanted) { return (wanted ? "" : "!") + std::to_string(place); },
        [](const std::string& left, const std::string& right) { return "(" + left + "&" + right + ")"; },
        [](const std::string& left, const std::string& right) { return "(" + left + "|" + right + ")"; });
  };
  EXPECT_EQ(say("!(a && !(b || c)) || d"), "((!0|(1|2))|3)");
  EXPECT_EQ(say("!(a || b && !c)"), "(!0&(!1|2))");
}

// Over all values: nothing is named exactly when it is true, and it is true once all that is named says otherwise.
TEST(ExpressionFoldTest, AgreesWithTheValueOfTheExpression) {
  for (const char* text :
       {"a && b || !c && d", "!(a || b) && (c || !d)", "a && !(b && !(c || d))", "!(!a && !b) || c && d"}) {
    const CheckExpression expression = folded(text);
    for (unsigned bits = 0; bits < 16; ++bits) {
      bool values[4] = {(bits & 8) != 0, (bits & 4) != 0, (bits & 2) != 0, (bits & 1) != 0};
      const auto named = blocking_leaves(expression, [&](size_t place) { return values[place]; });
      EXPECT_EQ(named.empty(), expression.evaluate(values)) << text << " " << bits;
      for (const size_t place : named) values[place] = !values[place];
      EXPECT_TRUE(expression.evaluate(values)) << text << " " << bits;
    }
  }
}

}  // namespace
}  // namespace careen::profiles
