// Profiles ask for places in MaintenanceLimits, beside everybody else who has nodes out.
#include "controllers/profiles/limit_places.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "controllers/profiles/test_replica.h"
#include "limits/desk.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Request;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* kTwoAtOnce = R"({"type":"node","maxUnavailable":2})";

// Decisions alone: what is taken is taken by the test.
class AskingTest : public WorldTest {
 protected:
  AskingTest() {
    facts.limits = &places;
    desk.known();
    configure(R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
profiles:
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: go, next: in-maintenance}]}
- name: q
  operational: {transitions: [{check: go, next: in-maintenance}]}
)");
    places.rebuild(&*config);
  }
  void limit(std::string_view name, std::string_view spec) {
    auto object = kube::decode_object(fmt::format(
        R"({{"metadata":{{"name":"{0}","uid":"u-{0}","resourceVersion":"{1}"}},"spec":{2}}})", name, ++version, spec));
    ASSERT_TRUE(object) << object.error().message;
    limits.put(std::move(*object));
  }
  // A node that is ready; `spec` as the API server has it.
  void put_node(std::string_view name, const Texts& labels, std::string_view spec = "{}") {
    kube::Json json = node_json(name, "uid-" + std::string(name), ++version, labels);
    json.set({"spec"}, *kube::Json::parse(spec));
    json.set({"status"}, *kube::Json::parse(R"({"conditions":[{"type":"Ready","status":"True"}]})"));
    auto node = kube::decode_node(json.dump(), atoms);
    ASSERT_TRUE(node);
    nodes.put(std::move(*node));
    occupancy.update(name);
    places.update(name);
  }
  void put_required(std::string_view name, std::string_view profile = "p") {
    put_node(name, {{kProfile, std::string(profile)}, {"go", ""}});
    Texts labels{{kProfile, std::string(profile)}, {kState, std::string(name_of(kReq))}, {"go", ""}};
    kube::Json json = node_json(name, "uid-" + std::string(name), ++version, labels,
                                {{kData, data_of(profile, kReq, now - io::hours{1})}});
    json.set({"status"}, *kube::Json::parse(R"({"conditions":[{"type":"Ready","status":"True"}]})"));
    nodes.put(std::move(*kube::decode_node(json.dump(), atoms)));
    occupancy.update(name);
    places.update(name);
  }
  // One thing after the other, as the controller does it.
  Decision decide_and_wait(std::string_view name) {
    Decision decision = decide_on(name);
    if (const auto* admission = decision.admission()) {
      ledger.reserve(*admission);
      occupancy.update(name);
      places.update(name);
    }
    places.wait(std::string(name), decision.waits.limits);
    return decision;
  }
  std::vector<std::string> holders() const {
    std::vector<std::string> out;
    for (const limits::GroupState& group : desk.groups()) {
      for (const limits::Holder& holder : group.holders) out.push_back(holder.actor + " " + holder.node);
    }
    return out;
  }

  kube::Store<kube::Object> limits;
  limits::Desk desk{*loop, nodes, limits, ledger};
  std::vector<std::string> woken;
  LimitPlaces places{
      *loop, &desk, {nodes, ledger, occupancy, states}, [this](const std::string& node) { woken.push_back(node); }};
};

TEST_F(AskingTest, ANodeWaitsForAPlaceBesideWhatOthersHaveOut) {
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  put_node("other", {}, R"({"unschedulable":true})");
  put_required("n1");
  const Decision decision = decide_and_wait("n1");
  EXPECT_FALSE(decision.admission());
  EXPECT_EQ(state(decision), std::nullopt);
  ASSERT_THAT(decision.waits.limits, SizeIs(1));
  EXPECT_EQ(decision.waits.limits.front().who, "profile/p");
  ASSERT_THAT(decision.profiles, SizeIs(1));
  ASSERT_THAT(decision.profiles.front().held_up, SizeIs(1));
  EXPECT_EQ(decision.profiles.front().held_up.front().code, Why::Code::no_place);
  EXPECT_THAT(to_text(decision.why), HasSubstr("- waits for place 1 in limit workers (1 of 1: 1 unknown on other"));
  put_node("other", {});
  time.run_for(seconds{1});
  EXPECT_THAT(woken, ElementsAre("n1"));
  EXPECT_TRUE(decide_and_wait("n1").admission());
  EXPECT_TRUE(desk.has("n1", "profile/p"));
}

