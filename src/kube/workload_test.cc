#include "kube/workload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/raw_object.h"
#include "kube/resource.h"
#include "kube/sink.h"
#include "kube/stream.h"

namespace careen::kube {
namespace {

using testing::HasSubstr;

class WorkloadTest : public testing::Test {
 protected:
  io::Result<Workload> decode(WorkloadKind kind, std::string_view rest) {
    return decode_workload(
        R"({"metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":"7"})" + std::string(rest) + "}",
        kind, atoms);
  }
  int64_t replicas(WorkloadKind kind, std::string_view rest) {
    const auto workload = decode(kind, rest);
    EXPECT_TRUE(workload) << workload.error().message;
    return workload ? workload->replicas : -1;
  }
  AtomPool atoms;
};

TEST_F(WorkloadTest, KnowsWhoAndHowMany) {
  const auto web = decode(WorkloadKind::deployment,
                          R"(,"spec":{"template":{"spec":{"replicas":9}},"replicas":3},"status":{"numberReady":5})");
  ASSERT_TRUE(web);
  EXPECT_EQ(web->kind, WorkloadKind::deployment);
  EXPECT_EQ(web->key(), "shop/web");
  EXPECT_EQ(web->uid, "u");
  EXPECT_EQ(web->version, 7u);
  EXPECT_EQ(web->replicas, 3);
}

TEST_F(WorkloadTest, WhatIsNotSetIsOneReplicaAndNoneReady) {
  EXPECT_EQ(replicas(WorkloadKind::deployment, R"(,"spec":{})"), 1);
  EXPECT_EQ(replicas(WorkloadKind::stateful_set, ""), 1);
  EXPECT_EQ(replicas(WorkloadKind::stateful_set, R"(,"spec":{"replicas":null})"), 1);
  EXPECT_EQ(replicas(WorkloadKind::stateful_set, R"(,"spec":{"replicas":0})"), 0);
  EXPECT_EQ(replicas(WorkloadKind::daemon_set, R"(,"spec":{"replicas":4},"status":{"numberReady":2})"), 2);
  EXPECT_EQ(replicas(WorkloadKind::daemon_set, R"(,"status":{})"), 0);
  EXPECT_EQ(replicas(WorkloadKind::deployment, R"(,"spec":{"replicas":-2})"), 0);
}

TEST_F(WorkloadTest, KnowsWhetherAllOfItServes) {
  const auto degraded = [&](WorkloadKind kind, std::string_view rest) { return decode(kind, rest)->degraded; };
  const auto wanted = [&](WorkloadKind kind, std::string_view rest) { return decode(kind, rest)->wanted; };
  EXPECT_FALSE(degraded(WorkloadKind::deployment, R"(,"spec":{"replicas":3},"status":{"availableReplicas":3})"));
  EXPECT_TRUE(degraded(WorkloadKind::deployment,
                       R"(,"spec":{"replicas":3},"status":{"availableReplicas":2,"readyReplicas":3})"));
  EXPECT_TRUE(degraded(WorkloadKind::deployment, R"(,"spec":{"replicas":3},"status":{})"));
  EXPECT_TRUE(degraded(WorkloadKind::deployment, R"(,"spec":{"replicas":1},"status":{"availableReplicas":1,
    "conditions":[{"type":"Progressing","status":"True"},{"type":"Available","status":"False"}]})"));
  EXPECT_FALSE(degraded(WorkloadKind::deployment, R"(,"spec":{"replicas":0})"));
  EXPECT_FALSE(degraded(WorkloadKind::stateful_set, R"(,"spec":{"replicas":2},"status":{"readyReplicas":2})"));
  EXPECT_TRUE(degraded(WorkloadKind::stateful_set,
                       R"(,"spec":{"replicas":2},"status":{"readyReplicas":1,"availableReplicas":2})"));
  EXPECT_FALSE(degraded(WorkloadKind::daemon_set,
                        R"(,"status":{"desiredNumberScheduled":5,"numberReady":4,"numberUnavailable":0})"));
  EXPECT_TRUE(degraded(WorkloadKind::daemon_set, R"(,"status":{"desiredNumberScheduled":5,"numberUnavailable":1})"));
  EXPECT_EQ(wanted(WorkloadKind::daemon_set, R"(,"status":{"desiredNumberScheduled":5,"numberReady":4})"), 5);
  EXPECT_EQ(wanted(WorkloadKind::deployment, R"(,"spec":{"replicas":3})"), 3);
}

TEST_F(WorkloadTest, HasItsLabels) {
  const auto web = decode_workload(
      R"({"metadata":{"name":"web","namespace":"shop","resourceVersion":"7","labels":{"tier":"","app":"web","n":7}}})",
      WorkloadKind::deployment, atoms);
  ASSERT_TRUE(web);
  ASSERT_NE(web->label("app"), nullptr);
  EXPECT_EQ(*web->label("app"), "web");
  EXPECT_EQ(*web->label("tier"), "");
  EXPECT_EQ(web->label("n"), nullptr);
  Workload other = *web;
  EXPECT_TRUE(other.same_facts(*web));
  other.labels.pop_back();
  EXPECT_FALSE(other.same_facts(*web));
}

TEST_F(WorkloadTest, AnObjectWithoutANameIsAnError) {
  const auto bad = decode_workload(R"({"metadata":{"resourceVersion":"1"}})", WorkloadKind::daemon_set, atoms);
  ASSERT_FALSE(bad);
  EXPECT_THAT(bad.error().message, HasSubstr("without a name"));
  EXPECT_FALSE(decode_workload("[", WorkloadKind::daemon_set, atoms));
}

// Names repeat between kinds.
TEST_F(WorkloadTest, SinksFillOneStoreAKind) {
  Workloads workloads;
  const auto event = [&](WorkloadKind kind, EventType type, int version, int replicas) {
    const auto sink = make_sink(workloads, kind, atoms);
    const std::string text = R"({"metadata":{"name":"web","namespace":"shop","uid":"u","resourceVersion":")" +
                             std::to_string(version) + R"("},"spec":{"replicas":)" + std::to_string(replicas) + "}}";
    const auto told = raw::on_text("an event", text, [&](RawObject& raw) { return sink->event(type, raw); });
    ASSERT_TRUE(told) << told.error().message;
    EXPECT_EQ(*told, static_cast<uint64_t>(version));
  };
  const auto size = [&](WorkloadKind kind) {
    const Workload* workload = workloads.find(kind, "shop", "web");
    return workload ? workload->replicas : -1;
  };
  event(WorkloadKind::deployment, EventType::added, 1, 3);
  event(WorkloadKind::stateful_set, EventType::added, 2, 2);
  EXPECT_EQ(size(WorkloadKind::deployment), 3);
  EXPECT_EQ(size(WorkloadKind::stateful_set), 2);
  EXPECT_EQ(size(WorkloadKind::daemon_set), -1);
  event(WorkloadKind::deployment, EventType::modified, 3, 5);
  event(WorkloadKind::stateful_set, EventType::deleted, 4, 2);
  EXPECT_EQ(size(WorkloadKind::deployment), 5);
  EXPECT_EQ(size(WorkloadKind::stateful_set), -1);
  EXPECT_EQ(workloads.find(WorkloadKind::deployment, "other", "web"), nullptr);
  EXPECT_EQ(resource_of(WorkloadKind::daemon_set).path("shop", "web"), "/apis/apps/v1/namespaces/shop/daemonsets/web");
}

}  // namespace
}  // namespace careen::kube
