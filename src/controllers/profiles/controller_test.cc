#include "controllers/profiles/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"
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

class ControllerTest : public ClusterTest {
 protected:
  static sim::Treatment slow() { return {.before = milliseconds{2}, .after = milliseconds{2}}; }
  // Node patches are treated so from now on; everything else takes a few milliseconds.
  void treat_patches(std::function<sim::Treatment(const Request&)> treat) {
    api.treat = [treat = std::move(treat)](const Request& request) {
      const bool patch = request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/");
      return patch ? treat(request) : slow();
    };
  }
  static bool admits(const Request& request) { return request.body.find("\"in-maintenance\"") != std::string::npos; }
  bool has_problem(const Replica& replica, std::string_view key) const {
    return replica.problems.open().find(key) != replica.problems.open().end();
  }
};

TEST_F(ControllerTest, ARoundOfManyNodesKeepsTheLimitWithThreeWritesANode) {
  add_nodes(200, {});
  Replica replica(time, api, "a", round(3));
  treat_patches([](const Request&) { return slow(); });
  time.run_for(seconds{5});
  const int before = api.count("PATCH nodes");
  EXPECT_EQ(before, 200);  // each got its label and data
  for (int i = 0; i < 200; ++i) label(name(i), "go", "");
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(api.count("PATCH nodes") - before, 3 * 200);
  EXPECT_EQ(api.count("PATCH nodes changed") - before, 3 * 200);
  EXPECT_THAT(replica.problems.open(), IsEmpty());
  EXPECT_EQ(replica.late(), 0);
}

// Alerts on "does it still look at the nodes" were written for a program that does so after each interval.
TEST_F(ControllerTest, DecisionsThatStandAreCountedAfterEachInterval) {
  add_nodes(20);
  Replica replica(time, api, "a", round(3));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  time.run_for(minutes{2});
  const auto reconciles = [&] {
    return replica.metrics
        .counter("controller_runtime_reconcile_total", "", {{"controller", "node"}, {"result", "requeue_after"}})
        .value();
  };
  const double before = reconciles();
  const double decided = replica.decisions();
  time.run_for(minutes{60});
  EXPECT_EQ(replica.decisions(), decided);
  const double intervals = 3600 / io::to_seconds(replica.controller.config()->requeue);
  EXPECT_NEAR(reconciles() - before, 20 * intervals, 20);
  EXPECT_THAT(replica.metrics.expose(), HasSubstr(R"(workqueue_adds_total{controller="node",name="node"})"));
}

// A place that becomes free wakes one node, not all that wait.
TEST_F(ControllerTest, WaitingCostsDecisionsInProportion) {
  add_nodes(500);
  Replica replica(time, api, "a", round(1));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{30}));
  EXPECT_EQ(most, 1u);
  EXPECT_LT(replica.decisions(), 500 * 12);
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(ControllerTest, TwoLimitsAtOnceAreBothKept) {
  for (int i = 0; i < 120; ++i) add_node(name(i), {{"go", ""}, {"zone", std::to_string(i % 6)}});
  std::string yaml = round(3);
  const std::string limit = "  - {name: max,";
  yaml.replace(yaml.find(limit), 0, "  - {name: zone, type: maxMaintenance, config: {max: 1, groupBy: [zone]}}\n");
  yaml.replace(yaml.find("check: max,"), 10, "check: max && zone");
  std::map<std::string, size_t> most_in_zone;
  const auto observe_all = api.changed;
  api.changed = [&](std::string_view changed, kube::JsonView object) {
    observe_all(changed, object);
    std::map<std::string, size_t> now;
    for (const std::string& node : in) {
      const std::string zone(api.object(path(node))["metadata"]["labels"]["zone"].text().value_or(""));
      most_in_zone[zone] = std::max(most_in_zone[zone], ++now[zone]);
    }
  };
  Replica replica(time, api, "a", yaml);
  treat_patches([](const Request&) { return slow(); });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{30}));
  EXPECT_EQ(most, 3u);
  EXPECT_EQ(most_in_zone.size(), 6u);
  for (const auto& [zone, highest] : most_in_zone) EXPECT_EQ(highest, 1u) << zone;
  EXPECT_EQ(replica.late(), 0);
  EXPECT_LT(replica.decisions(), 120 * 12);
}

TEST_F(ControllerTest, TheLongestWaitingGoesFirst) {
  Replica replica(time, api, "a", round(1, "1m"));
  time.run_for(seconds{1});
  std::vector<std::string> expected;
  for (const int i : {7, 3, 9, 1, 5}) {
    add_node(name(i), {{"go", ""}});
    expected.push_back(name(i));
    time.run_for(seconds{5});
  }
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{20}));
  EXPECT_EQ(order, expected);
}

