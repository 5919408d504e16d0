// Pauses: nothing of a profile that somebody has paused is decided or sent, whatever had been decided before; what has
// begun stays, and afterwards everything continues.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/drains.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/test_replica.h"
#include "drain/holds.h"

namespace careen::profiles {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using testing::HasSubstr;
using testing::IsEmpty;

budget::PauseRecord paused(const std::string& profile = "") {
  budget::PauseRecord record;
  record.pauses[profile] = {profile, "ana@host", *io::parse_rfc3339("2026-03-01T10:00:00Z"), "broken images"};
  return record;
}
constexpr const char* kText = "paused by ana@host since 2026-03-01T10:00:00Z: broken images";

// --- decisions ---

constexpr std::string_view kPausedYaml = R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: max, type: maxMaintenance, config: {max: 1}}
  notify:
  - name: tell
    type: slack
    schedule: {type: periodic, config: {interval: 1h}}
    config: {hook: "http://slack", channel: "#c", message: "{{ .Node.Name }} is {{ .State }}"}
  trigger:
  - {name: mark, type: alterLabel, config: {key: marked, value: here}}
  - {name: drain, type: eviction, config: {action: drain}}
profiles:
- name: p
  operational: {notify: tell, transitions: [{check: go, next: maintenance-required, trigger: mark}]}
  maintenance-required: {notify: tell, transitions: [{check: go && max, next: in-maintenance, trigger: drain}]}
  in-maintenance: {enter: mark}
- name: q
  operational: {transitions: [{check: go, next: maintenance-required}]}
)";

