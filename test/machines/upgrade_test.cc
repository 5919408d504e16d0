// Windows for upgrades: careen's hook on Clusters comes and goes by the clock.
#include "test_machines.h"

namespace careen::machines {

namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kPausePath = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause";

// Time begins on Thursday, 2025-12-18, at midnight.
class UpgradeTest : public MachinesTest {
 protected:
  UpgradeTest() {
    define("clusters", "Cluster", "cluster.x-k8s.io", R"({"name":"v1beta2","served":true,"storage":true})");
  }
  static std::string cluster_path(const std::string& name) { return kClusters.path("fleet", name); }
  void add(const std::string& name, const std::string& window, const std::string& annotations = "") {
    management.api.put(cluster_path(name),
                       *kube::Json::parse(fmt::format(R"({{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster",)"
                                                      R"("metadata":{{"annotations":{{"{}":"{}"{}}}}},)"
                                                      R"("spec":{{"topology":{{"version":"v1.34.0"}}}}}})",
                                                      kUpgradeWindow, window, annotations)));
  }
  void annotate(const std::string& name, std::string_view value, std::string_view key = kUpgradeWindow) {
    management.api.merge(cluster_path(name),
                         *kube::Json::parse(fmt::format(R"({{"metadata":{{"annotations":{{"{}":{}}}}}}})", key,
                                                        value.empty() ? "null" : fmt::format("\"{}\"", value))));
  }
  std::string on_cluster(const std::string& name, std::string_view annotation = kUpgradeHook) const {
    return text_of(management.api.object(cluster_path(name)), "annotations", annotation);
  }
  bool held(const std::string& name) const { return on_cluster(name) != "-"; }
  // Of events, in the order of their names.
  std::vector<std::string> told() const {
    std::vector<std::string> reasons;
    management.api.for_each("/api/v1/events", [&](const std::string&, const sim::Text& text) {
      const auto event = *kube::Json::parse(*text);
      if (event["involvedObject"]["kind"].text() != "Cluster") return;
      reasons.emplace_back(event["reason"].text().value_or(""));
    });
    return reasons;
  }
  void pause() {
    management.api.put(kPausePath,
                       *kube::Json::parse(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{
                         "annotations":{"careen.dev/pause":"{\"all\":{\"by\":\"ana\",\"since\":\"2026-01-01T00:00:00Z\"}}"}}})"));
  }
  void resume() {
    management.api.merge(kPausePath, *kube::Json::parse(R"({"metadata":{"annotations":{"careen.dev/pause":null}}})"));
  }
  static constexpr ControllerOptions kWindows{.relay = {}, .upgrade_windows = true};
};

TEST_F(UpgradeTest, TheHookComesAndGoesByTheClock) {
  ASSERT_EQ(io::format_whole_seconds(time.wall_now()), "2025-12-18T00:00:00Z");
  add("w1", "Thu 2:00-4:00");
  start(kWindows);
  run();
  EXPECT_EQ(on_cluster("w1"), kUpgradeHookValue);
  EXPECT_THAT(told(), ElementsAre("UpgradeHeld"));
  run(io::hours{2} - io::seconds{6});
  EXPECT_TRUE(held("w1"));
  run(io::seconds{2});
  EXPECT_FALSE(held("w1"));
  EXPECT_THAT(told(), Contains("UpgradeReleased"));
  run(io::hours{2} - io::seconds{2});
  EXPECT_FALSE(held("w1"));
  run(io::seconds{2});
  EXPECT_TRUE(held("w1"));
  EXPECT_EQ(writes(), 3u);
}

// And nothing is watched.
TEST_F(UpgradeTest, WithoutTheSwitchNothingHappens) {
  add("w1", "Thu 2:00-4:00");
  start();
  run(io::hours{3});
  EXPECT_FALSE(held("w1"));
  EXPECT_EQ(management.api.count("GET clusters"), 0);
  EXPECT_EQ(management.api.count("WATCH clusters"), 0);
}

TEST_F(UpgradeTest, NobodyIsHeldWhoNamesNoWindow) {
  add("w1", "");
  add("w2", "  ");
  start(kWindows);
  run(io::hours{1});
  EXPECT_FALSE(held("w1") || held("w2"));
  EXPECT_EQ(writes(), 0u);
}

