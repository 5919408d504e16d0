// Drains of the profiles on the model cluster: begun, done, withdrawn, handed over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"
#include "drain/holds.h"
#include "kube/sink.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kDrainYaml = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: max, type: maxMaintenance, config: {max: 1}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
  trigger:
  - {name: drain, type: eviction, config: {action: drain}}
  - {name: uncordon, type: eviction, config: {action: uncordon}}
profiles:
- name: p
  operational: {transitions: [{check: go && max && turn, next: in-maintenance, trigger: drain}]}
  in-maintenance: {transitions: [{check: "!go", next: operational, trigger: uncordon}]}
- name: e
  operational: {transitions: [{check: go, next: in-maintenance}]}
  in-maintenance: {enter: drain}
)";

class DrainsTest : public ClusterTest {
 protected:
  static constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/turn-0";
  static constexpr const char* kBudget = "/apis/policy/v1/namespaces/default/poddisruptionbudgets/web";

  DrainsTest() {
    api.treat = [](const Request&) { return sim::Treatment{.before = milliseconds{2}, .after = milliseconds{2}}; };
  }

  static std::string pod_path(std::string_view pod) { return "/api/v1/namespaces/default/pods/" + std::string(pod); }
  // One that ends as soon as it is evicted.
  void add_pod(std::string_view pod, std::string_view node, std::string_view app = "other") {
    Json object = Json::object({{"kind", "Pod"}, {"apiVersion", "v1"}});
    object.set({"metadata", "labels", "app"}, app);
    object.set({"spec", "nodeName"}, node);
    object.set({"spec", "terminationGracePeriodSeconds"}, 0);
    object.set({"status", "phase"}, "Running");
    object.set({"status", "conditions"}, Json::array({Json::object({{"type", "Ready"}, {"status", "True"}})}));
    api.put(pod_path(pod), std::move(object));
  }
  bool is_there(std::string_view pod) const { return api.object(pod_path(pod)).view().is_object(); }
  // A budget for the pods of app web.
  void allow(int disruptions) {
    Json budget = Json::object({{"kind", "PodDisruptionBudget"}, {"apiVersion", "policy/v1"}});
    budget.set({"spec", "selector", "matchLabels", "app"}, "web");
    budget.set({"metadata", "generation"}, 1);
    budget.set({"status", "observedGeneration"}, 1);
    budget.set({"status", "disruptionsAllowed"}, disruptions);
    budget.set({"status", "currentHealthy"}, 3);
    budget.set({"status", "desiredHealthy"}, 3 - disruptions);
    budget.set({"status", "expectedPods"}, 3);
    api.put(kBudget, std::move(budget));
  }
  bool cordoned(std::string_view node) const {
    return api.object(path(node))["spec"]["unschedulable"].boolean().value_or(false);
  }
  std::string holds(std::string_view node) const {
    const Json object = api.object(path(node));
    return std::string(object["metadata"]["annotations"][drain::kHoldsAnnotation].text().value_or(""));
  }
  bool lease_held(const Replica& replica) const {
    const auto renewed = io::parse_rfc3339(api.object(kLease)["spec"]["renewTime"].text().value_or(""));
    return renewed && io::add(*renewed, minutes{10}) >= replica.loop->wall_now();
  }
  static double failures(Replica& replica) {
    return replica.metrics.counter("maintenance_controller_transition_failure_count", "", {{"profile", "p"}}).value();
  }
};

