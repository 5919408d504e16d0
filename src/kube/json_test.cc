#include "kube/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(JsonTest, ReadsWhatIsThere) {
  const auto json = Json::parse(R"({"a":{"b/c":[1,"two",2.5,true,null,-7]},"n":18446744073709551615})");
  ASSERT_TRUE(json) << json.error().message;
  const JsonView list = (*json)["a"]["b/c"];
  EXPECT_TRUE(list.is_array());
  EXPECT_EQ(list.size(), 6u);
  EXPECT_EQ(list[size_t{0}].integer(), 1);
  EXPECT_EQ(list[1].text(), "two");
  EXPECT_EQ(list[2].number(), 2.5);
  EXPECT_EQ(list[3].boolean(), true);
  EXPECT_TRUE(list[4].is_null());
  EXPECT_EQ(list[5].number(), -7);
  EXPECT_EQ(json->at("/a/b~1c/1").text(), "two");
}

TEST(JsonTest, WhatIsAbsentOrOfAnotherTypeIsNothing) {
  const auto json = *Json::parse(R"({"a":"x","n":1.5,"big":18446744073709551615})");
  EXPECT_FALSE(json["b"]);
  EXPECT_FALSE(json["b"]["c"][3].at("/d"));
  EXPECT_EQ(json["b"].text(), std::nullopt);
  EXPECT_EQ(json["a"].integer(), std::nullopt);
  EXPECT_EQ(json["n"].integer(), std::nullopt);
  EXPECT_EQ(json["big"].integer(), std::nullopt);
  EXPECT_FALSE(json["a"]["c"]);
  EXPECT_FALSE(json.at("not a pointer"));
  EXPECT_EQ(json["a"].size(), 0u);
  EXPECT_EQ(JsonView().dump(), "null");
}

TEST(JsonTest, RefusesWhatIsNotOneDocument) {
  EXPECT_THAT(Json::parse(R"({"a":1} x)").error().message, HasSubstr("at byte 8 of 9"));
  EXPECT_FALSE(Json::parse(""));
  EXPECT_FALSE(Json::parse(R"({"a":)"));
  EXPECT_TRUE(Json::parse(" {} \n"));
  EXPECT_FALSE(Json::parse(std::string(5000, '[') + std::string(5000, ']')));
}

TEST(JsonTest, BuildsAndPrints) {
  Json patch = Json::object(
      {{"metadata", Json::object({{"name", "x"}, {"gone", nullptr}})}, {"list", Json::array({1, "b", true})}});
  patch.set({"metadata", "labels", "example.com/a"}, "b");
  EXPECT_EQ(patch.dump(),
            R"({"metadata":{"name":"x","gone":null,"labels":{"example.com/a":"b"}},"list":[1,"b",true]})");
  patch.remove({"metadata", "gone"}).remove({"metadata", "absent", "deep"});
  EXPECT_EQ(patch["metadata"].dump(), R"({"name":"x","labels":{"example.com/a":"b"}})");
  Json list;
  list.push_back(1).push_back("two");
  EXPECT_EQ(list.dump(), R"([1,"two"])");
  EXPECT_EQ(Json("a\"b\n").dump(), R"("a\"b\n")");
}

TEST(JsonTest, CopiesAreDeepAndMovedFromIsNull) {
  Json a = Json::object({{"x", 1}});
  Json b = a;
  b.set({"x"}, 2);
  EXPECT_EQ(a["x"].integer(), 1);
  const Json c = std::move(b);
  EXPECT_EQ(c["x"].integer(), 2);
  EXPECT_EQ(b.dump(), "null");  // NOLINT: that is the point
  EXPECT_EQ(Json(a["x"]).dump(), "1");
}

TEST(JsonTest, EqualityIgnoresTheOrderOfMembers) {
  EXPECT_EQ(*Json::parse(R"({"a":1,"b":[1]})"), *Json::parse(R"({"b":[1],"a":1})"));
  EXPECT_FALSE(*Json::parse("[1,2]") == *Json::parse("[2,1]"));
}

TEST(JsonTest, VisitsMembersAndElements) {
  const auto json = *Json::parse(R"({"a":1,"b":[true,"x"]})");
  std::vector<std::string> seen;
  json.view().for_each_member(
      [&](std::string_view key, JsonView value) { seen.push_back(std::string(key) + value.dump()); });
  json["b"].for_each_element([&](JsonView value) { seen.push_back(value.dump()); });
  EXPECT_THAT(seen, ElementsAre("a1", "b[true,\"x\"]", "true", "\"x\""));
}

}  // namespace
}  // namespace careen::kube