TEST_F(UpgradeTest, WithTheAnnotationTheHookGoes) {
  add("w1", "Mon 2:00-4:00");
  add("w2", "Mon 2:00-4:00");
  start(kWindows);
  run();
  EXPECT_TRUE(held("w1") && held("w2"));
  annotate("w1", "");
  annotate("w2", "   ");
  run();
  EXPECT_FALSE(held("w1") || held("w2"));
  EXPECT_THAT(told(), Contains("UpgradeReleased").Times(2));
}

// Another window counts at once, in whatever zone.
TEST_F(UpgradeTest, AnotherWindowCountsAtOnce) {
  add("w1", "Mon 2:00-4:00");
  start(kWindows);
  run();
  EXPECT_TRUE(held("w1"));
  annotate("w1", "Thu 1:00-2:00 Europe/Berlin");
  run();
  EXPECT_FALSE(held("w1"));
  run(io::hours{1});
  EXPECT_TRUE(held("w1"));
}

// What holds an upgrade besides, the governor's hook and its record among them, is others' business.
TEST_F(UpgradeTest, OnlyItsOwnHookIsTouched) {
  constexpr const char* kOthers = "before-upgrade.hook.cluster.cluster.x-k8s.io/careen";
  constexpr const char* kRecord = "careen.dev/governed";
  add("w1", "Thu 0:01-0:02",
      R"(,"before-upgrade.hook.cluster.cluster.x-k8s.io/careen":"careen","careen.dev/governed":"{\"a\":null}")");
  start(kWindows);
  run();
  EXPECT_TRUE(held("w1"));
  run(io::seconds{90});
  EXPECT_FALSE(held("w1"));
  annotate("w1", "");
  run();
  EXPECT_EQ(on_cluster("w1", kOthers), "careen");
  EXPECT_EQ(on_cluster("w1", kRecord), R"({"a":null})");
}

// Somebody takes it away, or had put it there before.
TEST_F(UpgradeTest, WhatSomebodyDoesToItIsUndone) {
  add("w1", "Mon 2:00-4:00");
  add("w2", "", R"(,"before-upgrade.hook.cluster.cluster.x-k8s.io/careen-window":"")");
  start(kWindows);
  run();
  EXPECT_FALSE(held("w2"));
  annotate("w1", "", kUpgradeHook);
  run();
  EXPECT_TRUE(held("w1"));
}

TEST_F(UpgradeTest, AMistakeHoldsAndIsTold) {
  add("w1", "Thu 0:00-24:00");
  start(kWindows);
  run();
  EXPECT_FALSE(held("w1"));
  annotate("w1", "Thu 0:00-24:00 Berlin");
  run();
  EXPECT_TRUE(held("w1"));
  EXPECT_THAT(told(), Contains("UpgradeWindowInvalid"));
  EXPECT_THAT(problems(),
              ElementsAre(testing::AllOf(HasSubstr("annotation careen.dev/upgrade-window of Cluster fleet/w1"),
                                         HasSubstr("did you mean Europe/Berlin?"))));
  run(io::minutes{10});
  annotate("w1", "Thu 0:00-24:00 Europe/Berlin");
  run();
  EXPECT_FALSE(held("w1"));
  EXPECT_THAT(problems(), IsEmpty());
  EXPECT_THAT(told(), Contains("UpgradeWindowInvalid").Times(1));
  annotate("w1", "Thu");
  run();
  management.api.erase(cluster_path("w1"));
  run();
  EXPECT_THAT(problems(), IsEmpty());
}

TEST_F(UpgradeTest, APauseHoldsTheDoorShut) {
  add("w1", "Thu 0:00-3:00");
  add("w2", "Thu 1:00-3:00");
  add("w3", "");
  start(kWindows);
  run();
  EXPECT_FALSE(held("w1"));
  EXPECT_TRUE(held("w2"));
  pause();
  run();
  EXPECT_TRUE(held("w1"));
  run(io::hours{1});
  EXPECT_TRUE(held("w2"));
  annotate("w2", "");
  run();
  EXPECT_TRUE(held("w2"));
  EXPECT_FALSE(held("w3"));
  resume();
  run();
  EXPECT_FALSE(held("w1") || held("w2"));
}

// One that comes while the release is on its way stops it.
TEST_F(UpgradeTest, APauseOvertakesARelease) {
  add("w1", "Mon 1:00-3:00");
  start(kWindows);
  run();
  treat = [this](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.writes() || sending.request.path.find("/clusters/") == std::string::npos) return treatment;
    pause();
    treat = {};
    treatment.before = io::seconds{2};
    return treatment;
  };
  annotate("w1", "Thu 0:00-24:00");
  run(io::minutes{1});
  EXPECT_TRUE(held("w1"));
}

