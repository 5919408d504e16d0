#include "controllers/nodemaintenance/controller.h"

#include <fmt/format.h>

#include "controllers/nodemaintenance/test_cluster.h"

namespace careen::nodemaintenance {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ControllerTest : public MaintenanceTest {};

TEST_F(ControllerTest, DrainsANodeAndGivesItBack) {
  add_node("n1");
  add_pod("a");
  add_pod("b");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{2}));
  time.run_for(seconds{1});
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(number("totalpods"), 2);
  EXPECT_EQ(number("drainProgress"), 100);
  EXPECT_EQ(number("errorOnLeaseCount"), 0);
  EXPECT_FALSE(status()["pendingPods"].exists());
  EXPECT_FALSE(status()["pendingPodsRefs"].exists());
  EXPECT_EQ(last_error(), "");
  EXPECT_TRUE(io::parse_rfc3339(text(status()["lastUpdate"])));
  EXPECT_EQ(condition("Drained"), "True AllPodsLeft");
  EXPECT_EQ(condition("Blocked"), "False NothingBlocks");
  EXPECT_TRUE(in_maintenance());
  EXPECT_EQ(events("BeginMaintenance"), 1);
  EXPECT_EQ(events("SucceedMaintenance"), 1);
  const kube::Json lease = object(lease_path());
  EXPECT_EQ(lease.at("/spec/holderIdentity").text(), "node-maintenance");
  EXPECT_EQ(lease.at("/spec/leaseDurationSeconds").integer(), 3600);
  EXPECT_EQ(lease.at("/spec/leaseTransitions").integer(), 0);
  EXPECT_EQ(kube::Json(lease.at("/metadata/ownerReferences")).dump(),
            fmt::format(R"([{{"apiVersion":"v1","kind":"Node","name":"n1","uid":"{}"}}])",
                        text(object(node_path()).at("/metadata/uid"))));

  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  time.run_for(milliseconds{10});
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path()));
  EXPECT_EQ(events("UncordonNode"), 1);
  EXPECT_EQ(events("RemovedMaintenance"), 1);
  EXPECT_EQ(events("FailedMaintenance"), 0);
}

// Finalizer, at most three status writes, lease and namespace, one node patch, one eviction a pod, two events.
TEST_F(ControllerTest, TakesFewRequests) {
  add_node("n1");
  for (int i = 0; i < 20; ++i) add_pod(fmt::format("p{}", i));
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  time.run_for(minutes{10});
  EXPECT_EQ(requests("PATCH /api/v1/nodes/n1"), 1);
  EXPECT_EQ(requests("/eviction"), 20);
  EXPECT_LE(requests("/status"), 3);
  EXPECT_EQ(requests("/events"), 2);
  EXPECT_LE(sent.size(), 20u + 10u);
  const size_t before = sent.size();
  time.run_for(minutes{10});
  EXPECT_EQ(sent.size(), before);
}

TEST_F(ControllerTest, TheStatusSaysWhatBlocksAndForgetsItWhenSolved) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_pod("web");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{4});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(number("drainProgress"), 50);
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(kube::Json(status()["pendingPods"]).dump(), R"(["db-0"])");
  EXPECT_EQ(kube::Json(status()["pendingPodsRefs"]).dump(), R"([{"namespace":"shop","name":"db-0"}])");
  EXPECT_THAT(last_error(), HasSubstr(R"(error when evicting pods/"db-0" -n "shop": )"));
  EXPECT_EQ(condition("Blocked"), "True DisruptionBudget");
  EXPECT_EQ(condition("Drained"), "False Draining");
  EXPECT_THAT(status().dump(), HasSubstr("disruption budget shop/db holds back shop/db-0"));
  EXPECT_EQ(log->count("Reconciling with fixed duration"), 1);
  const int writes = requests("/status");
  time.run_for(minutes{5});
  EXPECT_EQ(requests("/status"), writes) << "nothing happens, so nothing is written";

  free_budget("db");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_EQ(last_error(), "");
  EXPECT_EQ(number("drainProgress"), 100);
  EXPECT_EQ(condition("Blocked"), "False NothingBlocks");
  time.run_for(seconds{1});
  EXPECT_EQ(events("SucceedMaintenance"), 1);
}

TEST_F(ControllerTest, AMissingNodeFailsAndIsTakenWhenItAppears) {
  launch();
  maintain("later");
  ASSERT_TRUE(runs_until([&] { return phase() == "Failed"; }, seconds{1}));
  EXPECT_EQ(last_error(), R"(nodes "later" not found)");
  EXPECT_EQ(number("evictionPods") + number("totalpods") + number("drainProgress"), 0);
  time.run_for(minutes{5});
  EXPECT_EQ(events("BeginMaintenance"), 1);
  EXPECT_EQ(events("FailedMaintenance"), 1);
  EXPECT_EQ(events("SucceedMaintenance"), 0);
  add_node("later");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_EQ(last_error(), "");
  EXPECT_TRUE(cordoned("later"));
}

