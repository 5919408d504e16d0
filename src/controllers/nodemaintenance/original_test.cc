// What people who come from the original operator rely on: counts, taints, cordons and texts as it has them, and the
// switches where careen does better.
#include <fmt/format.h>

#include "controllers/nodemaintenance/test_cluster.h"

namespace careen::nodemaintenance {
namespace {

using io::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

class OriginalTest : public MaintenanceTest {
 protected:
  static constexpr const char* kMirror = R"({"kubernetes.io/config.mirror":"x"})";

  void succeed(std::string_view name = "m") {
    ASSERT_TRUE(runs_until([&] { return phase(name) == "Succeeded"; }, seconds{10}));
    time.run_for(seconds{2});
  }
  void leave(std::string_view name = "m") {
    end(name);
    ASSERT_TRUE(runs_until([&] { return !exists(path(name)); }, seconds{2}));
  }
};

TEST_F(OriginalTest, TheCountsAreInTheStatusBeforeTheLeaseIsAskedFor) {
  add_node("n1");
  add_pod("a");
  add_pod("b");
  add_pod("static", "n1", "web", kMirror);
  add_pod("elsewhere", "n2");
  launch();
  std::string told;
  treat = [&](const kube::Request& request) {
    if (told.empty() && request.method != "GET" && request.path.find("/leases") != std::string::npos) {
      told = status().dump();
    }
    return sim::Treatment{};
  };
  maintain();
  succeed();
  const auto then = kube::Json::parse(told);
  ASSERT_TRUE(then) << told;
  EXPECT_EQ((*then)["phase"].text(), "Running");
  EXPECT_EQ((*then)["evictionPods"].integer(), 2);
  EXPECT_EQ((*then)["totalpods"].integer(), 3);
  EXPECT_EQ(kube::Json((*then)["pendingPods"]).dump(), R"(["a","b"])");
  EXPECT_EQ(kube::Json((*then)["pendingPodsRefs"]).dump(),
            R"([{"namespace":"shop","name":"a"},{"namespace":"shop","name":"b"}])");
  EXPECT_FALSE((*then)["drainProgress"].exists());
}

TEST_F(OriginalTest, EvictionPodsStaysWhatItWasWhenTheMaintenanceBegan) {
  add_node("n1");
  add_pod("a");
  add_pod("b");
  put_foreign_lease();
  launch();
  maintain();
  time.run_for(seconds{3});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(number("totalpods"), 2);
  EXPECT_FALSE(cordoned());
  add_pod("late-1");
  add_pod("late-2");
  time.run_for(seconds{3});
  ASSERT_EQ(ask("DELETE", lease_path()), 200);
  succeed();
  EXPECT_FALSE(exists(pod_path("late-1"))) << "it was there when the node was cordoned";
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(number("totalpods"), 2);
  EXPECT_EQ(number("drainProgress"), 100);
}

TEST_F(OriginalTest, PodsOfDaemonSetsDoNotCountAlsoIfTheDrainIsMistaken) {
  add_node("n1");
  add_pod("a");
  put(pod_path("daemon"),
      R"({"apiVersion":"v1","kind":"Pod","metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"DaemonSet",
          "name":"d","uid":"1","controller":true}]},"spec":{"nodeName":"n1","containers":[{"name":"c","image":"i"}]},
          "status":{"phase":"Pending"}})");
  launch();
  maintain("n1", "m", R"(,"drain":{"skipPods":["a in ("]})");
  time.run_for(seconds{3});
  EXPECT_EQ(condition("Blocked"), "True InvalidSpec");
  EXPECT_EQ(number("evictionPods"), 1);
  EXPECT_EQ(number("totalpods"), 2);
  EXPECT_EQ(kube::Json(status()["pendingPods"]).dump(), R"(["a"])");
}

TEST_F(OriginalTest, ANewLeaderCountsNothingAnew) {
  add_node("n1");
  add_pod("web");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  time.run_for(seconds{3});
  ASSERT_EQ(number("drainProgress"), 50);
  crash();
  launch();
  time.run_for(seconds{3});
  EXPECT_EQ(number("evictionPods"), 2);
  EXPECT_EQ(number("drainProgress"), 50);
}

