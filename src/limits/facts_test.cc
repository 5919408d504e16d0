// The table of what counts, a row at a time, on nodes as the API server tells them.
#include "limits/facts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drain/holds.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace careen::limits {
namespace {

using kube::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kTen = "2026-03-01T10:00:00Z";
constexpr const char* kNoon = "2026-03-01T12:00:00Z";

// A node that is in order, and what tests do to it.
class FactsTest : public testing::Test {
 protected:
  FactsTest() {
    node.set({"metadata", "name"}, "n1").set({"metadata", "resourceVersion"}, "1");
    node.set({"metadata", "creationTimestamp"}, "2026-01-01T00:00:00Z");
    condition("Ready", "True", "KubeletReady", "2026-01-01T00:01:00Z");
  }

  void condition(const char* type, const char* status, const char* reason = "", const char* since = kTen) {
    Json all(node["status"]["conditions"]);
    all.push_back(
        Json::object({{"type", type}, {"status", status}, {"reason", reason}, {"lastTransitionTime", since}}));
    node.set({"status", "conditions"}, std::move(all));
  }
  void ready(const char* status, const char* since = kTen) {
    node.remove({"status", "conditions"});
    condition("Ready", status, "r", since);
  }
  void taint(const char* key, const char* effect, const char* added = kTen, const char* value = "") {
    Json all(node["spec"]["taints"]);
    Json one = Json::object({{"key", key}, {"effect", effect}, {"value", value}});
    if (*added) one.set({"timeAdded"}, added);
    all.push_back(std::move(one));
    node.set({"spec", "taints"}, std::move(all));
  }
  void cordon(const char* manager = "", const char* time = kTen) {
    node.set({"spec", "unschedulable"}, true);
    if (!*manager) return;
    Json fields = Json::object({{"f:spec", Json::object({{"f:unschedulable", Json::object()}})}});
    node.set({"metadata", "managedFields"},
             Json::array({Json::object({{"manager", manager}, {"time", time}, {"fieldsV1", std::move(fields)}})}));
  }
  void annotate(std::string_view key, const std::string& value) { node.set({"metadata", "annotations", key}, value); }
  // As careen itself holds a node.
  void hold(const std::string& owner, const char* since = kTen) {
    const drain::NodeChange change =
        drain::hold(read(), owner, {"id", *io::parse_rfc3339(since), drain::may_hold(owner)}, atoms);
    for (const auto& [key, value] : change.annotations) node.set({"metadata", "annotations", key}, *value);
    if (change.unschedulable) node.set({"spec", "unschedulable"}, *change.unschedulable);
    if (!change.taints) return;
    node.remove({"spec", "taints"});
    for (const kube::Taint& one : *change.taints) {
      taint(std::string(one.key.view()).c_str(), std::string(one.effect.view()).c_str(),
            std::string(one.time_added.view()).c_str(), std::string(one.value.view()).c_str());
    }
  }

  kube::Node read() {
    auto decoded = kube::decode_node(node.dump(), atoms);
    EXPECT_TRUE(decoded);
    return std::move(*decoded);
  }
  // kind actor: what since, and what else is special
  std::vector<std::string> facts() {
    static constexpr const char* kKinds[] = {"out", "working", "down", "plan"};
    std::vector<std::string> out;
    for (const Fact& fact : facts_of(read())) {
      out.push_back(fmt::format("{} {}: {}{}{}{}{}", kKinds[static_cast<int>(fact.kind)], fact.actor, fact.what,
                                fact.since ? " " + io::format_rfc3339(*fact.since).substr(11, 5) : "",
                                fact.cordon ? ", cordon" : "", fact.own ? ", own" : "",
                                fact.until ? ", until " + io::format_rfc3339(*fact.until).substr(11, 5) : ""));
      EXPECT_EQ(fact.counts(), fact.kind != Fact::Kind::plan);
    }
    return out;
  }