TEST_F(ControllerTest, ANodeThatIsDeletedInMidDrainAndMadeAgain) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{3});
  ASSERT_EQ(phase(), "Running");
  cluster.api.erase(pod_path("db-0"));
  cluster.api.erase(node_path());
  ASSERT_TRUE(runs_until([&] { return phase() == "Failed"; }, seconds{2}));
  EXPECT_EQ(last_error(), R"(nodes "n1" not found)");
  add_node("n1");
  add_pod("new");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_TRUE(cordoned());
  EXPECT_EQ(number("evictionPods"), 1);
  EXPECT_EQ(object(lease_path()).at("/metadata/ownerReferences/0/uid").text(),
            object(node_path()).at("/metadata/uid").text());
}

TEST_F(ControllerTest, WhatWasThereBeforeComesBack) {
  add_node("n1");
  merge(node_path(), R"({"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":"no"}},
    "spec":{"unschedulable":true,"taints":[{"key":"mine","value":"v","effect":"PreferNoSchedule"}]}})");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_EQ(label(), "true");
  EXPECT_EQ(taints().back(), "mine:PreferNoSchedulev");
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{1}));
  EXPECT_TRUE(cordoned());
  EXPECT_EQ(label(), "no");
  EXPECT_THAT(taints(), testing::Contains("mine:PreferNoSchedulev"));
  EXPECT_THAT(taints(), testing::Not(testing::Contains("medik8s.io/drain:NoSchedule")));
}

TEST_F(ControllerTest, ForeignFinalizersStayAndTheNodeIsLeftAlone) {
  add_node("n1");
  launch();
  maintain();
  merge(path(), R"({"metadata":{"finalizers":["x/y"]}})");
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  end();
  ASSERT_TRUE(runs_until([&] { return untouched(); }, seconds{1}));
  time.run_for(seconds{10});
  EXPECT_EQ(kube::Json(object(path())["metadata"]["finalizers"]).dump(), R"(["x/y"])");
  EXPECT_TRUE(untouched());
  EXPECT_EQ(events("RemovedMaintenance"), 1);
}

TEST_F(ControllerTest, DeletionPreemptsADrainThatIsBlocked) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{2});
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, milliseconds{100}));
  EXPECT_TRUE(untouched());
  free_budget("db");
  time.run_for(seconds{10});
  EXPECT_TRUE(exists(pod_path("db-0")));
}

TEST_F(ControllerTest, DriftIsCorrectedAndWhoeverCameMeanwhileLeaves) {
  add_node("n1");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  time.run_for(seconds{3});
  merge(node_path(), R"({"metadata":{"labels":{"remediation.medik8s.io/exclude-from-remediation":null}},
    "spec":{"unschedulable":null,"taints":null}})");
  add_pod("meanwhile");
  const int writes = requests("/status");
  ASSERT_TRUE(runs_until([&] { return in_maintenance(); }, seconds{3}));
  ASSERT_TRUE(runs_until([&] { return !exists(pod_path("meanwhile")); }, seconds{5}));
  time.run_for(seconds{10});
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(requests("/status"), writes) << "a pod that comes and goes is no news";
  EXPECT_EQ(events("SucceedMaintenance"), 1);
  // One that takes its time makes the node undrained.
  merge(node_path(), R"({"spec":{"unschedulable":null,"taints":null}})");
  add_pod("slow", "n1", "web", R"({"model.careen.dev/termination-time":"20"})");
  ASSERT_TRUE(runs_until([&] { return phase() == "Running"; }, seconds{10}));
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{30}));
}

TEST_F(ControllerTest, NewcomersAreLeftAlone) {
  add_node("n1");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  time.run_for(seconds{3});
  const int writes = requests("/status");
  add_pod("tolerant");
  time.run_for(io::minutes{10});
  EXPECT_TRUE(exists(pod_path("tolerant")));
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_EQ(requests("/status"), writes);
}

TEST_F(ControllerTest, TheOlderOfTwoOwnsTheNodeAndTheYoungerTakesOverWithoutAGap) {
  add_node("n1");
  launch();
  maintain("n1", "older");
  time.run_for(seconds{2});
  maintain("n1", "younger");
  time.run_for(seconds{2});
  EXPECT_EQ(phase("older"), "Succeeded");
  EXPECT_EQ(phase("younger"), "Running");
  EXPECT_THAT(last_error("younger"), HasSubstr(R"(by NodeMaintenance "older", which came first)"));
  EXPECT_EQ(condition("Blocked", "younger"), "True WaitingForOther");
  cordons.clear();
  end("older");
  ASSERT_TRUE(runs_until([&] { return !exists(path("older")) && phase("younger") == "Succeeded"; }, seconds{5}));
  time.run_for(seconds{2});
  EXPECT_THAT(cordons, testing::Each(true));
  EXPECT_TRUE(in_maintenance());
  EXPECT_TRUE(exists(lease_path()));
  EXPECT_EQ(last_error("younger"), "");
  end("younger");
  ASSERT_TRUE(runs_until([&] { return !exists(path("younger")); }, seconds{1}));
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path()));
}