class PausedDecisionTest : public WorldTest {
 protected:
  PausedDecisionTest() { configure(kPausedYaml); }
  // As the transition into maintenance has begun it.
  void put_begun(std::string_view name) {
    put_in(name, "p", kReq, {{"go", ""}});
    NodeDraft draft(*nodes.find(name));
    draft.cordon(beginner_name("p"), now, true);
    const auto patch = Json::parse(draft.merge_patch());
    kube::Node held = *nodes.find(name);
    held.unschedulable = true;
    held.annotations.emplace_back(
        atoms.intern(drain::kHoldsAnnotation),
        std::string((*patch)["metadata"]["annotations"][drain::kHoldsAnnotation].text().value_or("")));
    std::sort(held.annotations.begin(), held.annotations.end(),
              [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
    held.version = ++version;
    nodes.put(std::move(held));
  }
};

TEST_F(PausedDecisionTest, NothingIsMovedTriggeredOrTold) {
  put_in("n", "p", State::operational, {{"go", ""}});
  ASSERT_TRUE(decide_on("n").effects.patch);
  pauses.set(paused("p"));
  const Decision decision = decide_on("n");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_THAT(decision.effects.posted, IsEmpty());
  EXPECT_FALSE(decision.waits.wake) << "only the end of the pause can change it";
  EXPECT_THAT(to_text(decision.why), HasSubstr(kText));
  ASSERT_EQ(decision.profiles.size(), 1U);
  ASSERT_EQ(decision.profiles[0].held_up.size(), 1U);
  EXPECT_EQ(decision.profiles[0].held_up[0].text, kText);
  EXPECT_EQ(decision.profiles[0].held_up[0].code, Why::Code::paused);
  EXPECT_EQ(decision.profiles[0].next, "operational");
  EXPECT_FALSE(decision.failing());
}

TEST_F(PausedDecisionTest, MessagesThatGoFirstAreNotDueEither) {
  notify_blocking = true;
  put_in("n", "p", kReq, {{"go", ""}});
  ASSERT_TRUE(decide_on("n").effects.announced);
  pauses.set(paused("p"));
  EXPECT_FALSE(decide_on("n").effects.announced);
}

TEST_F(PausedDecisionTest, AStateIsNotEntered) {
  put("n", {{std::string(kProfileLabel), "p"}, {std::string(kStateLabel), "in-maintenance"}},
      {{std::string(kDataAnnotation), data_of("p", kIn, now - minutes{1}, kReq)}});
  ASSERT_EQ(label(decide_on("n"), "marked"), "here");
  pauses.set(paused());
  EXPECT_FALSE(decide_on("n").effects.patch);
}

TEST_F(PausedDecisionTest, AnotherProfileOfTheNodeGoesOn) {
  NodeData both;
  both.profiles.emplace("p", ProfileData{now - minutes{5}, State::operational, State::operational});
  both.profiles.emplace("q", ProfileData{now - minutes{5}, State::operational, State::operational});
  both.notifications["tell"] = now;
  put("n", {{std::string(kProfileLabel), "p--q"}, {std::string(kStateLabel), "operational"}, {"go", ""}},
      {{std::string(kDataAnnotation), format_node_data(both)}});
  pauses.set(paused("p"));
  const Decision decision = decide_on("n");
  ASSERT_EQ(decision.effects.moved.size(), 1U);
  EXPECT_EQ(decision.effects.moved[0].profile, "q");
  EXPECT_FALSE(label(decision, "marked"));
  pauses.set(paused());
  EXPECT_THAT(decide_on("n").effects.moved, IsEmpty());
}

TEST_F(PausedDecisionTest, WhatHasBegunStaysAsItIs) {
  put_begun("n");
  reserve("n");
  pauses.set(paused("p"));
  const Decision decision = decide_on("n");
  EXPECT_FALSE(decision.effects.patch) << *decision.effects.patch;
  EXPECT_TRUE(decision.keeps());
  EXPECT_THAT(decision.effects.drains_left, testing::ElementsAre("profile/p"));
}

// It would go on, if the label were still there; that it is not is an undo, which no pause holds back.
TEST_F(PausedDecisionTest, WhatHasBegunForAProfileThatTheNodeNoLongerHasIsGivenBack) {
  put_begun("n");
  kube::Node other = *nodes.find("n");
  for (auto& [key, value] : other.labels) {
    if (key.view() == kProfileLabel) value = atoms.intern("q");
  }
  other.version = ++version;
  nodes.put(std::move(other));
  pauses.set(paused());
  const Decision decision = decide_on("n");
  ASSERT_TRUE(decision.effects.patch);
  EXPECT_THAT(*decision.effects.patch, HasSubstr("\"unschedulable\":null"));
}

TEST_F(PausedDecisionTest, WithoutAnybodyWhoKnowsNothingIsPaused) {
  put_in("n", "p", State::operational, {{"go", ""}});
  EXPECT_EQ(decide({nodes, *config, facts, deliveries}, "n", now).effects.moved.size(), 1U);
}

// --- the controller ---

class PausedControllerTest : public ClusterTest {
 protected:
  PausedControllerTest() {
    api.treat = [](const Request&) { return sim::Treatment{.before = milliseconds{2}, .after = milliseconds{2}}; };
  }
  static bool is_node_patch(const Request& request) {
    return request.method == "PATCH" && request.path.starts_with("/api/v1/nodes/");
  }
  static bool is_ledger_write(const Request& request) {
    return request.method != "GET" && request.path.find("careen-ledger") != std::string::npos;
  }
  int moves = 0;  // states that careen has written
  void count_moves() {
    api.changed = [this](std::string_view changed, kube::JsonView object) {
      const std::set<std::string> before = in;
      observe(changed, object);
      moves += before != in ? 1 : 0;
    };
  }
};

TEST_F(PausedControllerTest, NothingMovesUntilItIsOver) {
  add_nodes(6);
  Replica replica(time, api, "a", round(2, "5s"));
  ASSERT_TRUE(time.run_until([&] { return in.size() == 2; }, minutes{1}));
  replica.pauses.set(paused("p"));
  const auto then = in;
  time.run_for(minutes{30});
  EXPECT_EQ(in, then) << "nobody enters, and nobody leaves";
  EXPECT_THAT(to_text(replica.controller.explain("n000").why), HasSubstr(kText));
  replica.pauses.set({});
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{2}));
  EXPECT_EQ(replica.late(), 0);
}

TEST_F(PausedControllerTest, OnResumeEverythingIsDecidedAtOnce) {
  add_nodes(1);
  Replica replica(time, api, "a", round(1, "1h"));
  replica.pauses.set(paused());
  time.run_for(minutes{5});
  EXPECT_TRUE(in.empty());
  replica.pauses.set({});
  EXPECT_TRUE(time.run_until([&] { return !in.empty(); }, seconds{1}));
}