  kube::AtomPool atoms;
  Json node = Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
};

TEST_F(FactsTest, ANodeInOrderSaysNothing) {
  taint("gpu", "NoSchedule");
  taint("node.kubernetes.io/unschedulable", "NoSchedule");
  condition("DiskPressure", "True");
  condition("Drained", "False", "NodeMaintenance");
  annotate("weave.works/kured-node-lock", "x");
  EXPECT_THAT(facts(), IsEmpty());
}

TEST_F(FactsTest, ACordonHasTheActorThatManagedFieldsName) {
  cordon("kubectl");
  EXPECT_THAT(facts(), ElementsAre("out kubectl: cordoned 10:00, cordon"));
}

TEST_F(FactsTest, ACordonOfNobodyKnownCountsToo) {
  cordon();
  EXPECT_THAT(facts(), ElementsAre("out unknown: cordoned, cordon"));
}

TEST_F(FactsTest, ACordonThatCareenHoldsIsItsOwn) {
  hold("nodemaintenance/disk");
  EXPECT_THAT(facts(), ElementsAre("working nodemaintenance/disk: cordoned 10:00, own"));
}

TEST_F(FactsTest, EveryHolderIsThereAndAProfileThatOnlyCordonsDoesNotWork) {
  hold("terminal/ana@host", kNoon);
  hold("profile/os/begun");
  hold("request/mr-1");
  EXPECT_THAT(facts(), ElementsAre("out profile/os: cordoned 10:00, own", "working request/mr-1: cordoned 10:00, own",
                                   "working terminal/ana@host: cordoned 12:00, own"));
}

TEST_F(FactsTest, AHoldLastsAlsoWhenSomebodyHasUncordonedTheNode) {
  hold("terminal/ana@host");
  node.set({"spec", "unschedulable"}, false);
  EXPECT_THAT(facts(), ElementsAre("working terminal/ana@host: held 10:00, own"));
}

TEST_F(FactsTest, ACordonFromBeforeTheFirstHoldIsSomebodyElses) {
  cordon("kubectl", "2026-03-01T09:00:00Z");
  hold("profile/os");
  EXPECT_THAT(facts(), ElementsAre("out kubectl: cordoned 09:00, cordon", "out profile/os: cordoned 10:00, own"));
}

TEST_F(FactsTest, TheTaintThatCareenHoldsIsItsOwnAndAnyOtherIsNot) {
  hold("nodemaintenance/disk");
  taint("medik8s.io/drain", "NoExecute", kNoon);
  EXPECT_THAT(facts(), ElementsAre("working nodemaintenance/disk: cordoned 10:00, own",
                                   "working medik8s: taint medik8s.io/drain 12:00"));
}

TEST_F(FactsTest, ATaintFromBeforeTheFirstHoldIsSomebodyElses) {
  taint("medik8s.io/drain", "NoSchedule", "2026-03-01T09:00:00Z");
  hold("nodemaintenance/disk");
  EXPECT_THAT(facts(), ElementsAre("working medik8s: taint medik8s.io/drain 09:00",
                                   "working nodemaintenance/disk: cordoned 10:00, own"));
}

TEST_F(FactsTest, TaintsOfActorsThatTakeNodesOut) {
  taint("karpenter.sh/disrupted", "NoSchedule");
  taint("karpenter.sh/rebooting", "NoExecute", kNoon);
  taint("node.kubernetes.io/out-of-service", "NoExecute");
  taint("node.kubernetes.io/out-of-service", "NoSchedule", kNoon);
  taint("remediator.kubernetes.azure.com/unschedulable", "NoSchedule");
  taint("ToBeDeletedByClusterAutoscaler", "NoSchedule", "", "1772366400");
  EXPECT_THAT(facts(), ElementsAre("working karpenter: taint karpenter.sh/disrupted 10:00",
                                   "working out-of-service: taint node.kubernetes.io/out-of-service 10:00",
                                   "working aks: taint remediator.kubernetes.azure.com/unschedulable 10:00",
                                   "working karpenter: taint karpenter.sh/rebooting 12:00",
                                   "working cluster-autoscaler: taint ToBeDeletedByClusterAutoscaler 12:00"));
}

TEST_F(FactsTest, TaintsThatSomebodyNamed) {
  taint("example.com/broken", "NoExecute", kNoon);
  taint("example.com/soon", "PreferNoSchedule", kNoon);
  taint("example.com/other", "NoSchedule", kNoon);
  EXPECT_THAT(facts(), IsEmpty());
  std::vector<std::string> told;
  for (const Fact& fact : facts_of(read(), {{"example.com/broken", "bot"}, {"example.com/soon", "planner"}})) {
    told.push_back(fmt::format("{} {}", fact.kind == Fact::Kind::working ? "working" : "plan", fact.actor));
  }
  EXPECT_THAT(told, ElementsAre("working bot", "plan planner"));
}

TEST_F(FactsTest, ATaintIsNamedWithItsActor) {
  const auto taint = parse_counted_taint("example.com/broken=bot");
  ASSERT_TRUE(taint);
  EXPECT_EQ(taint->key, "example.com/broken");
  EXPECT_EQ(taint->actor, "bot");
  for (const char* const wrong : {"", "=", "key", "key=", "=actor", "key=a=b", "key=a\nb"})
    EXPECT_FALSE(parse_counted_taint(wrong)) << wrong;
}

TEST_F(FactsTest, AConditionWithoutAReasonIsOfWhoeverWroteIt) {
  condition("DrainInProgress", "True", "", kNoon);
  condition("Drained", "True", "Own", kNoon);
  auto fields = Json::object();
  fields.set({"f:status", "f:conditions", R"(k:{"type":"DrainInProgress"})", "f:status"}, Json::object());
  node.set({"metadata", "managedFields"},
           Json::array({Json::object({{"manager", "drainer"}, {"time", kTen}, {"fieldsV1", std::move(fields)}})}));
  EXPECT_THAT(facts(),
              ElementsAre("working drainer: condition DrainInProgress 12:00", "working Own: condition Drained 12:00"));
}

TEST_F(FactsTest, WhatIsOnlyAnnouncedDoesNotCount) {
  taint("DeletionCandidateOfClusterAutoscaler", "PreferNoSchedule");
  taint("node.cluster.x-k8s.io/outdated-revision", "PreferNoSchedule");
  taint("karpenter.sh/disrupted", "PreferNoSchedule");
  condition("MaintenancePlanned", "True", "", kNoon);
  EXPECT_THAT(facts(), ElementsAre("plan karpenter: taint karpenter.sh/disrupted 10:00",
                                   "plan cluster-autoscaler: taint DeletionCandidateOfClusterAutoscaler 10:00",
                                   "plan cluster-api: taint node.cluster.x-k8s.io/outdated-revision 10:00",
                                   "plan unknown: condition MaintenancePlanned 12:00"));
}

TEST_F(FactsTest, ANodeThatIsNotReadyIsDown) {
  ready("False");
  EXPECT_THAT(facts(), ElementsAre("down failure: not ready 10:00"));
  ready("Unknown");
  taint("node.kubernetes.io/unreachable", "NoExecute");
  EXPECT_THAT(facts(), ElementsAre("down failure: not heard of 10:00"));
  node.remove({"status", "conditions"});
  EXPECT_THAT(facts(), ElementsAre("down failure: no condition Ready"));
  ready("True");
  EXPECT_THAT(facts(), ElementsAre("down failure: taint node.kubernetes.io/unreachable 10:00"));
}

TEST_F(FactsTest, AStartTaintCountsAnHourAfterTheNodeIsReady) {
  taint("readiness.k8s.io/storage", "NoSchedule");
  taint("readiness.k8s.io/network", "NoExecute");
  ready("True", "2026-03-01T10:30:00Z");
  EXPECT_THAT(facts(), ElementsAre("down failure: taint readiness.k8s.io/storage 10:00, until 11:30"));
  ready("False");
  EXPECT_THAT(facts(), ElementsAre("down failure: not ready 10:00"));
}

TEST_F(FactsTest, ConditionsOfMaintenanceHaveTheirReasonAsActor) {
  condition("DrainInProgress", "True", "Upgrader", kNoon);
  condition("MaintenanceInProgress", "True", "Upgrader");
  condition("Drained", "Unknown", "Upgrader");
  condition("GracefulNodeShutdownInProgress", "True", "", kNoon);
  EXPECT_THAT(facts(), ElementsAre("working Upgrader: condition DrainInProgress 12:00",
                                   "working unknown: condition GracefulNodeShutdownInProgress 12:00"));
}

TEST_F(FactsTest, ConditionsOfCareensOwnMaintenanceAreInItsHold) {
  condition("DrainInProgress", "True", "NodeMaintenance");
  EXPECT_THAT(facts(), ElementsAre("working NodeMaintenance: condition DrainInProgress 10:00"));
  hold("nodemaintenance/disk", kNoon);
  EXPECT_THAT(facts(), ElementsAre("working nodemaintenance/disk: cordoned 12:00, own"));
}

TEST_F(FactsTest, KuredReachesANodeWithItsAnnotationAndACordon) {
  annotate("weave.works/kured-reboot-in-progress", kTen);
  EXPECT_THAT(facts(), ElementsAre("plan kured: wants to reboot 10:00"));
  cordon("kured", kNoon);
  EXPECT_THAT(facts(), ElementsAre("working kured: reboots 10:00"));
  cordon("kubectl", kNoon);
  EXPECT_THAT(facts(), ElementsAre("working kured: reboots 10:00", "out kubectl: cordoned 12:00, cordon"));
}

TEST_F(FactsTest, ACordonOfCareenDoesNotMakeKuredReboot) {
  annotate("weave.works/kured-reboot-in-progress", kNoon);
  hold("profile/os");
  EXPECT_THAT(facts(), ElementsAre("out profile/os: cordoned 10:00, own", "plan kured: wants to reboot 12:00"));
}

TEST_F(FactsTest, TextsOfStrangersAreShortAndHarmless) {
  const std::string reason = "\x1b[31m" + std::string(121, 'x') + "äöü";
  condition("Drained", "True", reason.c_str());
  const auto all = facts_of(read());
  ASSERT_EQ(all.size(), 1u);
  EXPECT_LE(all[0].actor.size(), 132u);
  EXPECT_THAT(all[0].actor, Not(HasSubstr("\x1b")));
  EXPECT_THAT(all[0].actor, testing::EndsWith("xx"));
}

TEST_F(FactsTest, ManyTaintsMakeFewFacts) {
  for (int i = 0; i < 100; ++i) {
    taint(fmt::format("readiness.k8s.io/{}", i).c_str(), "NoSchedule");
    taint("karpenter.sh/disrupted", "NoSchedule");
  }
  EXPECT_EQ(facts().size(), 2u);
}

TEST_F(FactsTest, TheReferencesPolicyMayTakeSilenceForReadiness) {
  EXPECT_FALSE(is_not_ready(read()));
  ready("False");
  EXPECT_TRUE(is_not_ready(read()) && is_not_ready(read(), true));
  ready("Unknown");
  EXPECT_TRUE(is_not_ready(read()));
  EXPECT_FALSE(is_not_ready(read(), true));
  node.remove({"status", "conditions"});
  EXPECT_TRUE(is_not_ready(read()));
  EXPECT_FALSE(is_not_ready(read(), true));
}

}  // namespace
}  // namespace careen::limits