TEST_F(ControllerTest, DeletingTheYoungerChangesNothing) {
  add_node("n1");
  launch();
  maintain("n1", "older");
  time.run_for(seconds{2});
  maintain("n1", "younger");
  time.run_for(seconds{1});
  end("younger");
  ASSERT_TRUE(runs_until([&] { return !exists(path("younger")); }, seconds{1}));
  time.run_for(seconds{1});
  EXPECT_TRUE(in_maintenance());
  EXPECT_TRUE(exists(lease_path()));
  EXPECT_EQ(events("UncordonNode"), 0);
}

TEST_F(ControllerTest, ManyBlockedOnesDelayNothingAndWriteAtAMeasuredPace) {
  add_budget("db", "db", 50);
  for (int i = 0; i < 50; ++i) {
    const std::string node = fmt::format("n{:02}", i);
    add_node(node);
    add_pod("db-" + node, node, "db");
    for (int k = 0; k < 20; ++k) {
      add_pod(fmt::format("p{}-{}", k, node), node, "web",
              fmt::format(R"({{"model.careen.dev/termination-time":"{}"}})", k));
    }
  }
  add_node("free");
  launch();
  for (int i = 0; i < 50; ++i) maintain(fmt::format("n{:02}", i), fmt::format("m{:02}", i));
  time.run_for(seconds{2});
  const int first = requests("/status");
  maintain("free", "last");
  ASSERT_TRUE(runs_until([&] { return phase("last") == "Succeeded"; }, seconds{1}));
  const int before = requests("/status");
  time.run_for(seconds{10});
  EXPECT_LE(requests("/status") - before, 100);
  EXPECT_GE(requests("/status") - before, 60);
  EXPECT_GE(first, 50);
  time.run_for(seconds{60});
  for (int i = 0; i < 50; ++i) {
    const std::string name = fmt::format("m{:02}", i);
    ASSERT_EQ(kube::Json(status(name)["pendingPods"]).dump(), fmt::format(R"(["db-n{:02}"])", i));
    ASSERT_EQ(number("drainProgress", name), 95);
  }
}

TEST_F(ControllerTest, AMistakeInTheDrainIsToldAndNothingIsEvicted) {
  add_node("n1");
  add_pod("a");
  launch();
  maintain("n1", "m", R"(,"drain":{"skipPods":["a in ("]})");
  time.run_for(seconds{5});
  EXPECT_THAT(last_error(), HasSubstr("spec.drain.skipPods[0]: "));
  EXPECT_EQ(condition("Blocked"), "True InvalidSpec");
  EXPECT_EQ(requests("/eviction"), 0);
  ASSERT_EQ(ask("PATCH", path(), R"({"spec":{"drain":{"skipPods":["app=web"]}}})"), 200);
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_EQ(last_error(), "");
  EXPECT_TRUE(exists(pod_path("a"))) << "it was to be skipped";
  EXPECT_EQ(requests("/eviction"), 0);
}

TEST_F(ControllerTest, TheNodesConditionsTellOnDemand) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch({.node_conditions = true});
  const auto told = [&](std::string_view type) {
    std::string out;
    const kube::Json node = object(node_path());
    node["status"]["conditions"].for_each_element([&](kube::JsonView one) {
      if (one["type"].text() == type) out = text(one["status"]);
    });
    return out;
  };
  maintain();
  time.run_for(seconds{3});
  EXPECT_EQ(told("DrainInProgress"), "True");
  EXPECT_EQ(told("MaintenanceInProgress"), "True");
  free_budget("db");
  time.run_for(seconds{5});
  EXPECT_EQ(told("DrainInProgress"), "False");
  EXPECT_EQ(told("Drained"), "True");
  EXPECT_EQ(told("Ready"), "True");
  end();
  time.run_for(seconds{1});
  EXPECT_EQ(told("Drained"), "False");
  EXPECT_EQ(told("MaintenanceInProgress"), "False");
  EXPECT_FALSE(exists(path()));
}

TEST_F(ControllerTest, MetricsHaveTheNamesDashboardsKnow) {
  add_node("n1");
  Process& careen = launch();
  maintain();
  time.run_for(seconds{2});
  const std::string metrics = careen.metrics.expose();
  EXPECT_THAT(metrics, HasSubstr(R"(careen_nodemaintenances{phase="Succeeded"} 1)"));
  EXPECT_THAT(metrics,
              HasSubstr(R"(controller_runtime_reconcile_total{controller="nodemaintenance",result="success"})"));
  EXPECT_THAT(metrics, HasSubstr(R"(workqueue_adds_total{controller="nodemaintenance",name="nodemaintenance"})"));
}

}  // namespace
}  // namespace careen::nodemaintenance