// The server puts it off until the window has passed.
TEST_F(UpgradeTest, AReleaseIsNotSentAfterItsWindow) {
  add("w1", "Thu 1:00-1:01");
  start(kWindows);
  run(io::minutes{59});
  treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.writes() || sending.request.path.find("/clusters/") == std::string::npos) return treatment;
    treatment.refuse = sim::ApiServer::refusal(429, "TooManyRequests");
    treatment.refuse->retry_after = io::seconds{35};
    return treatment;
  };
  run(io::minutes{1} + io::seconds{50});
  EXPECT_EQ(writes(), 3u) << "it has been sent twice";
  treat = {};
  for (int i = 0; i < 60; ++i) {
    run();
    EXPECT_TRUE(held("w1"));
  }
}

TEST_F(UpgradeTest, AStepOfTheClockDecidesAnew) {
  add("w1", "Thu 2:00-4:00");
  start(kWindows);
  run();
  EXPECT_TRUE(held("w1"));
  careen->step_clock(io::hours{3});
  run(io::seconds{10});
  EXPECT_FALSE(held("w1"));
  careen->step_clock(-io::hours{2});
  run(io::seconds{10});
  EXPECT_TRUE(held("w1"));
}

// Whoever begins while a window is open finds the hook from before.
TEST_F(UpgradeTest, ASuccessorGoesOn) {
  add("w1", "Thu 2:00-4:00");
  start(kWindows);
  run();
  careen.reset();
  run(io::hours{2});
  EXPECT_TRUE(held("w1"));
  start(kWindows, "careen-1");
  run(io::minutes{1});
  EXPECT_FALSE(held("w1"));
}

TEST_F(UpgradeTest, AConflictIsDecidedAgain) {
  add("w1", "Mon 2:00-4:00");
  treat = [this](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (!sending.writes() || sending.request.path.find("/clusters/") == std::string::npos) return treatment;
    treat = {};
    annotate("w1", "Thu 0:00-24:00");
    return treatment;
  };
  start(kWindows);
  run();
  EXPECT_FALSE(held("w1"));
}

TEST_F(UpgradeTest, WhatCannotBeWrittenIsAProblemAndTriedAgain) {
  add("w1", "Mon 2:00-4:00");
  treat = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.writes() && sending.request.path.find("/clusters/") != std::string::npos) {
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "clusters are not for you");
    }
    return treatment;
  };
  start(kWindows);
  run(io::minutes{1});
  EXPECT_THAT(problems(), ElementsAre(HasSubstr("upgrade door fleet/w1 cannot be written")));
  treat = {};
  run(io::minutes{2});
  EXPECT_TRUE(held("w1"));
  EXPECT_THAT(problems(), IsEmpty());
}

// Clusters are followed in the version in which Machines are.
TEST_F(UpgradeTest, AnotherVersionIsFollowed) {
  constexpr const char* kOld =
      R"({"name":"v1beta2","served":false,"storage":true},{"name":"v1beta1","served":true,"storage":false})";
  constexpr const char* kNew =
      R"({"name":"v1beta2","served":true,"storage":true},{"name":"v1beta1","served":false,"storage":false})";
  const auto serve = [this](const char* versions) {
    serve_machines(versions);
    define("clusters", "Cluster", "cluster.x-k8s.io", versions);
  };
  add("w1", "Thu 0:10-24:00");
  serve(kOld);
  start(kWindows);
  run();
  EXPECT_TRUE(held("w1"));
  serve(kNew);
  management.network.end_streams();
  run(io::minutes{11});
  EXPECT_FALSE(held("w1"));
}

TEST_F(UpgradeTest, ADryRunOnlyLooks) {
  add("w1", "Mon 2:00-4:00");
  dry_run = true;
  start(kWindows);
  run(io::minutes{1});
  EXPECT_FALSE(held("w1"));
  EXPECT_EQ(writes(), 0u);
  EXPECT_THAT(told(), IsEmpty());
}

TEST_F(UpgradeTest, ItIsShown) {
  add("w1", "Mon 2:00-4:00 Europe/Berlin");
  add_cluster("w1");
  add_node("m1");
  add_machine("m1");
  start(kWindows);
  run();
  const auto clusters = controller().picture()->documents();
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_THAT(clusters.front(), HasSubstr(R"("upgrades":"held: closed at Thu 2025-12-18)"));
  EXPECT_THAT(controller().document_of("fleet/m1").value_or(""), HasSubstr("an upgrade of its cluster: held"));
}

}  // namespace

}  // namespace careen::machines