TEST_F(OriginalTest, WhoWaitedForAnotherMaintenanceIsCountedWhenItsTurnComes) {
  add_node("n1");
  add_pod("db-0", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain("n1", "older");
  time.run_for(seconds{2});
  maintain("n1", "younger");
  time.run_for(seconds{2});
  EXPECT_EQ(number("evictionPods", "younger"), 0);
  end("older");
  ASSERT_TRUE(runs_until([&] { return !exists(path("older")); }, seconds{3}));
  time.run_for(seconds{2});
  EXPECT_EQ(number("evictionPods", "younger"), 1);
  EXPECT_EQ(kube::Json(status("younger")["pendingPods"]).dump(), R"(["db-0"])");
}

// The watch of pods is refused, say: it is better to begin without numbers than not at all.
TEST_F(OriginalTest, WithoutPodsItBeginsAfterAWhile) {
  add_node("n1");
  treat = [](const kube::Request& request) {
    sim::Treatment treatment;
    if (request.path.starts_with("/api/v1/pods")) treatment.before = io::hours{1};
    return treatment;
  };
  launch();
  maintain();
  time.run_for(seconds{5});
  EXPECT_EQ(phase(), "") << "the pods may be known in a moment";
  time.run_for(seconds{10});
  EXPECT_EQ(phase(), "Running");
  EXPECT_TRUE(cordoned());
}

TEST_F(OriginalTest, AMaintenanceWithoutANodeNameRunsAndSaysWhy) {
  launch();
  maintain("", "m");
  time.run_for(seconds{5});
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(last_error(), "resource name may not be empty");
  EXPECT_EQ(events("BeginMaintenance"), 1);
  EXPECT_EQ(events("FailedMaintenance"), 0);
  const int writes = requests("/status");
  time.run_for(io::minutes{10});
  EXPECT_EQ(requests("/status"), writes);
  leave();
  time.run_for(seconds{1});
  EXPECT_EQ(events("RemovedMaintenance"), 1);
}

TEST_F(OriginalTest, AForeignDrainTaintWithAValueIsReplacedAndRestored) {
  add_node("n1");
  merge(node_path(), R"({"spec":{"taints":[{"key":"medik8s.io/drain","value":"storage","effect":"NoSchedule"},
    {"key":"mine","effect":"NoSchedule"}]}})");
  launch();
  maintain();
  succeed();
  EXPECT_THAT(taints(), ElementsAre("node.kubernetes.io/unschedulable:NoSchedule", "medik8s.io/drain:NoSchedule",
                                    "mine:NoSchedule"));
  leave();
  EXPECT_THAT(taints(), ElementsAre("medik8s.io/drain:NoSchedulestorage", "mine:NoSchedule"));
}

TEST_F(OriginalTest, WithoutRestoreCordonANodeThatWasCordonedBeforeIsUncordoned) {
  add_node("n1");
  merge(node_path(), R"({"spec":{"unschedulable":true,
    "taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule","timeAdded":"2026-01-01T00:00:00Z"}]}})");
  launch({.restore_cordon = false});
  maintain();
  succeed();
  EXPECT_TRUE(cordoned());
  leave();
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(taints(), IsEmpty());
  time.run_for(seconds{1});
  EXPECT_EQ(events("UncordonNode"), 1);
}

TEST_F(OriginalTest, WithoutRestoreCordonAnOrphanIsUncordonedToo) {
  add_node("n1");
  merge(node_path(), R"({"spec":{"unschedulable":true}})");
  launch({.restore_cordon = false});
  maintain();
  succeed();
  merge(path(), R"({"metadata":{"finalizers":null}})");
  end();
  ASSERT_TRUE(runs_until([&] { return !cordoned(); }, seconds{5}));
}

TEST_F(OriginalTest, WithoutCorrectionPeopleMayUncordonANodeInMaintenance) {
  add_node("n1");
  launch({.correct_drift = false});
  maintain();
  succeed();
  EXPECT_TRUE(in_maintenance());
  merge(node_path(), R"({"spec":{"unschedulable":null,"taints":null}})");
  time.run_for(io::minutes{5});
  EXPECT_FALSE(cordoned());
  EXPECT_THAT(taints(), IsEmpty());
  EXPECT_EQ(phase(), "Succeeded");
  crash();
  launch({.correct_drift = false});
  time.run_for(seconds{10});
  EXPECT_FALSE(cordoned());
  leave();
  EXPECT_TRUE(untouched());
}

}  // namespace
}  // namespace careen::nodemaintenance