// The place is reserved, and its record is on the way to the ledger, when somebody pauses.
TEST_F(PausedControllerTest, AnAdmissionThatIsNotSentYetIsGivenBack) {
  add_nodes(1);
  Replica* replica = nullptr;
  bool caught = false;
  api.treat = [&](const Request& request) {
    if (replica && is_ledger_write(request) && replica->ledger.entries().size() == 1 && !caught) {
      caught = true;
      replica->loop->post([&] { replica->pauses.set(paused("p")); });
    }
    return sim::Treatment{.before = milliseconds{2}, .after = milliseconds{2}};
  };
  Replica one(time, api, "a", round(1, "1h"));
  replica = &one;
  ASSERT_TRUE(time.run_until([&] { return caught; }, minutes{1}));
  time.run_for(minutes{5});
  EXPECT_TRUE(in.empty());
  EXPECT_EQ(state_of("n000"), "maintenance-required");
  EXPECT_TRUE(one.ledger.entries().empty()) << "the place is free";
  one.pauses.set({});
  EXPECT_TRUE(time.run_until([&] { return !in.empty(); }, seconds{2}));
}

// The server is busy; the write waits to be repeated.
TEST_F(PausedControllerTest, AWriteIsNotSentAgain) {
  add_nodes(1);
  bool busy = true;
  int patches = 0;
  api.treat = [&](const Request& request) {
    sim::Treatment treatment{.before = milliseconds{2}, .after = milliseconds{2}};
    if (is_node_patch(request) && request.body.find("in-maintenance") != std::string::npos) {
      ++patches;
      if (busy) treatment.refuse = sim::ApiServer::refusal(429, "TooManyRequests", "later");
    }
    return treatment;
  };
  Replica replica(time, api, "a", round(1, "1h"));
  ASSERT_TRUE(time.run_until([&] { return patches == 1; }, minutes{1}));
  replica.pauses.set(paused("p"));
  busy = false;
  time.run_for(minutes{5});
  EXPECT_EQ(patches, 1);
  EXPECT_TRUE(in.empty());
  EXPECT_TRUE(replica.ledger.entries().empty());
  EXPECT_TRUE(replica.problems.open().empty());
  replica.pauses.set({});
  EXPECT_TRUE(time.run_until([&] { return !in.empty(); }, seconds{2}));
}

// What is on the wire when the pause comes either takes effect, or never does.
TEST_F(PausedControllerTest, AWriteOnTheWireHasArrivedOrNeverWill) {
  for (const bool arrives : {true, false}) {
    SCOPED_TRACE(arrives);
    api.erase(path("n000"));
    api.erase("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger");
    add_nodes(1);
    bool sent = false;
    api.treat = [&](const Request& request) {
      sim::Treatment treatment{.before = milliseconds{2}, .after = milliseconds{2}};
      if (is_node_patch(request) && request.body.find("in-maintenance") != std::string::npos && !sent) {
        sent = true;
        if (arrives) treatment.after = seconds{5};
        if (!arrives) treatment.held = true;
      }
      return treatment;
    };
    Replica replica(time, api, "a", round(1, "1h"));
    ASSERT_TRUE(time.run_until([&] { return sent; }, minutes{1}));
    time.run_for(milliseconds{10});
    replica.pauses.set(paused("p"));
    time.run_for(seconds{30});
    api.release_held();
    time.run_for(minutes{5});
    EXPECT_EQ(state_of("n000"), arrives ? "in-maintenance" : "maintenance-required");
    EXPECT_TRUE(replica.ledger.entries().empty());
    EXPECT_TRUE(replica.problems.open().empty());
  }
}

TEST_F(PausedControllerTest, ARestartChangesNothing) {
  add_nodes(4);
  {
    Replica first(time, api, "a", round(1, "5s"));
    ASSERT_TRUE(time.run_until([&] { return in.size() == 1; }, minutes{1}));
    first.pauses.set(paused());
    time.run_for(minutes{1});
  }
  const auto then = in;
  Replica second(time, api, "b", round(1, "5s"));
  second.pauses.set(paused());
  time.run_for(minutes{10});
  EXPECT_EQ(in, then);
  second.pauses.set({});
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{2}));
  EXPECT_LE(most, 1U);
}