TEST_F(ControllerTest, IdlingSendsNothing) {
  add_nodes(20, {});
  Replica replica(time, api, "a", round(3));
  time.run_for(minutes{1});
  const int patches = api.count("PATCH nodes") + api.count("PATCH leases");
  const double decisions = replica.decisions();
  time.run_for(io::hours{24});
  EXPECT_EQ(api.count("PATCH nodes") + api.count("PATCH leases"), patches);
  EXPECT_EQ(replica.decisions(), decisions);
}

TEST_F(ControllerTest, AForeignEditMakesItDecideAnew) {
  add_nodes(20);
  Replica replica(time, api, "a", round(3));
  int edits = 0;
  treat_patches([&](const Request& request) {
    const std::string node = request.path.substr(14, 4);
    if (++edits % 3 == 0) label(node, "edit", std::to_string(edits));
    return slow();
  });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 3u);
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

TEST_F(ControllerTest, AWriteThatTimesOutKeepsItsPlaceUntilItIsSettled) {
  add_nodes(6);
  Replica replica(time, api, "a", round(2, "100s"));
  int seen = 0;
  treat_patches([&](const Request& request) {
    if (!admits(request) || ++seen > 2) return slow();
    return sim::Treatment{.held = true};
  });
  time.run_for(seconds{5});
  EXPECT_EQ(api.held(), 2u);
  EXPECT_EQ(replica.ledger.entries().size(), 2u);
  EXPECT_EQ(seen, 2);  // nobody else was admitted
  time.run_for(seconds{20});
  // Given up, touched, and the places given to others; what arrives now conflicts.
  EXPECT_EQ(in.size(), 2u);
  api.release_held();
  EXPECT_EQ(in.size(), 2u);
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{30}));
  EXPECT_EQ(most, 2u);
}

TEST_F(ControllerTest, AWriteThatTimesOutButHappenedIsASuccess) {
  add_nodes(6);
  Replica replica(time, api, "a", round(2, "100s"));
  int seen = 0;
  treat_patches([&](const Request& request) {
    if (!admits(request) || ++seen > 2) return slow();
    return sim::Treatment{.unanswered = true};
  });
  time.run_for(seconds{20});
  EXPECT_EQ(in.size(), 2u);
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  for (const std::string& node : in) EXPECT_FALSE(api.object(path(node))["metadata"]["annotations"][kTouchAnnotation]);
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{30}));
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(api.count("PATCH nodes"), 18);
}

TEST_F(ControllerTest, AnswersThatLieAboutTheEffectAreFoundOut) {
  for (const int code : {500, 502, 503, 504}) {
    SCOPED_TRACE(code);
    for (const std::string& node : std::set<std::string>(known)) api.erase(path(node));
    most = 0;
    api.treat = nullptr;
    add_nodes(10);
    Replica replica(time, api, "a" + std::to_string(code), round(2));
    int number = 0;
    treat_patches([&](const Request&) {
      sim::Treatment treatment = slow();
      if (++number % 2 == 0) treatment.mask = sim::ApiServer::refusal(code, "InternalError");
      return treatment;
    });
    EXPECT_TRUE(time.run_until([&] { return all_done(); }, minutes{60}));
    EXPECT_EQ(most, 2u);
  }
}

// All attempts of one write are answered 503, although the first took effect, and the watch is late.
TEST_F(ControllerTest, AProxyThatLiesThroughoutIsFoundOut) {
  add_nodes(10);
  Replica replica(time, api, "a", round(2, "100s"));
  time.run_for(milliseconds{1});
  api.delay_watches(minutes{1});
  std::set<std::string> lied_about;
  treat_patches([&](const Request& request) {
    sim::Treatment treatment = slow();
    if (admits(request) && lied_about.size() < 2) lied_about.insert(request.path);
    if (lied_about.contains(request.path)) treatment.mask = sim::ApiServer::refusal(503, "ServiceUnavailable");
    return treatment;
  });
  time.run_for(seconds{50});
  EXPECT_EQ(in.size(), 2u);
  EXPECT_EQ(most, 2u);
}

TEST_F(ControllerTest, AServerInTroubleDelaysButSpoilsNothing) {
  add_nodes(10);
  Replica replica(time, api, "a", round(2));
  int number = 0;
  treat_patches([&](const Request&) {
    sim::Treatment treatment = slow();
    if (++number % 3 == 0) treatment.refuse = sim::ApiServer::refusal(500, "InternalError");
    if (++number % 5 == 0) treatment.refuse = sim::ApiServer::refusal(429, "TooManyRequests");
    if (++number % 7 == 0) treatment.refuse = sim::ApiServer::refusal(503, "ServiceUnavailable");
    return treatment;
  });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{60}));
  EXPECT_EQ(most, 2u);
  time.run_for(seconds{30});
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
}

