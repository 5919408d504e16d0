#include "config/interpolate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace careen::config {
namespace {

using testing::HasSubstr;
using testing::Not;

tl::expected<std::optional<std::string>, std::string> lookup(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> kVariables{
      {"A", "alpha"}, {"EMPTY", ""}, {"WHICH", "A"}, {"TRICKY", "${A} $$ }"}, {"SECRET", "hunter2"}};
  if (name == "BROKEN") return tl::make_unexpected(std::string{"is broken"});
  const auto found = kVariables.find(name);
  if (found == kVariables.end()) return std::nullopt;
  return found->second;
}

std::string resolved(std::string_view text) {
  const auto parsed = Interpolation::parse(text);
  if (!parsed) return "syntax " + std::to_string(parsed.error().offset) + ": " + parsed.error().message;
  const auto result = parsed->resolve(lookup);
  if (!result) return "error " + std::to_string(result.error().offset) + ": " + result.error().message;
  return *result;
}

TEST(InterpolationTest, ResolvesEveryForm) {
  EXPECT_EQ(resolved("plain"), "plain");
  EXPECT_EQ(resolved("${A}"), "alpha");
  EXPECT_EQ(resolved("<${A}|${A}>"), "<alpha|alpha>");
  EXPECT_EQ(resolved("${A:other}"), "alpha");
  EXPECT_EQ(resolved("${NONE:other}"), "other");
  EXPECT_EQ(resolved("${EMPTY:other}"), "other");
  EXPECT_EQ(resolved("${NONE:}"), "");
  EXPECT_EQ(resolved("${NONE:http://x:80/}"), "http://x:80/");
  EXPECT_EQ(resolved("${A:+yes}"), "yes");
  EXPECT_EQ(resolved("${NONE:+yes}"), "");
  EXPECT_EQ(resolved("${EMPTY:+yes}"), "");
  EXPECT_EQ(resolved("${A:?must be set}"), "alpha");
  EXPECT_EQ(resolved("${${WHICH}}"), "alpha");
  EXPECT_EQ(resolved("${NONE:[${NONE2:${A}}]}"), "[alpha]");
}

TEST(InterpolationTest, LeavesOtherDollarsAlone) {
  EXPECT_EQ(resolved("$x costs 5$"), "$x costs 5$");
  EXPECT_EQ(resolved("$$ $} }"), "$ } }");
  EXPECT_EQ(resolved("$${A}"), "${A}");
  EXPECT_EQ(resolved("{{$}}"), "{{}}");
  EXPECT_EQ(resolved("${NONE:a$}b}"), "a}b");
}

// What a variable says is text: neither references nor escapes in it count.
TEST(InterpolationTest, DoesNotResolveValuesAgain) { EXPECT_EQ(resolved("${TRICKY}"), "${A} $$ }"); }

TEST(InterpolationTest, NamesTheVariableThatIsNotSet) {
  EXPECT_EQ(resolved("x ${NONE}"), "error 2: the variable \"NONE\" is not set, or empty");
  EXPECT_EQ(resolved("${EMPTY}"), "error 0: the variable \"EMPTY\" is not set, or empty");
  EXPECT_EQ(resolved("${NONE:?ask the admin}"), "error 0: the variable \"NONE\" is not set, or empty: ask the admin");
  EXPECT_EQ(resolved("${BROKEN}"), "error 0: the variable \"BROKEN\" is broken");
}

TEST(InterpolationTest, MessagesNeverShowValues) {
  for (const char* text : {"${X_${SECRET}}", "${NONE:?${SECRET}}", "${SECRET}${NONE}"}) {
    EXPECT_THAT(resolved(text), HasSubstr("error"));
    EXPECT_THAT(resolved(text), Not(HasSubstr("hunter2")));
  }
  EXPECT_THAT(resolved("${X_${SECRET}}"), HasSubstr("X_${SECRET}"));
}

TEST(InterpolationTest, FindsBraceErrorsWithoutResolving) {
  EXPECT_THAT(resolved("a ${A"), HasSubstr("syntax 2: this \"${\" has no closing brace"));
  EXPECT_THAT(resolved("${A:x"), HasSubstr("no closing brace"));
  EXPECT_THAT(resolved("${A:"), HasSubstr("no closing brace"));
  EXPECT_THAT(resolved("${"), HasSubstr("no closing brace"));
  EXPECT_THAT(resolved("${A:${B}"), HasSubstr("syntax 0"));
  EXPECT_THAT(resolved("${A$}"), HasSubstr("no closing brace"));
  EXPECT_THAT(resolved("${}"), HasSubstr("names no variable"));
  EXPECT_THAT(resolved("${:x}"), HasSubstr("names no variable"));
}

TEST(InterpolationTest, BoundsNestingAndLength) {
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "${X:";
  EXPECT_THAT(resolved(deep), HasSubstr("nested too deeply"));

  const auto twice = Interpolation::parse("${X}${X}");
  ASSERT_TRUE(twice);
  const auto result = twice->resolve([](std::string_view) { return std::string(700'000, 'x'); });
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, HasSubstr("too long"));
}

TEST(InterpolationTest, KnowsATextThatIsOneReference) {
  EXPECT_EQ(Interpolation::parse("${A}")->single_name(), "A");
  for (const char* text : {"${A} ", "${A:x}", "${${A}}", "A", "${A}${B}", ""}) {
    EXPECT_EQ(Interpolation::parse(text)->single_name(), std::nullopt) << text;
  }
  EXPECT_TRUE(Interpolation::parse("x${A}")->has_references());
  EXPECT_FALSE(Interpolation::parse("$$x")->has_references());
}

}  // namespace
}  // namespace careen::config
