// Transitions that take a lease before the node is written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_replica.h"
#include "kube/disruption_budget.h"
#include "kube/sink.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using testing::IsEmpty;

constexpr const char* kStaggerYaml = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
profiles:
- name: p
  operational: {transitions: [{check: go && turn, next: maintenance-required}]}
)";

class BegunTest : public ClusterTest {
 protected:
  static constexpr const char* kLease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/turn-0";

  static sim::Treatment quick() { return {.before = milliseconds{2}, .after = milliseconds{2}}; }
  static bool moves(const Request& request) {
    return request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/") &&
           request.body.find("\"maintenance-required\"") != std::string::npos;
  }
  static bool takes(const Request& request) {
    return request.method != "GET" && request.body.find("\"holderIdentity\":\"n") != std::string::npos;
  }
  int moved() const {
    int count = 0;
    for (const std::string& node : known) count += state_of(node) == "maintenance-required";
    return count;
  }
  std::string holder() const { return std::string(api.object(kLease)["spec"]["holderIdentity"].text().value_or("")); }
  bool held(io::Wall now) const {
    const auto renewed = io::parse_rfc3339(api.object(kLease)["spec"]["renewTime"].text().value_or(""));
    return renewed && io::add(*renewed, minutes{10}) >= now;
  }
};

TEST_F(BegunTest, NodesFollowOneAnotherAtADistance) {
  add_nodes(4);
  api.treat = [](const Request&) { return quick(); };
  Replica replica(time, api, "a", kStaggerYaml);
  for (int expected = 1; expected <= 4; ++expected) {
    time.run_for(seconds{30});
    EXPECT_EQ(moved(), expected);
    time.run_for(minutes{9});
    EXPECT_EQ(moved(), expected);
    time.run_for(seconds{30});
  }
  time.run_for(minutes{20});
  EXPECT_EQ(replica.late(), 0);
  EXPECT_LT(replica.decisions(), 4 * 10);
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

TEST_F(BegunTest, WithdrawnItGivesTheLeaseBackAndTheNextGoesAtOnce) {
  add_node("n0", {{"go", ""}});
  Replica replica(time, api, "a", kStaggerYaml);
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    if (moves(request)) treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
    return treatment;
  };
  time.run_for(seconds{1});
  label("n0", "go", nullptr);
  api.treat = nullptr;
  time.run_for(minutes{1});
  EXPECT_EQ(moved(), 0);
  EXPECT_FALSE(held(replica.loop->wall_now()));
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  add_node("n1", {{"go", ""}});
  time.run_for(seconds{5});
  EXPECT_EQ(state_of("n1"), "maintenance-required");
  EXPECT_EQ(holder(), "n1");
}

// Edits of the node, again and again, make it decide again; the lease it has taken stays its own.
TEST_F(BegunTest, ANodeThatIsEditedMeanwhileKeepsItsLease) {
  add_nodes(2);
  int edits = 0;
  api.treat = [&](const Request& request) {
    if (takes(request) && edits < 3) {
      label(request.body.find("n000") != std::string::npos ? "n000" : "n001", "edit", std::to_string(++edits));
    }
    return quick();
  };
  Replica replica(time, api, "a", kStaggerYaml);
  time.run_for(seconds{20});
  EXPECT_EQ(edits, 3);
  EXPECT_EQ(moved(), 1);
  EXPECT_THAT(replica.problems.open(), IsEmpty());
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
}

TEST_F(BegunTest, WhereNoLeaseCanBeMadeItBacksOffAndSaysWhy) {
  add_nodes(1);
  int tries = 0;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (!takes(request)) return treatment;
    ++tries;
    treatment.refuse = sim::ApiServer::refusal(404, "NotFound");
    return treatment;
  };
  Replica replica(time, api, "a", kStaggerYaml);
  time.run_for(minutes{2});
  EXPECT_GE(tries, 3);
  EXPECT_LE(tries, 12);
  ASSERT_EQ(replica.problems.open().size(), 1u);
  EXPECT_THAT(replica.problems.open().begin()->second, testing::HasSubstr("kube-system/turn-0"));
  EXPECT_EQ(moved(), 0);
  api.treat = nullptr;
  time.run_for(minutes{2});
  EXPECT_EQ(moved(), 1);
  EXPECT_THAT(replica.problems.open(), IsEmpty());
}

// A lease that runs out before the node is written is taken again: the next one's distance counts from the move.
TEST_F(BegunTest, NobodyMovesAfterItsLeaseHasRunOut) {
  add_nodes(1);
  bool first = true;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment = quick();
    if (takes(request) && std::exchange(first, false)) treatment.after = seconds{5};
    return treatment;
  };
  std::string yaml = kStaggerYaml;
  yaml.replace(yaml.find("10m"), 3, "3s");
  Replica replica(time, api, "a", yaml);
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{1}));
  const auto renewed = io::parse_rfc3339(api.object(kLease)["spec"]["renewTime"].text().value_or(""));
  EXPECT_LT(replica.loop->wall_now() - *renewed, seconds{3});
}

