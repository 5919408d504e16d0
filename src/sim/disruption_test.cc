// The status of budgets: what counts as healthy, what is expected, and when it is known.
#include "sim/disruption.h"

#include "sim/pod_test_world.h"

namespace careen::sim {
namespace {

class DisruptionTest : public PodTestWorld {
 protected:
  // allowed/healthy/desired/expected
  std::string numbers(const std::string& budget = "b") {
    const std::string path = kBudgets + budget;
    return at(path, "/status/disruptionsAllowed") + "/" + at(path, "/status/currentHealthy") + "/" +
           at(path, "/status/desiredHealthy") + "/" + at(path, "/status/expectedPods");
  }
  std::string reason() { return at(std::string(kBudgets) + "b", "/status/conditions/0/reason"); }
  void settle() { time.run_for(io::milliseconds{50}); }
  // A workload of that size; the reference to it for its dependents.
  kube::Json add_workload(const std::string& plural, const std::string& kind, const std::string& name, int replicas,
                          const kube::Json& owners = {}) {
    const std::string path = "/apis/apps/v1/namespaces/default/" + plural + "/" + name;
    kube::Json object = kube::Json::object();
    object.set({"spec", "replicas"}, replicas);
    if (!owners.view().is_null()) object.set({"metadata", "ownerReferences"}, owners);
    api.put(path, std::move(object));
    return kube::Json::array({kube::Json::object({{"apiVersion", "apps/v1"},
                                                  {"kind", kind},
                                                  {"name", name},
                                                  {"uid", at(path, "/metadata/uid")},
                                                  {"controller", true}})});
  }
  void add_owned(const std::string& name, const kube::Json& owners) {
    add_pod(name, "n", kube::Json::object({{"ownerReferences", owners}}));
    set_running(name);
  }

  Disruption disruption{*loop, api};
};

TEST_F(DisruptionTest, ANumberThatMustBeThereCountsFromThePods) {
  add_running("p");
  add_running("q");
  add_running("r", false);
  add_budget("b", R"({"minAvailable":1})");
  EXPECT_EQ(numbers(), "0/0/0/0") << "not yet";
  settle();
  EXPECT_EQ(numbers(), "1/2/1/3");
  EXPECT_EQ(reason(), "SufficientPods");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/observedGeneration"), "1");
  set_running("r");
  settle();
  EXPECT_EQ(numbers(), "2/3/1/3");
  ask("DELETE", std::string(kPods) + "p");
  ask("DELETE", std::string(kPods) + "q");
  settle();
  EXPECT_EQ(numbers(), "0/1/1/3") << "those that end are no longer healthy, but still there";
  EXPECT_EQ(reason(), "InsufficientPods");
}

TEST_F(DisruptionTest, WithoutPodsNothingMayGo) {
  add_budget("b", R"({"minAvailable":0})");
  settle();
  EXPECT_EQ(numbers(), "0/0/0/0");
  EXPECT_EQ(reason(), "InsufficientPods");
}

TEST_F(DisruptionTest, SharesCountFromTheDeploymentsOfThePods) {
  const kube::Json deployment = add_workload("deployments", "Deployment", "d", 10);
  const kube::Json set = add_workload("replicasets", "ReplicaSet", "d-1", 7, deployment);
  add_owned("p", set);
  add_owned("q", set);
  add_budget("b", R"({"maxUnavailable":"15%"})");
  settle();
  EXPECT_EQ(numbers(), "0/2/8/10") << "15 % of 10 is 2";
  add_workload("deployments", "Deployment", "d", 3);
  settle();
  EXPECT_EQ(numbers(), "0/2/2/3");
  ask("PATCH", std::string(kBudgets) + "b", parsed(R"({"spec":{"maxUnavailable":2}})"), "application/merge-patch+json");
  settle();
  EXPECT_EQ(numbers(), "1/2/1/3");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/observedGeneration"), "2");
}

TEST_F(DisruptionTest, ControllersAddUpAndPodsOfNobodyDoNot) {
  add_owned("p", add_workload("statefulsets", "StatefulSet", "s", 4));
  add_owned("q", add_workload("replicasets", "ReplicaSet", "r", 5));
  add_running("alone");
  add_budget("b", R"({"minAvailable":"50%"})");
  settle();
  EXPECT_EQ(numbers(), "0/3/5/9");
}

TEST_F(DisruptionTest, WhatCannotBeCountedForbidsAll) {
  const kube::Json gone = add_workload("replicasets", "ReplicaSet", "r", 5);
  add_owned("p", gone);
  api.run_controllers(false);
  api.erase("/apis/apps/v1/namespaces/default/replicasets/r");
  add_budget("b", R"({"maxUnavailable":1})");
  settle();
  EXPECT_EQ(reason(), "SyncFailed");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/conditions/0/message"), "found no controllers for pod \"p\"");
}

TEST_F(DisruptionTest, BetweenAnEvictionAndItsSightThePodIsNotCounted) {
  for (const char* name : {"p", "q", "r"}) add_running(name);
  add_budget("b", R"({"minAvailable":1})");
  settle();
  ASSERT_EQ(numbers(), "2/3/1/3");
  EXPECT_EQ(evict("p").status, 201);
  EXPECT_EQ(numbers(), "1/3/1/3") << "the server's part only";
  EXPECT_NE(at(std::string(kBudgets) + "b", "/status/disruptedPods/p"), "(none)");
  settle();
  EXPECT_EQ(numbers(), "1/2/1/3");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/disruptedPods"), "(none)") << "it is seen going";
}

TEST_F(DisruptionTest, APodThatIsNotDeletedAfterItsEvictionCountsAgain) {
  add_running("p");
  add_running("q");
  add_budget("b", R"({"minAvailable":1})");
  settle();
  // Granted, and then another pod.
  EXPECT_EQ(evict("p", R"({"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}})").status, 409);
  settle();
  EXPECT_EQ(numbers(), "0/1/1/2");
  time.run_for(io::seconds{110});
  EXPECT_EQ(numbers(), "0/1/1/2");
  time.run_for(io::seconds{15});
  EXPECT_EQ(numbers(), "1/2/1/2");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/disruptedPods"), "(none)");
}

TEST_F(DisruptionTest, TheDelayMakesBudgetsStale) {
  disruption.set_delay(io::seconds{2});
  add_running("p");
  add_budget("b", R"({"minAvailable":0})");
  time.run_for(io::seconds{1});
  EXPECT_EQ(numbers(), "0/0/0/0");
  time.run_for(io::seconds{2});
  EXPECT_EQ(numbers(), "1/1/0/1");
}

}  // namespace
}  // namespace careen::sim