// The first one dies with an admission in the ledger whose node was not written.
TEST_F(PausedControllerTest, ASuccessorGivesBackWhatWasOnlyAdmitted) {
  add_nodes(2);
  api.treat = [&](const Request& request) {
    sim::Treatment treatment{.before = milliseconds{2}, .after = milliseconds{2}};
    treatment.lost = is_node_patch(request) && request.body.find("in-maintenance") != std::string::npos;
    return treatment;
  };
  {
    Replica first(time, api, "a", round(1, "5s"));
    ASSERT_TRUE(time.run_until([&] { return first.ledger.entries().size() == 1; }, minutes{1}));
    time.run_for(seconds{1});
  }
  api.treat = nullptr;
  Replica second(time, api, "b", round(1, "5s"));
  second.pauses.set(paused("p"));
  time.run_for(minutes{2});
  EXPECT_TRUE(in.empty());
  EXPECT_TRUE(second.ledger.entries().empty());
  second.pauses.set({});
  ASSERT_TRUE(time.run_until([&] { return all_done(); }, minutes{2}));
  EXPECT_LE(most, 1U);
}

// --- drains and leases ---

constexpr const char* kDrains = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: max, type: maxMaintenance, config: {max: 1}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
  trigger:
  - {name: drain, type: eviction, config: {action: drain}}
profiles:
- name: p
  operational: {transitions: [{check: go && max && turn, next: in-maintenance, trigger: drain}]}
)";

class PausedDrainTest : public PausedControllerTest {
 protected:
  void add_pod(std::string_view pod, std::string_view node) {
    Json object = Json::object({{"kind", "Pod"}, {"apiVersion", "v1"}});
    object.set({"metadata", "labels", "app"}, "web");
    object.set({"spec", "nodeName"}, node);
    object.set({"spec", "terminationGracePeriodSeconds"}, 0);
    object.set({"status", "phase"}, "Running");
    api.put("/api/v1/namespaces/default/pods/" + std::string(pod), std::move(object));
  }
  bool cordoned(std::string_view node) const {
    return api.object(path(node))["spec"]["unschedulable"].boolean().value_or(false);
  }
  void count_evictions() {
    api.treat = [this](const Request& request) {
      evictions += request.path.ends_with("/eviction") ? 1 : 0;
      return sim::Treatment{.before = milliseconds{2}, .after = milliseconds{2}};
    };
  }
  int evictions = 0;
};

TEST_F(PausedDrainTest, ADrainThatHasBegunKeepsItsPlaceAndSendsNothing) {
  add_nodes(2);
  add_pod("web", "n000");
  count_evictions();
  auto first = std::make_unique<Replica>(time, api, "a", kDrains);
  ASSERT_TRUE(time.run_until([&] { return cordoned("n000") || cordoned("n001"); }, minutes{1}));
  first->pauses.set(paused("p"));
  const int sent = evictions;
  const bool n000 = cordoned("n000");
  time.run_for(io::hours{1});
  EXPECT_EQ(evictions, sent);
  EXPECT_NE(cordoned("n000"), cordoned("n001"));
  EXPECT_EQ(first->ledger.entries().size(), 1U);
  EXPECT_TRUE(in.empty());
  // The successor finds the same.
  first.reset();
  Replica second(time, api, "b", kDrains);
  second.pauses.set(paused("p"));
  time.run_for(io::hours{1});
  EXPECT_EQ(evictions, sent);
  EXPECT_EQ(cordoned("n000"), n000);
  EXPECT_EQ(second.ledger.entries().size(), 1U);
  EXPECT_TRUE(in.empty());
  second.pauses.set({});
  EXPECT_TRUE(time.run_until([&] { return in.size() == 1; }, minutes{1}));
  EXPECT_LE(most, 1U);
}

TEST_F(PausedDrainTest, ALeaseThatWasTakenForAnythingNotBegunIsGivenBack) {
  add_nodes(1);
  bool taken = false;
  Replica* replica = nullptr;
  api.treat = [&](const Request& request) {
    const bool takes = request.method != "GET" && (request.path + request.body).find("turn-0\"") != std::string::npos &&
                       request.path.find("careen-ledger") == std::string::npos;
    if (takes && !taken) {
      taken = true;
      replica->loop->post([&] { replica->pauses.set(paused("p")); });
    }
    return sim::Treatment{.before = milliseconds{2}, .after = milliseconds{2}};
  };
  Replica one(time, api, "a", kDrains);
  replica = &one;
  ASSERT_TRUE(time.run_until([&] { return taken; }, minutes{1}));
  time.run_for(minutes{1});
  EXPECT_FALSE(cordoned("n000"));
  EXPECT_TRUE(one.ledger.entries().empty());
  one.pauses.set({});
  EXPECT_TRUE(time.run_until([&] { return cordoned("n000"); }, seconds{5})) << "nobody waits for the lease to run out";
}

}  // namespace
}  // namespace careen::profiles