TEST_F(BegunTest, ASuccessorGoesOnWithTheLeaseOfItsPredecessor) {
  add_nodes(1);
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    treatment.lost = moves(request);
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", kStaggerYaml);
  ASSERT_TRUE(time.run_until([&] { return holder() == "n000"; }, minutes{1}));
  time.run_for(seconds{1});
  a.reset();
  // Its leases are listed late, and the node is decided before that.
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    if (request.method == "GET" && request.path.find("/leases?") != std::string::npos) treatment.before = seconds{4};
    return treatment;
  };
  Replica b(time, api, "b", kStaggerYaml);
  time.run_for(seconds{20});
  EXPECT_EQ(moved(), 1);
  EXPECT_THAT(b.ledger.entries(), IsEmpty());
}

// It may have moved before it went: the next one keeps its distance.
TEST_F(BegunTest, ASuccessorLeavesTheLeaseOfANodeThatIsGoneToRunOut) {
  add_node("n0", {{"go", ""}});
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    // The node has moved, but nobody finds out before it is gone, and the ledger still has its entry.
    treatment.unanswered = moves(request);
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", kStaggerYaml);
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{1}));
  a.reset();
  api.treat = nullptr;
  api.erase(path("n0"));
  add_node("n1", {{"go", ""}});
  Replica b(time, api, "b", kStaggerYaml);
  time.run_for(minutes{9});
  EXPECT_NE(state_of("n1"), "maintenance-required");
  EXPECT_EQ(holder(), "n0");
  EXPECT_THAT(b.ledger.entries(), IsEmpty());
  time.run_for(minutes{2});
  EXPECT_EQ(state_of("n1"), "maintenance-required");
  EXPECT_EQ(b.late(), 0);
}

// Otherwise anybody who may write the node could let two pass at once.
class ForgedRecordTest : public BegunTest, public testing::WithParamInterface<std::tuple<const char*, bool>> {};

INSTANTIATE_TEST_SUITE_P(
    , ForgedRecordTest,
    testing::Combine(
        testing::Values(
            R"({"annotations": {"careen.dev/holds":
            "{\"holds\": {\"profile/p/begun\": {\"since\": \"2025-12-18T00:00:00Z\", \"begun\": true, \"cordon\": true}}}"}})",
            R"({"annotations": {"cloud.sap/maintenance-data": null}, "labels": {"go": null}})",
            R"({"annotations": {"cloud.sap/maintenance-data": null}, "labels": {"cloud.sap/maintenance-state": null, "go": null}})",
            R"({"annotations": {"cloud.sap/maintenance-data": "{\"profiles\": {\"p\": {\"current\": \"operational\", \"previous\": \"operational\", \"transition\": \"2020-01-01T00:00:00Z\"}}}"}, "labels": {"go": null}})"),
        testing::Bool()));

// By the leader itself, whose write has no answer, or by a successor.
TEST_P(ForgedRecordTest, GivesNoLeaseBack) {
  const auto& [forged, fails_over] = GetParam();
  add_node("n0", {{"go", ""}});
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    treatment.unanswered = moves(request);
    return treatment;
  };
  auto a = std::make_unique<Replica>(time, api, "a", kStaggerYaml);
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{1}));
  if (fails_over) a = nullptr;
  api.treat = nullptr;
  api.merge(path("n0"), Json::object({{"metadata", Json::parse(forged).value()}}));
  add_node("n1", {{"go", ""}});
  if (fails_over) a = std::make_unique<Replica>(time, api, "b", kStaggerYaml);
  time.run_for(minutes{9});
  EXPECT_NE(state_of("n1"), "maintenance-required");
  EXPECT_EQ(holder(), "n0");
  time.run_for(minutes{2});
  EXPECT_EQ(state_of("n1"), "maintenance-required");
}

TEST_F(BegunTest, ALeaseWhoseNodeIsGoneBeforeItsMoveIsKnownRunsOut) {
  add_node("n0", {{"go", ""}});
  api.treat = [](const Request& request) {
    sim::Treatment treatment = quick();
    treatment.unanswered = moves(request);
    return treatment;
  };
  Replica replica(time, api, "a", kStaggerYaml);
  ASSERT_TRUE(time.run_until([&] { return moved() == 1; }, minutes{1}));
  api.treat = nullptr;
  api.erase(path("n0"));
  add_node("n1", {{"go", ""}});
  time.run_for(minutes{9});
  EXPECT_NE(state_of("n1"), "maintenance-required");
  EXPECT_THAT(replica.ledger.entries(), IsEmpty());
  time.run_for(minutes{2});
  EXPECT_EQ(state_of("n1"), "maintenance-required");
}

TEST_F(BegunTest, ADryRunTakesNothing) {
  add_nodes(2);
  Replica replica(time, api, "a", kStaggerYaml, ControllerOptions{.dry_run = true});
  time.run_for(minutes{30});
  EXPECT_EQ(moved(), 0);
  EXPECT_EQ(api.count("PATCH nodes"), 0);
  EXPECT_EQ(holder(), "");
  EXPECT_EQ(replica.late(), 0);
}

}  // namespace
}  // namespace careen::profiles
