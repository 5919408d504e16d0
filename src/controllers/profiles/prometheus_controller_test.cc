// Values of Prometheus as places that one node takes at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using sim::Outside;
using testing::IsEmpty;

constexpr const char* kPrometheusYaml = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: healthy, type: prometheusInstant, config: {url: "http://prom", query: q, expr: value < 1}}
profiles:
- name: p
  operational: {transitions: [{check: go && healthy, next: maintenance-required}]}
)";

class PrometheusTest : public ClusterTest {
 protected:
  int moved() const {
    int count = 0;
    for (const std::string& node : known) count += state_of(node) == "maintenance-required";
    return count;
  }
  static int asked(const Replica& replica) {
    const auto found = replica.people.queries().find("q");
    return found == replica.people.queries().end() ? 0 : found->second;
  }
};

TEST_F(PrometheusTest, EachValueLetsOneNodePass) {
  add_nodes(10);
  std::vector<int> asked_at_move;
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 0;
  const auto observe_all = api.changed;
  int before = 0;
  api.changed = [&](std::string_view changed, kube::JsonView object) {
    observe_all(changed, object);
    if (moved() > before) asked_at_move.push_back(asked(replica));
    before = moved();
  };
  ASSERT_TRUE(time.run_until([&] { return moved() == 10; }, minutes{1}));
  // Between two moves the server was asked.
  ASSERT_EQ(asked_at_move.size(), 10u);
  for (size_t i = 1; i < 10; ++i) EXPECT_GT(asked_at_move[i], asked_at_move[i - 1]);
  EXPECT_LT(replica.decisions(), 10 * 8);
  time.run_for(minutes{30});
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(PrometheusTest, AValueThatSaysNoIsAskedForAgainAndDecidesNothingAnew) {
  add_nodes(20);
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 5;
  time.run_for(minutes{2});
  const double decisions = replica.decisions();
  const int before = asked(replica);
  time.run_for(io::hours{1});
  EXPECT_NEAR(asked(replica) - before, 120, 5);
  EXPECT_LT(replica.decisions() - decisions, 5);
  EXPECT_EQ(moved(), 0);
  replica.people.values["q"] = 0;
  ASSERT_TRUE(time.run_until([&] { return moved() == 20; }, minutes{2}));
  EXPECT_LT(replica.decisions() - decisions, 20 * 10);
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(PrometheusTest, WhereItCannotMatterNobodyIsAsked) {
  add_nodes(5, {});
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 0;
  time.run_for(minutes{5});
  const int before = asked(replica);
  time.run_for(io::hours{1});
  EXPECT_EQ(asked(replica), before);
  label(name(3), "go", "");
  time.run_for(seconds{2});
  EXPECT_EQ(moved(), 1);
}

TEST_F(PrometheusTest, AServerInTroubleFailsTheNodeOncePerRequeueUntilItRecovers) {
  add_nodes(1);
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 0;
  replica.people.prometheus = Outside::Mood::refuses;
  time.run_for(minutes{10});
  const double failures =
      replica.metrics.counter("maintenance_controller_transition_failure_count", "", {{"profile", "p"}}).value();
  EXPECT_NEAR(failures, 20, 4);
  replica.people.prometheus = Outside::Mood::fine;
  time.run_for(minutes{1});
  EXPECT_EQ(moved(), 1);
}

// A write that surely did not happen uses nothing up.
TEST_F(PrometheusTest, ARefusedWriteGivesTheValueBack) {
  add_nodes(2);
  bool first = true;
  api.treat = [&](const kube::Request& request) {
    sim::Treatment treatment{.before = milliseconds{2}, .after = milliseconds{2}};
    if (request.body.find("maintenance-required") != std::string::npos && std::exchange(first, false)) {
      treatment.refuse = sim::ApiServer::refusal(422, "Invalid");
    }
    return treatment;
  };
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 0;
  ASSERT_TRUE(time.run_until([&] { return moved() == 2; }, minutes{2}));
  time.run_for(minutes{1});
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// A write that took effect was answered with an error, and before careen looks, somebody destroys what would prove it.
TEST_F(PrometheusTest, AValueThatMayHaveBeenUsedIsUsed) {
  add_nodes(2);
  bool first = true;
  api.treat = [&](const kube::Request& request) {
    sim::Treatment treatment{.before = milliseconds{2}, .after = milliseconds{2}};
    if (request.body.find("maintenance-required") != std::string::npos && std::exchange(first, false)) {
      treatment.after = seconds{1};
      treatment.mask = sim::ApiServer::refusal(500, "InternalError");
    }
    return treatment;
  };
  Replica replica(time, api, "a", kPrometheusYaml);
  replica.people.values["q"] = 0;
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{2}));
  const int before = asked(replica);
  const std::string hidden = state_of(name(0)) == "maintenance-required" ? name(0) : name(1);
  api.merge(path(hidden), kube::Json::object().set({"metadata", "annotations", kDataAnnotation}, "{"));
  ASSERT_TRUE(time.run_until([&] { return moved() == 2; }, minutes{2}));
  EXPECT_GT(asked(replica), before);
}

TEST_F(PrometheusTest, ADryRunUsesNothingUp) {
  add_nodes(3);
  Replica replica(time, api, "a", kPrometheusYaml, ControllerOptions{.dry_run = true});
  replica.people.values["q"] = 0;
  time.run_for(minutes{30});
  EXPECT_EQ(moved(), 0);
  EXPECT_EQ(replica.late(), 0);
  label(name(0), "edit", "");
  time.run_for(seconds{2});
  EXPECT_EQ(replica.controller.explain(name(0)).effects.moved.size(), 1u);
  EXPECT_EQ(api.count("PATCH nodes"), 0);
}

}  // namespace
}  // namespace careen::profiles