TEST_F(ControllerTest, ANodeMadeAnewUnderItsNameIsAnotherNode) {
  add_nodes(3);
  Replica replica(time, api, "a", round(1, "10s"));
  bool replaced = false;
  treat_patches([&](const Request& request) {
    if (!admits(request) || replaced) return slow();
    replaced = true;
    const std::string node = request.path.substr(14, 4);
    api.erase(path(node));
    add_node(node, {{"go", ""}});
    return sim::Treatment{.before = seconds{3}};
  });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 1u);
  EXPECT_EQ(done.size(), 3u);
}

// It is replaced between a write of it and the answer to that.
TEST_F(ControllerTest, ANodeMadeAnewIsNotToldOfItsPredecessorsMoves) {
  add_node("n", {});
  Replica replica(time, api, "a", round(1));
  replica.scope.spawn(replica.events.run());
  std::set<std::string> told;
  const auto observe_all = api.changed;
  api.changed = [&](std::string_view changed, kube::JsonView object) {
    observe_all(changed, object);
    if (object["involvedObject"].exists()) told.emplace(object["involvedObject"]["uid"].text().value_or(""));
  };
  const auto uid = [&] { return std::string(api.object(path("n"))["metadata"]["uid"].text().value_or("")); };
  time.run_for(seconds{1});
  treat_patches([](const Request&) { return sim::Treatment{.after = seconds{1}}; });
  label("n", "go", "");
  time.run_for(milliseconds{100});
  ASSERT_EQ(state_of("n"), name_of(State::maintenance_required));
  api.erase(path("n"));
  add_node("n", {});
  time.run_for(seconds{10});
  EXPECT_FALSE(told.contains(uid()));
  label("n", "go", "");
  time.run_for(seconds{10});
  EXPECT_TRUE(told.contains(uid()));
}

TEST_F(ControllerTest, ANodeThatIsDeletedGivesItsPlaceBack) {
  add_nodes(3);
  Replica replica(time, api, "a", round(1, "100s"));
  std::string victim;
  treat_patches([&](const Request& request) {
    if (!admits(request) || !victim.empty()) return slow();
    victim = request.path.substr(14, 4);
    api.erase(path(victim));
    return sim::Treatment{.lost = true};
  });
  ASSERT_TRUE(time.run_until([&] { return !in.empty(); }, minutes{1}));
  EXPECT_FALSE(known.contains(victim));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

TEST_F(ControllerTest, WithoutTheRightToWriteItBacksOffWithOneProblem) {
  add_nodes(1);
  Replica replica(time, api, "a", round(1));
  treat_patches([&](const Request&) {
    return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "nodes is forbidden")};
  });
  time.run_for(minutes{10});
  EXPECT_TRUE(has_problem(replica, "write nodes"));
  const double refused = replica.metrics.counter("careen_node_writes_total", "", {{"outcome", "refused"}}).value();
  EXPECT_GE(refused, 10);
  EXPECT_LE(refused, 20);  // half a second, doubled up to a minute
  treat_patches([&](const Request&) { return slow(); });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{5}));
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

TEST_F(ControllerTest, AProblemOfANodeThatIsGoneIsGoneToo) {
  add_nodes(1);
  Replica replica(time, api, "a", round(1));
  treat_patches(
      [&](const Request&) { return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "no")}; });
  time.run_for(seconds{10});
  EXPECT_TRUE(has_problem(replica, "write nodes"));
  api.erase(path("n000"));
  time.run_for(seconds{10});
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// A webhook that answers 409 whatever we do must not be asked as fast as it answers.
TEST_F(ControllerTest, AConflictWithoutAChangeBacksOff) {
  add_nodes(1);
  Replica replica(time, api, "a", round(1));
  int asked = 0;
  treat_patches([&](const Request&) {
    ++asked;
    return sim::Treatment{.refuse = sim::ApiServer::refusal(409, "Conflict", "not today")};
  });
  time.run_for(minutes{10});
  EXPECT_LT(asked, 20);
  EXPECT_TRUE(has_problem(replica, "write node/n000"));
}

// Neither by its own touch nor otherwise is a node that cannot be written tried again at once.
TEST_F(ControllerTest, AServerThatFailsForOneNodeIsAskedLessAndLess) {
  add_nodes(4);
  Replica replica(time, api, "a", round(1));
  int asked = 0;
  treat_patches([&](const Request& request) {
    sim::Treatment treatment = slow();
    if (admits(request) && request.path.starts_with(path("n001"))) {
      ++asked;
      treatment.refuse = sim::ApiServer::refusal(500, "InternalError", "webhook failed");
    }
    return treatment;
  });
  time.run_for(minutes{10});
  EXPECT_EQ(done.size(), 3u);  // it does not keep the place to itself
  EXPECT_GE(asked, 5);
  EXPECT_LT(asked, 20);
  EXPECT_TRUE(has_problem(replica, "write node/n001"));
}

