// Evictions: what budgets say to them, what is asked of the pod, and what is left afterwards.
#include <gmock/gmock.h>

#include "sim/pod_test_world.h"

namespace careen::sim {
namespace {

using ::testing::HasSubstr;

class EvictionTest : public PodTestWorld {
 protected:
  void set_status(const std::string& budget, std::string_view status) {
    kube::Json patch = kube::Json::object();
    patch.set({"status"}, parsed(status));
    api.merge(kBudgets + budget, patch);
  }
  std::string cause(const kube::Response& response) {
    return std::string(parsed(response.body).at("/details/causes/0/message").text().value_or("(none)"));
  }
};

TEST_F(EvictionTest, WithoutABudgetThePodIsMarkedAndDeletedWithItsGrace) {
  add_running("p");
  const auto answer = evict("p");
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
  const std::string path = std::string(kPods) + "p";
  EXPECT_EQ(at(path, "/metadata/deletionGracePeriodSeconds"), "30");
  EXPECT_EQ(at(path, "/status/conditions/1/type"), "DisruptionTarget");
  EXPECT_EQ(at(path, "/status/conditions/1/reason"), "EvictionByEvictionAPI");
  EXPECT_EQ(api.count("POST pods/eviction"), 1);
}

TEST_F(EvictionTest, GraceOfTheEvictionCounts) {
  add_running("p");
  EXPECT_EQ(evict("p", R"({"gracePeriodSeconds":5})").status, 201);
  EXPECT_EQ(at(std::string(kPods) + "p", "/metadata/deletionGracePeriodSeconds"), "5");
  EXPECT_EQ(evict("p", R"({"gracePeriodSeconds":0})").status, 201) << "a terminating pod may be given less";
  EXPECT_EQ(ask("GET", std::string(kPods) + "p").status, 404);
}

TEST_F(EvictionTest, ABudgetThatIsNotYetSeenAsksToComeBack) {
  add_running("p");
  add_budget("b", R"({"minAvailable":1})");
  const auto answer = evict("p");
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.retry_after, io::Duration(io::seconds{10}));
  EXPECT_THAT(answer.body, HasSubstr("Cannot evict pod as it would violate the pod's disruption budget."));
  EXPECT_EQ(cause(answer), "The disruption budget b is still being processed by the server.");
}

TEST_F(EvictionTest, ABudgetThatAllowsNothingSaysWhy) {
  add_running("p");
  add_budget("b", R"({"minAvailable":1})");
  set_status("b", R"({"observedGeneration":1,"desiredHealthy":2,"currentHealthy":2})");
  const auto answer = evict("p");
  EXPECT_EQ(answer.status, 429);
  EXPECT_FALSE(answer.retry_after);
  EXPECT_EQ(cause(answer), "The disruption budget b needs 2 healthy pods and has 2 currently");
  set_status("b", R"({"currentHealthy":3})");
  EXPECT_EQ(cause(evict("p")), "The disruption budget b does not allow evicting pods currently");
  set_status("b", R"({"conditions":[{"type":"DisruptionAllowed","status":"False","reason":"SyncFailed",
                      "message":"found no controllers for pod \"p\""}]})");
  EXPECT_EQ(cause(evict("p")),
            "The disruption budget b does not allow evicting pods currently because it failed sync: found no "
            "controllers for pod \"p\"");
}

TEST_F(EvictionTest, AGrantedEvictionIsTakenFromTheBudget) {
  add_running("p");
  add_running("q");
  add_budget("b", R"({"minAvailable":1})");
  set_status("b", R"({"observedGeneration":1,"disruptionsAllowed":1,"desiredHealthy":1,"currentHealthy":2})");
  const std::string budget = std::string(kBudgets) + "b";
  EXPECT_EQ(evict("p", R"({"dryRun":["All"]})").status, 201);
  EXPECT_EQ(at(budget, "/status/disruptionsAllowed"), "1") << "only asked";
  EXPECT_EQ(evict("p").status, 201);
  EXPECT_EQ(at(budget, "/status/disruptionsAllowed"), "0");
  EXPECT_NE(at(budget, "/status/disruptedPods/p"), "(none)");
  EXPECT_EQ(at(budget, "/status/conditions/0/reason"), "InsufficientPods");
  EXPECT_EQ(evict("q").status, 429);
  EXPECT_EQ(evict("p").status, 201) << "it is on its way already";
}

