// While everything is paused no maintenance begins, those that have begun stay as they are, and letting go still works.
#include "controllers/nodemaintenance/decide.h"
#include "controllers/nodemaintenance/roster.h"
#include "controllers/nodemaintenance/test_cluster.h"

namespace careen::nodemaintenance {
namespace {

using io::minutes;
using io::seconds;
using testing::HasSubstr;

class PausedMaintenanceTest : public MaintenanceTest {
 protected:
  static budget::PauseRecord paused(const std::string& profile = "") {
    budget::PauseRecord record;
    record.pauses[profile] = {profile, "ana@host", *io::parse_rfc3339("2026-03-01T10:00:00Z"), "broken images"};
    return record;
  }
  static constexpr const char* kText = "paused by ana@host since 2026-03-01T10:00:00Z: broken images";
};

TEST_F(PausedMaintenanceTest, ANewOneBeginsNothing) {
  add_node("n1");
  add_pod("a");
  launch().pauses.set(paused());
  maintain();
  time.run_for(minutes{10});
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path()));
  EXPECT_EQ(requests("/eviction"), 0);
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(last_error(), kText);
  EXPECT_EQ(condition("Blocked"), "True Paused");
  EXPECT_EQ(events("PausedMaintenance"), 1);
  process->pauses.set({});
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  EXPECT_TRUE(in_maintenance());
  EXPECT_EQ(last_error(), "");
  EXPECT_EQ(condition("Blocked"), "False NothingBlocks");
}

TEST(PausedDecision, SaysByACodeThatItIsPaused) {
  const auto raw = kube::Json::parse(
      R"({"metadata":{"name":"m","uid":"u","resourceVersion":"1","creationTimestamp":"2026-03-01T10:00:00Z",
          "finalizers":["foregroundDeleteNodeMaintenance"]},"spec":{"nodeName":"n"}})");
  Roster roster;
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  kube::Store<kube::Lease> leases;
  auto object = kube::decode_object(raw->dump());
  ASSERT_TRUE(object);
  roster.put(parse_maintenance(*object));
  auto node = kube::decode_node(R"({"metadata":{"name":"n","uid":"nu","resourceVersion":"2"}})", atoms);
  ASSERT_TRUE(node);
  nodes.put(std::move(*node));
  World world{roster, nodes, leases, true, "ns", [](const drain::Key&) { return nullptr; }, atoms};
  EXPECT_EQ(decide(world, "m", {}, {}).why.code, Why::Code::none);
  const budget::Pause pause{"", "ana@host", *io::parse_rfc3339("2026-03-01T10:00:00Z"), "broken images"};
  world.pause = &pause;
  const Decision decision = decide(world, "m", {}, {});
  EXPECT_EQ(decision.why.code, Why::Code::paused);
  EXPECT_EQ(decision.why.text, pause.text());
}

TEST_F(PausedMaintenanceTest, OneThatWasNotBegunIsDeletedAtOnce) {
  add_node("n1");
  launch().pauses.set(paused());
  maintain();
  time.run_for(seconds{5});
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{5}));
  EXPECT_TRUE(untouched());
}

TEST_F(PausedMaintenanceTest, ADrainStopsAndItsNodeStaysHeld) {
  add_node("n1");
  add_pod("a");
  add_pod("b", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return condition("Blocked") == "True DisruptionBudget"; }, seconds{5}));
  process->pauses.set(paused());
  free_budget("db");
  const int evictions = requests("/eviction");
  time.run_for(io::hours{3});
  EXPECT_EQ(requests("/eviction"), evictions);
  EXPECT_TRUE(in_maintenance());
  EXPECT_EQ(phase(), "Running");
  EXPECT_EQ(condition("Blocked"), "True Paused");
  EXPECT_THAT(last_error(), HasSubstr(kText));
  EXPECT_GT(io::add(*io::parse_rfc3339(text(object(lease_path()).at("/spec/renewTime"))), io::hours{1}),
            server->wall_now())
      << "its lease is kept";
  process->pauses.set({});
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{10}));
}

TEST_F(PausedMaintenanceTest, ItIsReleasedWhileEverythingIsPaused) {
  add_node("n1");
  add_pod("a");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  process->pauses.set(paused());
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{5}));
  EXPECT_TRUE(untouched());
  EXPECT_FALSE(exists(lease_path()));
}

// What a person does to the node in an emergency stays.
TEST_F(PausedMaintenanceTest, ANodeThatSomebodyUncordonsIsNotCordonedAgain) {
  add_node("n1");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
  process->pauses.set(paused());
  merge(node_path(), R"({"spec":{"unschedulable":false}})");
  time.run_for(minutes{5});
  EXPECT_FALSE(cordoned());
  process->pauses.set({});
  ASSERT_TRUE(runs_until([&] { return cordoned(); }, seconds{5}));
}

TEST_F(PausedMaintenanceTest, AProfilesPauseIsNoneOfItsBusiness) {
  add_node("n1");
  add_pod("a");
  launch().pauses.set(paused("os-update"));
  maintain();
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
}

// The cordon is decided, and the server is busy, when somebody pauses.
TEST_F(PausedMaintenanceTest, ACordonIsNotSentAgain) {
  add_node("n1");
  launch();
  int cordons_sent = 0;
  treat = [&](const kube::Request& request) {
    sim::Treatment treatment;
    if (request.method == "PATCH" && request.path.starts_with(node_path())) {
      if (++cordons_sent == 1) treatment.refuse = sim::ApiServer::refusal(429, "TooManyRequests", "later");
    }
    return treatment;
  };
  maintain();
  ASSERT_TRUE(runs_until([&] { return cordons_sent == 1; }, seconds{5}));
  process->pauses.set(paused());
  time.run_for(minutes{5});
  EXPECT_EQ(cordons_sent, 1);
  EXPECT_TRUE(untouched());
  EXPECT_EQ(condition("Blocked"), "True Paused");
  process->pauses.set({});
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{5}));
}

TEST_F(PausedMaintenanceTest, ASuccessorFindsThePauseAndChangesNothing) {
  add_node("n1");
  add_pod("b", "n1", "db");
  add_budget("db", "db");
  launch();
  maintain();
  ASSERT_TRUE(runs_until([&] { return condition("Blocked") == "True DisruptionBudget"; }, seconds{5}));
  crash();
  process = std::make_unique<Process>(*this, ControllerOptions{});
  process->pauses.set(paused());
  free_budget("db");
  sent.clear();
  time.run_for(minutes{10});
  EXPECT_EQ(requests("/eviction"), 0);
  EXPECT_TRUE(in_maintenance());
  process->pauses.set({});
  ASSERT_TRUE(runs_until([&] { return phase() == "Succeeded"; }, seconds{10}));
}

TEST_F(PausedMaintenanceTest, OneOfTheOriginalOperatorStaysAsItIs) {
  add_node("n1");
  add_predecessor();
  launch().pauses.set(paused());
  time.run_for(minutes{1});
  EXPECT_EQ(phase(), "Succeeded");
  EXPECT_TRUE(cordoned());
  process->pauses.set({});
  time.run_for(seconds{5});
  EXPECT_EQ(phase(), "Succeeded");
  end();
  ASSERT_TRUE(runs_until([&] { return !exists(path()); }, seconds{5}));
  EXPECT_TRUE(untouched());
}

}  // namespace
}  // namespace careen::nodemaintenance
