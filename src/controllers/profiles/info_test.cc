#include "controllers/profiles/info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "kube/decode.h"
#include "kube/json.h"
#include "kube/json_writer.h"

namespace careen::profiles {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::Pair;

const io::Wall kNow = *io::parse_rfc3339("2026-03-01T10:00:00.123456789Z");
const std::vector<ProfileOutcome> kNoProfiles;

CheckOutcome check_of(std::string type, std::string instance = "c") {
  CheckOutcome check;
  check.instance = std::move(instance);
  check.type = std::move(type);
  return check;
}

std::vector<ProfileOutcome> blocked_flatcar() {
  TransitionOutcome transition;
  transition.target = State::in_maintenance;
  transition.expression = "approved && !blocked";
  transition.checks = {check_of("hasLabel", "blocked"), check_of("hasAnnotation", "approved")};
  transition.checks[1].info = {{"reason", std::string("annotation ok not present")}};
  ProfileOutcome profile;
  profile.name = "flatcar";
  profile.state = profile.next = "maintenance-required";
  profile.transitions = {std::move(transition)};
  return {std::move(profile)};
}

// The whole document in one piece, in the order of the names.
std::string info_document(std::vector<NodeInfo> nodes) {
  std::vector<const NodeInfo*> sorted;
  sorted.reserve(nodes.size());
  for (const NodeInfo& node : nodes) sorted.push_back(&node);
  std::sort(sorted.begin(), sorted.end(), [](const NodeInfo* a, const NodeInfo* b) { return a->name < b->name; });
  std::string out;
  {
    kube::Members elements(out, '[', ']');
    for (const NodeInfo* node : sorted) append_node_info(elements.next(), *node);
  }
  return out;
}

Json parsed_info(const std::string& text) {
  auto json = Json::parse(text);
  EXPECT_TRUE(json) << json.error().message << "\n" << text;
  return json ? std::move(*json) : Json();
}

// Of one node with one profile, one transition and this check.
Json document_with(CheckOutcome check) {
  std::vector<ProfileOutcome> profiles = blocked_flatcar();
  profiles[0].transitions[0].checks = {std::move(check)};
  return parsed_info(info_document({{"n1", profiles, {}, kNow}}));
}

constexpr const char* kCheck = "/0/profiles/0/applied/transitions/0/chain/info/c";

TEST(InfoTest, HasTheShapeThatReadersKnow) {
  const auto profiles = blocked_flatcar();
  EXPECT_EQ(info_document({{"n1", profiles, {{"kubernetes.io/os", "linux"}}, kNow}}),
            R"([{"node":"n1","profiles":[{"name":"flatcar","state":"maintenance-required",)"
            R"("applied":{"next":"maintenance-required","error":"",)"
            R"("transitions":[{"passed":false,"target":"in-maintenance","error":"",)"
            R"("chain":{"passed":false,"expression":"approved && !blocked","info":{)"
            R"("approved":{"id":"hasAnnotation","passed":false,"info":{"reason":"annotation ok not present"}},)"
            R"("blocked":{"id":"hasLabel","passed":false,"info":{}}}}}]}}],)"
            R"("labels":{"kubernetes.io/os":"linux"},"updated":"2026-03-01T10:00:00.123456789Z","pending":[]}])");
}

TEST(InfoTest, WithoutNodesItIsAnEmptyArray) { EXPECT_EQ(info_document({}), "[]"); }

TEST(InfoTest, NodesAreSorted) {
  const Json document = parsed_info(info_document({{"b", kNoProfiles, {}, kNow}, {"a", kNoProfiles, {}, kNow}}));
  EXPECT_EQ(document.at("/0/node").text(), "a");
  EXPECT_EQ(document.at("/1/node").text(), "b");
}

TEST(InfoTest, ValuesOfEveryType) {
  const double inf = std::numeric_limits<double>::infinity();
  CheckOutcome asked = check_of("prometheusInstant");
  asked.passed = true;
  asked.info = {{"numbers", std::vector<double>{1.5, std::nan(""), inf, -inf, 3}},
                {"texts", std::vector<std::string>{"a", "b\""}},
                {"value", 0.1},
                {"odd", std::nan("")},
                {"yes", true}};
  const Json document = document_with(asked);
  const auto check = document.at(kCheck);
  EXPECT_EQ(check["passed"].boolean(), true);
  EXPECT_EQ(check["info"].dump(), R"({"numbers":[1.5E0,"NaN","+Inf","-Inf",3],"odd":"NaN","texts":["a","b\""],)"
                                  R"("value":1E-1,"yes":true})");
  EXPECT_FALSE(check["reason"].exists());
}

TEST(InfoTest, NumbersAreShort) {
  std::vector<ProfileOutcome> profiles = blocked_flatcar();
  profiles[0].transitions[0].checks[0].info = {{"v", std::vector<double>{0.1, 100, -2, 1e300}}};
  EXPECT_THAT(info_document({{"n", profiles, {}, kNow}}), testing::HasSubstr(R"("v":[0.1,100,-2,1e+300])"));
}