TEST_F(ControllerTest, AStaleWatchNeverLeadsBeyondTheLimit) {
  add_nodes(30);
  api.delay_watches(seconds{7});
  Replica replica(time, api, "a", round(2));
  treat_patches([](const Request&) { return slow(); });
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{60}));
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(api.count("PATCH nodes changed"), 90);
}

TEST_F(ControllerTest, AWatchThatSaysNothingAtAllDoesNotStopTheRound) {
  add_nodes(30);
  Replica replica(time, api, "a", round(2));
  time.run_for(milliseconds{1});
  api.freeze_watches(true);
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{60}));
  EXPECT_EQ(most, 2u);
}

TEST_F(ControllerTest, ANewConfigurationHoldsFromThenOn) {
  add_nodes(60);
  Replica replica(time, api, "a", round(4, "10s"));
  time.run_for(seconds{25});
  EXPECT_EQ(in.size(), 4u);
  replica.controller.set_config(std::make_shared<Config>(config_of(round(1, "10s"))));
  time.run_for(seconds{15});
  EXPECT_EQ(in.size(), 1u);
  most = in.size();
  time.run_for(seconds{30});
  EXPECT_EQ(most, 1u);
  replica.controller.set_config(std::make_shared<Config>(config_of(round(6, "10s"))));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 6u);
}

TEST_F(ControllerTest, AnUnreadableAnnotationStopsThatNodeOnlyUntilItIsMended) {
  add_nodes(3);
  api.merge(path("n001"), Json::object().set({"metadata", "annotations", kDataAnnotation}, "{"));
  Replica replica(time, api, "a", round(1));
  time.run_for(minutes{5});
  EXPECT_EQ(done.size(), 2u);
  ASSERT_TRUE(has_problem(replica, "node/n001"));
  EXPECT_THAT(replica.problems.open().find("node/n001")->second, HasSubstr("left alone until"));
  api.merge(path("n001"), Json::object().set({"metadata", "annotations", kDataAnnotation}, nullptr));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{1}));
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// Its annotation is spoilt between the admission and the write.
TEST_F(ControllerTest, ANodeThatBecomesUnreadableGivesItsPlaceBack) {
  add_nodes(2);
  Replica replica(time, api, "a", round(1, "1h"));
  std::string victim;
  treat_patches([&](const Request& request) {
    if (!admits(request) || !victim.empty()) return slow();
    victim = request.path.substr(14, 4);
    api.merge(path(victim), Json::object().set({"metadata", "annotations", kDataAnnotation}, "{"));
    return slow();
  });
  time.run_for(minutes{1});
  EXPECT_EQ(in.size(), 1u);
  EXPECT_FALSE(in.contains(victim));
}

// A maintenance that grows too old to count lets the next node in, without any change in the cluster.
TEST_F(ControllerTest, AnOldMaintenanceIsForgottenInTime) {
  add_nodes(3);
  ControllerOptions options;
  options.sweep = minutes{7};  // not in the same instant
  Replica replica(time, api, "a", round(1, "100h", ", skipAfter: 1h"), options);
  time.run_for(minutes{5});
  EXPECT_EQ(in.size(), 1u);
  time.run_for(minutes{56});
  EXPECT_EQ(in.size(), 2u);
  time.run_for(minutes{61});
  EXPECT_EQ(in.size(), 3u);
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(ControllerTest, StoppingWaitsForTheWritesUnderWay) {
  add_nodes(20);
  Replica replica(time, api, "a", round(3, "1s"));
  treat_patches([](const Request&) { return sim::Treatment{.before = seconds{1}, .after = seconds{1}}; });
  time.run_for(milliseconds{500});
  bool stopped = false;
  struct Stop {
    static io::Task<void> run(Controller& controller, bool& out) {
      co_await controller.stop();
      out = true;
    }
  };
  replica.scope.spawn(Stop::run(replica.controller, stopped));
  time.run_for(milliseconds{500});
  EXPECT_FALSE(stopped);
  time.run_for(seconds{10});
  EXPECT_TRUE(stopped);
  const int patches = api.count("PATCH nodes");
  time.run_for(minutes{5});
  EXPECT_EQ(api.count("PATCH nodes"), patches);
}

TEST_F(ControllerTest, WithoutTheRightToKeepALedgerItGoesOn) {
  add_nodes(20);
  api.treat = [](const Request& request) {
    sim::Treatment treatment = slow();
    if (request.path.find("/leases") != std::string::npos)
      treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "no");
    return treatment;
  };
  Replica replica(time, api, "a", round(2));
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(replica.problems.open().size(), 1u);
}

}  // namespace
}  // namespace careen::profiles