TEST_F(DrainsTest, ATransitionDrainsAndMovesWhenTheNodeIsEmpty) {
  add_node("n0", {{"go", ""}});
  add_pod("a", "n0");
  add_pod("b", "n0");
  add_pod("elsewhere", "n1");
  bool empty_when_moved = false;
  api.changed = [&, previous = api.changed](std::string_view changed, kube::JsonView object) {
    previous(changed, object);
    if (changed == path("n0") && in.contains("n0") && most == 1) empty_when_moved = !is_there("a") && !is_there("b");
  };
  Replica replica(time, api, "a", kDrainYaml);
  time.run_for(seconds{10});
  EXPECT_EQ(state_of("n0"), "in-maintenance");
  EXPECT_TRUE(empty_when_moved);
  EXPECT_TRUE(is_there("elsewhere"));
  EXPECT_TRUE(cordoned("n0"));
  EXPECT_THAT(holds("n0"), HasSubstr(R"("profile/p":{)"));
  EXPECT_THAT(holds("n0"), testing::Not(HasSubstr("begun")));
  EXPECT_FALSE(replica.engine.has({"n0", "profile/p"}));
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  EXPECT_EQ(failures(replica), 0);
  label("n0", "go", nullptr);
  time.run_for(seconds{5});
  EXPECT_FALSE(cordoned("n0"));
  EXPECT_EQ(holds("n0"), "");
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(DrainsTest, BlockedByABudgetItWaitsWithItsPlaceAndItsLease) {
  add_node("n0", {{"go", ""}});
  add_pod("web-1", "n0", "web");
  allow(0);
  Replica replica(time, api, "a", kDrainYaml);
  time.run_for(minutes{2});
  add_node("n1", {{"go", ""}});
  time.run_for(minutes{12});
  EXPECT_EQ(state_of("n0"), "operational");
  EXPECT_TRUE(cordoned("n0"));
  EXPECT_FALSE(cordoned("n1")) << "the place is taken, however old the lease is";
  EXPECT_EQ(replica.ledger.entries().size(), 1u);
  EXPECT_THAT(to_text(replica.controller.explain("n0").why), HasSubstr("default/web"));
  EXPECT_EQ(failures(replica), 1) << "the time-out is told once";
  EXPECT_LT(replica.decisions(), 40);
  allow(1);
  time.run_for(seconds{30});
  EXPECT_EQ(state_of("n0"), "in-maintenance");
  EXPECT_FALSE(is_there("web-1"));
  EXPECT_EQ(state_of("n1"), "operational");
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(DrainsTest, WithdrawnItUndoesItsCordonAndGivesEverythingBack) {
  add_node("n0", {{"go", ""}});
  add_pod("web-1", "n0", "web");
  allow(0);
  Replica replica(time, api, "a", kDrainYaml);
  time.run_for(minutes{1});
  ASSERT_TRUE(cordoned("n0"));
  ASSERT_TRUE(lease_held(replica));
  label("n0", "go", nullptr);
  time.run_for(seconds{10});
  EXPECT_EQ(state_of("n0"), "operational");
  EXPECT_FALSE(cordoned("n0"));
  EXPECT_EQ(holds("n0"), "");
  EXPECT_FALSE(lease_held(replica));
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  EXPECT_FALSE(replica.engine.has({"n0", "profile/p"}));
  allow(1);
  time.run_for(minutes{1});
  EXPECT_TRUE(is_there("web-1"));
  add_node("n1", {{"go", ""}});
  time.run_for(seconds{10});
  EXPECT_EQ(state_of("n1"), "in-maintenance");
}

TEST_F(DrainsTest, ASuccessorGoesOnWithTheSameNode) {
  add_node("n0", {{"go", ""}});
  add_pod("web-1", "n0", "web");
  allow(0);
  auto a = std::make_unique<Replica>(time, api, "a", kDrainYaml);
  time.run_for(minutes{1});
  ASSERT_TRUE(cordoned("n0"));
  a.reset();
  add_node("n1", {{"go", ""}});
  Replica b(time, api, "b", kDrainYaml);
  time.run_for(minutes{20});
  EXPECT_TRUE(cordoned("n0"));
  EXPECT_FALSE(cordoned("n1"));
  EXPECT_EQ(b.ledger.entries().size(), 1u);
  allow(1);
  time.run_for(seconds{30});
  EXPECT_EQ(state_of("n0"), "in-maintenance");
  EXPECT_THAT(b.ledger.entries(), IsEmpty());
}

TEST_F(DrainsTest, ASuccessorWithdrawsWhatNoLongerPasses) {
  add_node("n0", {{"go", ""}});
  add_pod("web-1", "n0", "web");
  allow(0);
  auto a = std::make_unique<Replica>(time, api, "a", kDrainYaml);
  time.run_for(minutes{1});
  a.reset();
  label("n0", "go", nullptr);
  Replica b(time, api, "b", kDrainYaml);
  time.run_for(seconds{30});
  EXPECT_FALSE(cordoned("n0"));
  EXPECT_FALSE(lease_held(b));
  EXPECT_THAT(b.ledger.entries(), IsEmpty());
}

// A crash at any moment: whatever was under way, the node ends drained and in maintenance, once.
TEST_F(DrainsTest, ACrashAtAnyMomentIsMadeUpFor) {
  for (int after = 0; after < 120; after += 6) {
    const std::string node = "c" + std::to_string(after);
    add_node(node, {{"go", ""}});
    add_pod("pod-" + node, node);
    auto a = std::make_unique<Replica>(time, api, "a", kDrainYaml);
    time.run_for(milliseconds{after});
    a.reset();
    Replica b(time, api, "b", kDrainYaml);
    ASSERT_TRUE(time.run_until([&] { return state_of(node) == "in-maintenance"; }, minutes{30})) << after;
    time.run_for(seconds{10});
    EXPECT_FALSE(is_there("pod-" + node)) << after;
    EXPECT_THAT(holds(node), testing::Not(HasSubstr("begun"))) << after;
    EXPECT_THAT(b.ledger.entries(), IsEmpty()) << after;
    EXPECT_EQ(most, 1u) << after;
    api.erase(path(node));
    in.clear();
  }
}

TEST_F(DrainsTest, AStateIsEnteredByADrain) {
  add_node("n0", {{"go", ""}, {std::string(kProfileLabel), "e"}});
  add_pod("web-1", "n0", "web");
  allow(0);
  Replica replica(time, api, "a", kDrainYaml);
  time.run_for(minutes{1});
  EXPECT_EQ(state_of("n0"), "in-maintenance");
  EXPECT_TRUE(cordoned("n0"));
  EXPECT_TRUE(is_there("web-1"));
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  allow(1);
  time.run_for(seconds{30});
  EXPECT_FALSE(is_there("web-1"));
  EXPECT_FALSE(replica.engine.has({"n0", "profile/e"}));
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(DrainsTest, SomebodyWhoUncordonsByHandDoesNotEndIt) {
  add_node("n0", {{"go", ""}});
  add_pod("web-1", "n0", "web");
  allow(0);
  Replica replica(time, api, "a", kDrainYaml);
  time.run_for(minutes{1});
  api.merge(path("n0"), Json::object().set({"spec", "unschedulable"}, nullptr));
  time.run_for(seconds{10});
  EXPECT_TRUE(cordoned("n0"));
  EXPECT_TRUE(replica.engine.has({"n0", "profile/p"}));
  EXPECT_EQ(replica.ledger.entries().size(), 1u);
}

// Pods say only the name of their node.
TEST_F(DrainsTest, ANodeMadeAnewDuringAPauseKeepsItsPods) {
  for (const bool blind : {false, true}) {
    SCOPED_TRACE(blind ? "nothing was heard of it" : "it was seen");
    const std::string node = blind ? "n1" : "n0", pod = "web-" + node;
    time.run_for(minutes{11});
    add_node(node, {{"go", ""}});
    add_pod(pod, node, "web");
    allow(0);
    Replica replica(time, api, node, kDrainYaml);
    time.run_for(minutes{1});
    ASSERT_TRUE(cordoned(node));
    ASSERT_TRUE(replica.engine.has({node, "profile/p"}));
    budget::PauseRecord record;
    record.pauses[""] = {"", "ana@host", replica.loop->wall_now(), "the rack is rebuilt"};
    replica.pauses.set(record);
    time.run_for(seconds{5});
    if (blind) api.network.set_weather("/api/v1/nodes", {.frozen = true});
    api.erase(path(node));
    api.erase(pod_path(pod));
    add_node(node, {});
    add_pod(pod, node, "web");
    allow(1);
    time.run_for(seconds{5});
    replica.pauses.set({});
    time.run_for(seconds{20});
    EXPECT_TRUE(is_there(pod));
    api.network.set_weather("/api/v1/nodes", {});
    time.run_for(minutes{2});
    EXPECT_TRUE(is_there(pod));
    EXPECT_FALSE(replica.engine.has({node, "profile/p"}));
    EXPECT_FALSE(cordoned(node));
  }
}

TEST_F(DrainsTest, ADryRunDrainsNothing) {
  add_node("n0", {{"go", ""}});
  add_pod("a", "n0");
  Replica replica(time, api, "a", kDrainYaml, ControllerOptions{.dry_run = true});
  time.run_for(minutes{5});
  EXPECT_TRUE(is_there("a"));
  EXPECT_FALSE(cordoned("n0"));
  EXPECT_EQ(api.count("PATCH nodes"), 0);
  EXPECT_FALSE(replica.engine.has({"n0", "profile/p"}));
}

}  // namespace
}  // namespace careen::profiles
