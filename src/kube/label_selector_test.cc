#include "kube/label_selector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace careen::kube {
namespace {

using Labels = std::map<std::string, std::string, std::less<>>;

bool matches(const LabelSelector& selector, const Labels& labels) {
  return selector.matches([&](std::string_view key) -> std::optional<std::string_view> {
    const auto it = labels.find(key);
    if (it == labels.end()) return std::nullopt;
    return it->second;
  });
}

bool text_matches(std::string_view text, const Labels& labels) {
  const auto selector = LabelSelector::parse(text);
  EXPECT_TRUE(selector) << selector.error().message;
  return selector && matches(*selector, labels);
}

std::string parse_error(std::string_view text) {
  const auto selector = LabelSelector::parse(text);
  return selector ? "" : selector.error().message;
}

io::Result<LabelSelector> from(std::string_view json) { return LabelSelector::from_json(Json::parse(json)->view()); }

TEST(LabelSelectorTest, NothingSaidMatchesEverything) {
  EXPECT_TRUE(LabelSelector().empty());
  EXPECT_TRUE(matches(LabelSelector(), {}));
  EXPECT_TRUE(text_matches("", {{"a", "b"}}));
}

TEST(LabelSelectorTest, EveryOperatorMatches) {
  const Labels labels = {{"app", "web"}, {"level", "5"}, {"empty", ""}};
  EXPECT_TRUE(text_matches("app=web", labels));
  EXPECT_TRUE(text_matches("app==web,level=5", labels));
  EXPECT_FALSE(text_matches("app=db", labels));
  EXPECT_FALSE(text_matches("app!=web", labels));
  EXPECT_TRUE(text_matches("other!=web", labels));
  EXPECT_TRUE(text_matches("app in (db, web)", labels));
  EXPECT_FALSE(text_matches("other in (db)", labels));
  EXPECT_FALSE(text_matches("app notin (db,web)", labels));
  EXPECT_TRUE(text_matches("other notin (db)", labels));
  EXPECT_TRUE(text_matches("empty", labels));
  EXPECT_TRUE(text_matches("empty=", labels));
  EXPECT_TRUE(text_matches("!other", labels));
  EXPECT_FALSE(text_matches("!app", labels));
  EXPECT_TRUE(text_matches("level>4,level<6", labels));
  EXPECT_FALSE(text_matches("level>5", labels));
  EXPECT_FALSE(text_matches("app>4", labels));
}

TEST(LabelSelectorTest, WrongTextsAreToldInTheServersWords) {
  EXPECT_EQ(parse_error("a,"), "found '', expected: identifier after ','");
  EXPECT_EQ(parse_error("a in b"), "unable to parse requirement: found 'b' expected: '('");
  EXPECT_THAT(parse_error("a>x"), testing::HasSubstr("the value must be an integer"));
  EXPECT_THAT(parse_error("-a=b"), testing::HasSubstr("<nil>: Invalid value: \"-a\""));
}

TEST(LabelSelectorTest, TheObjectInASpec) {
  EXPECT_FALSE(matches(*LabelSelector::from_json(JsonView()), {}));
  EXPECT_FALSE(LabelSelector::from_json(JsonView())->empty());
  EXPECT_FALSE(matches(*from("null"), {{"a", "b"}}));
  EXPECT_TRUE(from("{}")->empty());
  const auto selector = from(R"({"matchLabels":{"b":"2","a":"1"},"matchExpressions":[
      {"key":"c","operator":"In","values":["y","x"]},{"key":"d","operator":"NotIn","values":["z"]},
      {"key":"e","operator":"Exists"},{"key":"f","operator":"DoesNotExist","values":[]}]})");
  ASSERT_TRUE(selector);
  EXPECT_EQ(selector->text(), "a=1,b=2,c in (x,y),d!=z,e,!f");
  const Labels labels = {{"a", "1"}, {"b", "2"}, {"c", "x"}, {"e", ""}};
  EXPECT_TRUE(matches(*selector, labels));
  EXPECT_FALSE(matches(*selector, {{"a", "1"}}));
}

TEST(LabelSelectorTest, WrongObjectsAreRefused) {
  EXPECT_EQ(from(R"({"matchExpressions":[{"key":"a","operator":"Is"}]})").error().message,
            "\"Is\" is not a valid label selector operator");
  EXPECT_FALSE(from(R"({"matchExpressions":[{"key":"a","operator":"In"}]})"));
  EXPECT_FALSE(from(R"({"matchExpressions":[{"key":"a","operator":"Exists","values":["x"]}]})"));
  EXPECT_FALSE(from("[]"));
}

TEST(LabelSelectorTest, TextsComeBack) {
  for (const std::string text :
       {"a=b", "a!=b", "a in (b,c)", "a notin (b,c)", "a in (,b)", "a=", "a", "!a", "a>1", "a<1", "a=b,!c"}) {
    const auto selector = LabelSelector::parse(text);
    ASSERT_TRUE(selector) << text;
    EXPECT_EQ(selector->text(), text);
    EXPECT_EQ(*LabelSelector::parse(selector->text()), *selector);
  }
}

}  // namespace
}  // namespace careen::kube
