// What is read of machines, and what is not.
#include "kube/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace careen::kube {
namespace {

class MachineTest : public testing::Test {
 protected:
  Machine read(MachineKind kind, const char* json) {
    auto machine = decode_machine(json, kind, atoms);
    EXPECT_TRUE(machine) << machine.error().message;
    return machine.value_or(Machine{});
  }
  AtomPool atoms;
};

constexpr const char* kMeta = R"("name":"m1","namespace":"infra","uid":"u1","resourceVersion":"7")";

std::string object(const std::string& metadata, const std::string& rest) {
  return std::string(R"({"metadata":{)") + kMeta + metadata + "}" + rest + "}";
}

TEST_F(MachineTest, AMachineOfClusterApi) {
  const Machine machine =
      read(MachineKind::cluster_api,
           object(
               R"(,"deletionTimestamp":"2026-03-02T14:00:00Z","labels":{"cluster.x-k8s.io/set-name":"by-label"},
             "ownerReferences":[{"kind":"KubeadmControlPlane","name":"no"},{"kind":"MachineSet","name":"workers"}])",
               R"(,"spec":{"providerID":"aws:///a/i-1"},"status":{"nodeRef":{"name":"n1","uid":"node-1"},"conditions":[
             {"type":"Ready","status":"False"},
             {"type":"Updating","status":"True","lastTransitionTime":"2026-03-02T13:00:00Z"}]})")
               .c_str());
  EXPECT_EQ(machine.key(), "infra/m1");
  EXPECT_EQ(machine.version, 7u);
  EXPECT_EQ(machine.node, "n1");
  EXPECT_EQ(machine.node_uid, "node-1");
  EXPECT_EQ(machine.provider_id, "aws:///a/i-1");
  EXPECT_EQ(machine.set.view(), "infra/workers");
  EXPECT_EQ(machine.deleting, io::parse_rfc3339("2026-03-02T14:00:00Z"));
  EXPECT_EQ(machine.worked_on, io::parse_rfc3339("2026-03-02T13:00:00Z"));
}

TEST_F(MachineTest, TheOlderVersionHasItsConditionsElsewhere) {
  const std::string json = object(R"(,"labels":{"cluster.x-k8s.io/set-name":"workers"})",
                                  R"(,"status":{"conditions":[{"type":"Updating","status":"False"}],
                                     "v1beta2":{"conditions":[{"type":"Updating","status":"True"}]}})");
  const Machine machine = read(MachineKind::cluster_api, json.c_str());
  EXPECT_TRUE(machine.worked_on);
  EXPECT_EQ(machine.set.view(), "infra/workers");
  EXPECT_FALSE(machine.deleting);
  EXPECT_FALSE(read(MachineKind::machine_api, json.c_str()).worked_on);
}

TEST_F(MachineTest, AClaimOfKarpenter) {
  const std::string json =
      object(R"(,"labels":{"karpenter.sh/nodepool":"spot"})",
             R"(,"spec":{"providerID":"not here"},"status":{"nodeName":"n1","providerID":"kwok://n1","conditions":[
         {"type":"Rebooting","status":"True"},{"type":"DisruptionReason","status":"True","reason":"Underutilized"}]})");
  const Machine claim = read(MachineKind::node_claim, json.c_str());
  EXPECT_EQ(claim.node, "n1");
  EXPECT_EQ(claim.provider_id, "kwok://n1");
  EXPECT_EQ(claim.set.view(), "spot") << "a NodePool has no namespace";
  EXPECT_TRUE(claim.worked_on);
  EXPECT_TRUE(claim.surplus);
}

TEST_F(MachineTest, AMaintenanceOfNvidiaHasBegunOnceItIsPastItsSchedule) {
  const auto with = [&](const char* reason) {
    return read(MachineKind::nvidia_maintenance,
                object("", fmt::format(R"(,"spec":{{"nodeName":"n1","requestorID":"nvidia.gpu.operator"}},
                                          "status":{{"conditions":[{{"type":"Ready","status":"False","reason":"{}"}}]}})",
                                       reason))
                    .c_str());
  };
  EXPECT_EQ(with("Cordon").node, "n1");
  EXPECT_EQ(with("Cordon").requestor.view(), "nvidia.gpu.operator");
  for (const char* const reason : {"", "Pending", "Scheduled"}) EXPECT_FALSE(with(reason).worked_on) << reason;
  for (const char* const reason : {"Cordon", "Draining", "Ready"}) EXPECT_TRUE(with(reason).worked_on) << reason;
}

TEST_F(MachineTest, AVirtualMachineCountsWhileItLeavesItsNode) {
  const Machine leaving = read(MachineKind::virtual_machine,
                               object("", R"(,"status":{"nodeName":"n2","evacuationNodeName":"n1"})").c_str());
  EXPECT_EQ(leaving.node, "n1");
  EXPECT_TRUE(leaving.worked_on);
  const Machine stays = read(MachineKind::virtual_machine, object("", R"(,"status":{"nodeName":"n2"})").c_str());
  EXPECT_EQ(stays.node, "");
  EXPECT_FALSE(stays.worked_on);
}

TEST_F(MachineTest, WhatIsOfAnotherTypeIsAbsent) {
  const Machine machine =
      read(MachineKind::cluster_api,
           object(R"(,"labels":7,"ownerReferences":{})", R"(,"spec":[],"status":{"nodeRef":"n1","conditions":{"a":1}})")
               .c_str());
  EXPECT_EQ(machine.node, "");
  EXPECT_TRUE(machine.set.empty());
  EXPECT_FALSE(decode_machine("[]", MachineKind::cluster_api, atoms));
  EXPECT_FALSE(decode_machine(R"({"metadata":{"name":"m"}})", MachineKind::cluster_api, atoms));
}

TEST(MachineSetTest, ASetThatGoesWantsNone) {
  const auto replicas = [](const std::string& metadata, const std::string& rest) {
    return decode_machine_set(object(metadata, rest)).value_or(MachineSet{}).replicas;
  };
  EXPECT_EQ(replicas("", R"(,"spec":{"replicas":3})"), 3);
  EXPECT_EQ(replicas("", R"(,"spec":{"replicas":-3})"), 0);
  EXPECT_EQ(replicas("", R"(,"spec":{"replicas":"3"})"), std::nullopt);
  EXPECT_EQ(replicas("", R"(,"spec":{})"), std::nullopt);
  EXPECT_EQ(replicas(R"(,"deletionTimestamp":"2026-03-02T14:00:00Z")", R"(,"spec":{"replicas":3})"), 0);
}

}  // namespace
}  // namespace careen::kube