TEST_F(EvictionTest, TwoBudgetsAreOneTooMany) {
  add_running("p");
  add_budget("b", R"({"minAvailable":0})");
  add_budget("c", R"({"minAvailable":0})");
  const auto answer = evict("p");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(parsed(answer.body).at("/message").text(),
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.");
}

TEST_F(EvictionTest, PodsThatServeNobodyIgnoreBudgets) {
  add_pod("pending");
  add_running("done");
  api.merge(std::string(kPods) + "done", parsed(R"({"status":{"phase":"Succeeded"}})"));
  add_budget("b", R"({"minAvailable":5})");
  EXPECT_EQ(evict("pending").status, 201);
  EXPECT_EQ(evict("done").status, 201);
  EXPECT_EQ(ask("GET", std::string(kPods) + "done").status, 404);
}

TEST_F(EvictionTest, UnhealthyPodsGoByThePolicy) {
  add_running("p", false);
  add_budget("b", R"({"minAvailable":1})");
  set_status("b", R"({"observedGeneration":1,"desiredHealthy":1,"currentHealthy":0})");
  EXPECT_EQ(evict("p", R"({"dryRun":["All"]})").status, 429) << "the others are not enough";
  set_status("b", R"({"currentHealthy":1})");
  EXPECT_EQ(evict("p", R"({"dryRun":["All"]})").status, 201) << "the others are enough";
  set_status("b", R"({"currentHealthy":0})");
  api.merge(std::string(kBudgets) + "b", parsed(R"({"spec":{"unhealthyPodEvictionPolicy":"AlwaysAllow"}})"));
  EXPECT_EQ(evict("p").status, 201);
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/disruptedPods"), "(none)") << "it is not counted";
}

TEST_F(EvictionTest, AnotherPodOfThatNameStaysButTheBudgetIsSpent) {
  add_running("p");
  add_budget("b", R"({"minAvailable":1})");
  set_status("b", R"({"observedGeneration":1,"disruptionsAllowed":2,"desiredHealthy":1,"currentHealthy":3})");
  const std::string uid = at(std::string(kPods) + "p", "/metadata/uid");
  const auto answer = evict("p", R"({"preconditions":{"uid":"11111111-2222-3333-4444-555555555555"}})");
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(parsed(answer.body).at("/message").text(),
            "Operation cannot be fulfilled on Pod \"p\": the UID in the precondition "
            "(11111111-2222-3333-4444-555555555555) does not match the UID in record (" +
                uid + "). The object might have been deleted and then recreated");
  EXPECT_EQ(at(std::string(kPods) + "p", "/metadata/deletionTimestamp"), "(none)");
  EXPECT_EQ(at(std::string(kBudgets) + "b", "/status/disruptionsAllowed"), "1");
  EXPECT_EQ(evict("p", R"({"preconditions":{"resourceVersion":"1"}})").status, 409);
  EXPECT_EQ(evict("p").status, 429) << "nothing is left to spend";
}

TEST_F(EvictionTest, WhatIsWrongWithTheRequestIsTold) {
  add_running("p");
  EXPECT_EQ(evict("nobody").status, 404);
  EXPECT_EQ(ask("GET", std::string(kPods) + "p/eviction").status, 405);
  const auto other = ask("POST", std::string(kPods) + "p/eviction",
                         parsed(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"q"}})"));
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.body, HasSubstr("name in URL does not match name in Eviction object"));
  EXPECT_EQ(ask("POST", std::string(kPods) + "p/eviction",
                parsed(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})"))
                .status,
            400);
}

TEST_F(EvictionTest, ATerminatingNamespaceTakesNoEvictions) {
  api.run_controllers(false);
  add_running("p");
  ask("POST", "/api/v1/namespaces", parsed(R"({"metadata":{"name":"going"}})"));
  ask("POST", "/api/v1/namespaces/going/pods",
      parsed(R"({"metadata":{"name":"p"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i"}]}})"));
  ask("DELETE", "/api/v1/namespaces/going");
  const auto answer = ask("POST", "/api/v1/namespaces/going/pods/p/eviction",
                          parsed(R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p"}})"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_THAT(answer.body, HasSubstr("NamespaceTerminating"));
}

TEST_F(EvictionTest, PodsTakeTheTopologyOfTheirNode) {
  api.put("/api/v1/nodes/n", parsed(R"({"metadata":{"labels":{"topology.kubernetes.io/zone":"z","other":"x"}}})"));
  add_pod("made-there");
  add_pod("bound", "");
  EXPECT_EQ(ask("POST", std::string(kPods) + "bound/binding",
                parsed(R"({"metadata":{"name":"bound"},"target":{"kind":"Node","name":"n"}})"))
                .status,
            201);
  for (const char* name : {"made-there", "bound"}) {
    EXPECT_EQ(at(std::string(kPods) + name, "/metadata/labels/topology.kubernetes.io~1zone"), "z") << name;
    EXPECT_EQ(at(std::string(kPods) + name, "/metadata/labels/other"), "(none)") << name;
  }
}

// Watches see a pod marked before it goes, even when it goes at once.
TEST_F(EvictionTest, DeletionWithoutGraceIsTwoChanges) {
  add_pod("p", "");
  std::vector<Change::Type> seen;
  api.observe([&](const Change& change) { seen.push_back(change.type); });
  EXPECT_EQ(ask("DELETE", std::string(kPods) + "p").status, 200);
  EXPECT_EQ(seen, (std::vector{Change::Type::modified, Change::Type::deleted}));
}

TEST_F(EvictionTest, LessGraceCountsFromWhenTheEndBegan) {
  add_running("p");
  const std::string path = std::string(kPods) + "p";
  ask("DELETE", path, parsed(R"({"gracePeriodSeconds":60})"));
  const auto begun = io::parse_rfc3339(at(path, "/metadata/deletionTimestamp"));
  ASSERT_TRUE(begun);
  time.run_for(io::seconds{10});
  ask("DELETE", path);
  EXPECT_EQ(at(path, "/metadata/deletionGracePeriodSeconds"), "60") << "no wish changes nothing";
  ask("DELETE", path, parsed(R"({"gracePeriodSeconds":30})"));
  EXPECT_EQ(io::parse_rfc3339(at(path, "/metadata/deletionTimestamp")), *begun - io::seconds{30});
  ask("DELETE", path, parsed(R"({"gracePeriodSeconds":5})"));
  EXPECT_EQ(at(path, "/metadata/deletionGracePeriodSeconds"), "1") << "that time is over";
}

}  // namespace
}  // namespace careen::sim