TEST_F(AskingTest, WhereNoLimitIsAboutTheNodeNobodyIsAsked) {
  limit("others", R"({"type":"node","maxUnavailable":0,"selector":{"matchLabels":{"role":"other"}}})");
  put_required("n1");
  EXPECT_FALSE(places.concern("n1"));
  EXPECT_TRUE(decide_and_wait("n1").admission());
}

TEST_F(AskingTest, OnlyMaintenanceNeedsAPlace) {
  limit("workers", R"({"type":"node","maxUnavailable":0})");
  put_node("n1", {{kProfile, "p"}, {"go", ""}});
  const Decision decision = decide_and_wait("n1");
  EXPECT_EQ(state(decision), name_of(kReq));
  EXPECT_THAT(decision.waits.limits, IsEmpty());
}

TEST_F(AskingTest, AnAdmissionKeepsItsPlaceUntilTheNodeIsBack) {
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  put_required("n1");
  put_required("n2");
  ASSERT_TRUE(decide_and_wait("n1").admission());
  EXPECT_TRUE(decide_on("n1").admission()) << "who has a place is not asked again";
  EXPECT_FALSE(decide_and_wait("n2").admission());
  // The node says so, and the admission is over.
  put_in("n1", "p", kIn);
  ledger.finish("uid-n1");
  occupancy.update("n1");
  places.update("n1");
  EXPECT_TRUE(desk.has("n1", "profile/p"));
  EXPECT_FALSE(decide_and_wait("n2").admission());
  put_node("n1", {{kProfile, "p"}});
  EXPECT_FALSE(desk.has("n1", "profile/p"));
  time.run_for(minutes{1});
  EXPECT_THAT(woken, ElementsAre("n2"));
  EXPECT_TRUE(decide_and_wait("n2").admission());
}

TEST_F(AskingTest, ANodeThatIsMadeAnewHasNoneOfTheOldOnesPlaces) {
  limit("workers", R"({"type":"node","maxUnavailable":2})");
  put_in("n1", "p", kIn);
  places.update("n1");
  ASSERT_TRUE(desk.has("n1", "profile/p"));
  nodes.remove("n1", ++version);
  occupancy.update("n1");
  places.update("n1");
  EXPECT_FALSE(desk.has("n1", "profile/p"));
}

TEST_F(AskingTest, WhoStopsWaitingLeavesTheQueue) {
  limit("workers", R"({"type":"node","maxUnavailable":0})");
  put_required("n1");
  decide_and_wait("n1");
  EXPECT_THAT(desk.queue(), SizeIs(1));
  const io::Wall since = places.asking("n1", "p", now + io::hours{1}).since;
  EXPECT_EQ(since, now) << "it has been asking since then";
  put_node("n1", {{kProfile, "p"}});
  decide_and_wait("n1");
  EXPECT_THAT(desk.queue(), IsEmpty());
  EXPECT_EQ(places.nodes_if([](const std::string&) { return true; }), 0u);
}

TEST_F(AskingTest, NothingIsAdmittedUntilTheLimitsAreKnown) {
  put_required("n1");
  desk.unknown("the limits cannot be read");
  EXPECT_THAT(to_text(decide_and_wait("n1").why), HasSubstr("waits for a place: the limits cannot be read"));
  desk.known();
  time.run_for(seconds{1});
  EXPECT_THAT(woken, ElementsAre("n1"));
  EXPECT_TRUE(decide_and_wait("n1").admission());
}