TEST(InfoTest, ErrorsAreEscapedAndShownInTheInfo) {
  const std::string nasty = "cannot read \"x\":\n\x01 \xFF";
  std::vector<ProfileOutcome> profiles = blocked_flatcar();
  profiles[0].error = nasty;
  profiles[0].transitions[0].error = nasty;
  CheckOutcome failed = check_of("stagger");
  failed.error = nasty;
  failed.reason = "why";
  profiles[0].transitions[0].checks = {failed};
  const Json document = parsed_info(info_document({{"n1", profiles, {}, kNow}}));
  const std::string shown = "cannot read \"x\":\n\x01 \xEF\xBF\xBD";
  EXPECT_EQ(document.at("/0/profiles/0/applied/error").text(), shown);
  EXPECT_EQ(document.at("/0/profiles/0/applied/transitions/0/error").text(), shown);
  EXPECT_EQ(document.at(kCheck)["info"]["error"].text(), shown);
  EXPECT_EQ(document.at(kCheck)["reason"].text(), "why");
}

TEST(InfoTest, AnErrorThatTheCheckReportsItselfIsShownOnce) {
  CheckOutcome failed = check_of("stagger");
  failed.error = "long";
  failed.info = {{"error", std::string("short")}};
  const Json document = document_with(failed);
  EXPECT_EQ(document.at(kCheck)["info"].dump(), R"({"error":"short"})");
}

TEST(InfoTest, OfAnInstanceThatIsAskedTwiceTheLastAnswerIsShown) {
  std::vector<ProfileOutcome> profiles = blocked_flatcar();
  profiles[0].transitions[0].checks = {check_of("wait"), check_of("wait")};
  profiles[0].transitions[0].checks[1].passed = true;
  const std::string text = info_document({{"n1", profiles, {}, kNow}});
  EXPECT_EQ(parsed_info(text).at(kCheck)["passed"].boolean(), true);
  EXPECT_EQ(text.find("\"c\":"), text.rfind("\"c\":"));
}

TEST(InfoTest, WhatIsStillToBeSentAndWhenItGoesOn) {
  const auto profiles = blocked_flatcar();
  NodeInfo node{"n1", profiles, {}, kNow};
  node.pending = {{"mail", "flatcar", 3, "refused", kNow - io::minutes{1}}};
  node.wakes = {{"other", kNow}, {"flatcar", kNow + io::hours{1}}};
  std::string text;
  append_node_info(text, node);
  const Json json = parsed_info(text);
  EXPECT_EQ(json["pending"].dump(), R"([{"instance":"mail","profile":"flatcar","attempts":3,"error":"refused",)"
                                    R"("since":"2026-03-01T09:59:00.123456789Z"}])");
  EXPECT_EQ(json.at("/profiles/0/wake").text(), "2026-03-01T11:00:00.123456789Z");
}

TEST(InfoTest, OnlyLabelsThatTheNodeHasAreShown) {
  kube::AtomPool atoms;
  const auto node = kube::decode_node(
      R"({"metadata":{"name":"n","resourceVersion":"1","labels":{"zone":"a","rack":"","other":"x"}}})", atoms);
  ASSERT_TRUE(node);
  EXPECT_THAT(shown_labels(*node, {"zone", "absent", "rack", "zone"}),
              ElementsAre(Pair("rack", ""), Pair("zone", "a")));
}

// Nodes by name, as whoever decides keeps them.
struct Nodes {
  std::map<std::string, std::vector<ProfileOutcome>, std::less<>> outcomes;
  InfoPieces pieces() {
    return InfoPieces([this](std::string_view after) -> std::optional<NodeInfo> {
      const auto it = outcomes.upper_bound(after);
      if (it == outcomes.end()) return std::nullopt;
      return NodeInfo{it->first, it->second, {}, kNow};
    });
  }
};

TEST(InfoPiecesTest, AreTheSameDocument) {
  Nodes nodes;
  std::vector<NodeInfo> all;
  for (int i = 0; i < 500; ++i) nodes.outcomes.emplace("node-" + std::to_string(i), blocked_flatcar());
  for (const auto& [name, profiles] : nodes.outcomes) all.push_back({name, profiles, {}, kNow});
  InfoPieces pieces = nodes.pieces();
  std::string document;
  int count = 0;
  for (size_t before = 0; pieces.read(document); before = document.size()) {
    EXPECT_LT(document.size() - before, 70'000u);
    ++count;
  }
  EXPECT_EQ(document, info_document(std::move(all)));
  EXPECT_GT(count, 3);
  EXPECT_FALSE(pieces.read(document));
}

TEST(InfoPiecesTest, WithoutNodesItIsAnEmptyArray) {
  Nodes nodes;
  InfoPieces pieces = nodes.pieces();
  std::string document;
  EXPECT_TRUE(pieces.read(document));
  EXPECT_FALSE(pieces.read(document));
  EXPECT_EQ(document, "[]");
}

TEST(InfoPiecesTest, NodesMayComeAndGoMeanwhile) {
  Nodes nodes;
  for (int i = 0; i < 400; ++i) nodes.outcomes.emplace("node-" + std::to_string(1000 + i), blocked_flatcar());
  InfoPieces pieces = nodes.pieces();
  std::string document;
  ASSERT_TRUE(pieces.read(document));
  nodes.outcomes.erase("node-1000");
  nodes.outcomes.erase("node-1399");
  nodes.outcomes.emplace("a-late-one", blocked_flatcar());
  nodes.outcomes.emplace("node-2000", blocked_flatcar());
  while (pieces.read(document)) {
  }
  const Json json = parsed_info(document);
  EXPECT_EQ(json.view().size(), 400u);
  EXPECT_EQ(json.view()[399]["node"].text(), "node-2000");
}

}  // namespace
}  // namespace careen::profiles
