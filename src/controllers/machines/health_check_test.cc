// When a NodeHealthCheck is held back.
#include "controllers/machines/health_check.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/machines/names.h"

namespace careen::machines {

namespace {

using testing::ElementsAre;
using testing::Optional;

HealthCheck check(std::string_view spec) {
  auto read = read_health_check(
      fmt::format(R"({{"metadata":{{"name":"workers","uid":"u","resourceVersion":"3"}},"spec":{}}})", spec));
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read.value_or(HealthCheck{});
}

class HealthCheckTest : public testing::Test {
 protected:
  Node node(const char* labels) {
    return *read_node(fmt::format(R"({{"metadata":{{"name":"n1","resourceVersion":"1","labels":{}}}}})", labels), atoms,
                      NodeLabels::all);
  }
  auto decide(const HealthCheck& one, std::vector<const Node*> out, bool complete = true) {
    return decide_pause({.check = &one, .out = std::move(out), .complete = complete});
  }

  kube::AtomPool atoms;
  Node worker = node(R"({"node-role.kubernetes.io/worker":"","zone":"a"})");
};

constexpr const char* kWorkers = R"({"selector":{"matchExpressions":[{"key":"node-role.kubernetes.io/control-plane",
    "operator":"DoesNotExist"}]},"pauseRequests":["somebody","somebody else"]})";

TEST_F(HealthCheckTest, CareensEntryComesAndGoesAndOthersStay) {
  HealthCheck one = check(kWorkers);
  EXPECT_FALSE(one.is_held());
  EXPECT_EQ(decide(one, {}), std::nullopt);
  const auto held = decide(one, {&worker});
  EXPECT_THAT(held, Optional(ElementsAre("somebody", "somebody else", std::string(kPauseRequest))));
  one.pause_requests = *held;
  EXPECT_TRUE(one.is_held());
  EXPECT_EQ(decide(one, {&worker}), std::nullopt);
  EXPECT_EQ(decide(one, {&worker, &worker}), std::nullopt) << "one entry for all";
  EXPECT_THAT(decide(one, {}), Optional(ElementsAre("somebody", "somebody else")));
}

TEST_F(HealthCheckTest, OnlyThatOfTheNodesThatAreOut) {
  const Node master = node(R"({"node-role.kubernetes.io/control-plane":""})");
  EXPECT_EQ(decide(check(kWorkers), {&master}), std::nullopt);
  EXPECT_TRUE(decide(check(kWorkers), {&master, &worker}));
  EXPECT_EQ(decide(check(R"({"selector":{"matchLabels":{"zone":"b"}}})"), {&worker}), std::nullopt);
  EXPECT_TRUE(decide(check(R"({"selector":{"matchLabels":{"zone":"a"}}})"), {&worker}));
}

// Without a selector, or with an empty one, it is about all Nodes; one that cannot be read may be.
TEST_F(HealthCheckTest, WhatIsNotKnownHoldsItBack) {
  for (const char* spec : {"{}", R"({"selector":{}})", R"({"selector":null})",
                           R"({"selector":{"matchExpressions":[{"key":"zone","operator":"Near"}]}})"}) {
    EXPECT_THAT(decide(check(spec), {&worker}), Optional(ElementsAre(std::string(kPauseRequest)))) << spec;
    EXPECT_EQ(decide(check(spec), {}), std::nullopt) << spec;
  }
  EXPECT_TRUE(decide(check(R"({"selector":{"matchLabels":{"zone":"b"}}})"), {nullptr})) << "a Node that is not seen";
}

TEST_F(HealthCheckTest, NothingIsLetGoBeforeAllIsKnown) {
  const HealthCheck held = check(fmt::format(R"({{"pauseRequests":["{}","x","{}"]}})", kPauseRequest, kPauseRequest));
  EXPECT_EQ(decide(held, {}, false), std::nullopt);
  EXPECT_THAT(decide(held, {}), Optional(ElementsAre("x")));
  EXPECT_TRUE(decide(check(kWorkers), {&worker}, false));
}

TEST_F(HealthCheckTest, LabelsOfNodesAreKeptForWhoeverAsks) {
  constexpr const char* kNode = R"({"metadata":{"name":"n1","resourceVersion":"1","labels":{"b":"2","a":"1"}}})";
  EXPECT_TRUE(read_node(kNode, atoms)->labels.empty());
  const Node all = *read_node(kNode, atoms, NodeLabels::all);
  ASSERT_EQ(all.labels.size(), 2u);
  EXPECT_EQ(all.labels.front().first, "a");
  Node other = all;
  other.labels.back().second = atoms.intern("3");
  EXPECT_FALSE(all.same_facts(other));
}

}  // namespace

}  // namespace careen::machines