// The whole controller, under limits that are wider than those of its checks.
class LimitedClusterTest : public ClusterTest {
 protected:
  void add_ready_nodes(int count, const Texts& labels = {{"go", ""}}) {
    add_nodes(count, labels);
    for (int i = 0; i < count; ++i) make_ready(name(i));
  }
  void make_ready(std::string_view node) {
    api.merge(path(node), *kube::Json::parse(R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
  }
  void cordon(std::string_view node, bool on) {
    api.merge(path(node), kube::Json::object().set({"spec", "unschedulable"}, on));
  }
};

TEST_F(LimitedClusterTest, ACampaignKeepsTheLimitAndGetsThrough) {
  add_ready_nodes(12);
  Replica replica(time, api, "a", round(100, "20s"));
  replica.limit("workers", kTwoAtOnce);
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 2u);
  EXPECT_EQ(replica.late(), 0) << "whose turn it is was told";
  time.run_for(seconds{1});
  EXPECT_THAT(replica.desk.queue(), IsEmpty());
  for (const auto& [what, count] : replica.controller.unfinished()) EXPECT_EQ(count, 0u) << what;
}

TEST_F(LimitedClusterTest, BothHaveToAllowIt) {
  add_ready_nodes(6);
  Replica replica(time, api, "a", round(1, "20s"));
  replica.limit("workers", kTwoAtOnce);
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
  EXPECT_EQ(most, 1u);
}

TEST_F(LimitedClusterTest, WhatSomebodyCordonsCountsAndIsWaitedFor) {
  add_ready_nodes(6);
  add_node("others", {});
  make_ready("others");
  known.erase("others");
  cordon("others", true);
  Replica replica(time, api, "a", round(100, "20s"));
  replica.limit("workers", R"({"type":"node","maxUnavailable":1})");
  time.run_for(minutes{10});
  EXPECT_EQ(most, 0u);
  const double decisions = replica.decisions();
  time.run_for(minutes{10});
  EXPECT_LT(replica.decisions() - decisions, 30) << "who waits for a place is told, and does not look";
  cordon("others", false);
  ASSERT_TRUE(time.run_until([&] { return done.size() == 6; }, minutes{10}));
  EXPECT_EQ(most, 1u);
}

TEST_F(LimitedClusterTest, ALimitThatComesLaterCountsWhoIsOut) {
  add_ready_nodes(6);
  Replica replica(time, api, "a", round(100, "1h"));
  ASSERT_TRUE(time.run_until([&] { return in.size() == 6; }, minutes{1}));
  add_node("late", {{"go", ""}});
  replica.limit("workers", R"({"type":"node","maxUnavailable":6})");
  time.run_for(minutes{30});
  EXPECT_EQ(state_of("late"), name_of(State::maintenance_required));
  ASSERT_TRUE(time.run_until([&] { return state_of("late") == name_of(State::in_maintenance); }, minutes{40}));
}

// The same as of limits of checks: its last writes arrive when the next one is at its j-th.
TEST_F(LimitedClusterTest, ADeadLeadersLastWritesMayArriveAtAnyTime) {
  constexpr int kNodes = 5;
  int ends = 0;
  for (int k = 1; ends == 0; ++k) {
    for (const int j : {0, 1, 3, 6}) {
      SCOPED_TRACE(testing::Message() << "write " << k << " arrives at write " << j);
      api.treat = nullptr;
      api.release_held();
      for (const std::string& node : std::set<std::string>(known)) api.erase(path(node));
      api.erase("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger");
      most = 0;
      add_ready_nodes(kNodes);
      int sent = 0;
      const auto writes = [](const Request& request) { return request.method != "GET"; };
      const sim::Treatment quick{.before = milliseconds{3}, .after = milliseconds{3}};
      api.treat = [&](const Request& request) {
        sim::Treatment treatment = quick;
        if (writes(request) && ++sent >= k) treatment.held = true;
        return treatment;
      };
      auto a = std::make_unique<Replica>(time, api, "a", round(100, "2s"));
      a->limit("workers", kTwoAtOnce);
      if (!time.run_until([&] { return sent >= k; }, minutes{5})) {
        ends = k;
        break;
      }
      time.run_for(milliseconds{5});
      a.reset();
      sent = 0;
      api.treat = [&](const Request& request) {
        if (writes(request) && sent++ == j) api.release_held();
        return quick;
      };
      Replica b(time, api, "b", round(100, "2s"));
      b.limit("workers", kTwoAtOnce);
      ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{10}));
      api.release_held();
      ASSERT_LE(most, 2u);
      ASSERT_EQ(b.late(), 0);
    }
  }
  EXPECT_GT(ends, 3 * kNodes);
}

TEST_F(LimitedClusterTest, ARehearsalTakesPlacesAsItWould) {
  add_ready_nodes(2, {{"go", ""}, {kState, std::string(name_of(kReq))}});
  for (const std::string& node : {name(0), name(1)}) {
    api.merge(path(node),
              kube::Json::object().set({"metadata", "annotations", kData}, data_of("p", kReq, time.wall_now())));
  }
  Replica replica(time, api, "a", round(100, "20s"), ControllerOptions{.dry_run = true});
  replica.limit("workers", R"({"type":"node","maxUnavailable":1})");
  time.run_for(minutes{1});
  EXPECT_EQ(most, 0u);
  const auto says = [&](const std::string& node) { return to_text(replica.controller.explain(node).why); };
  EXPECT_THAT(says(name(0)), HasSubstr("moves to in-maintenance"));
  EXPECT_THAT(says(name(1)), HasSubstr("waits for place 1 in limit workers (1 of 1: 1 profile p on n000"));
}

}  // namespace
}  // namespace careen::profiles
