// The explorer itself: the same case runs the same way, faults strike, failures are made smaller.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "cases.h"
#include "drain_watch.h"
#include "event_watch.h"
#include "fact_log.h"
#include "hold_watch.h"
#include "message_watch.h"
#include "shrink.h"
#include "stagger_watch.h"
#include "workers.h"

namespace careen::explore {
namespace {

Outcome run_seed(uint64_t seed, bool timeline) {
  Cases cases;
  const auto [one, undisturbed] = cases.make(seed);
  return run_case(one, undisturbed.end, {.timeline = timeline});
}

TEST(Explore, TheSameSeedRunsTheSameWay) {
  for (const uint64_t seed : {1, 8, 13}) {
    const Outcome first = run_seed(seed, true), second = run_seed(seed, true);
    ASSERT_GT(first.timeline.size(), 10000u);
    EXPECT_EQ(first.timeline, second.timeline) << "seed " << seed;
    EXPECT_EQ(first.end.nodes, second.end.nodes);
  }
}

TEST(Explore, WatchingDoesNotChangeTheRun) {
  const Outcome watched = run_seed(5, true), alone = run_seed(5, false);
  EXPECT_EQ(watched.virtual_time, alone.virtual_time);
  EXPECT_EQ(watched.writes, alone.writes);
}

TEST(Explore, AnotherSeedRunsAnotherWay) { EXPECT_NE(run_seed(1, true).timeline, run_seed(2, true).timeline); }

TEST(Explore, EveryNodeThatIsWantedGetsThroughAnUndisturbedCampaign) {
  const Campaign campaign = small_campaign(2, true);
  const Outcome outcome = run_undisturbed(campaign);
  EXPECT_FALSE(outcome.failed());
  EXPECT_EQ(outcome.transitions, 9);
  for (const auto& [node, state] : outcome.end.nodes) {
    EXPECT_NE(state.find("example.com/done-p=yes"), std::string::npos) << state;
    EXPECT_NE(state.find("example.com/mark-p=yes"), std::string::npos) << state;
    EXPECT_EQ(state.find("example.com/busy-p"), std::string::npos) << state;
  }
}

TEST(Explore, EachSystematicFaultStrikes) {
  SystematicCases all = systematic_cases();
  ASSERT_TRUE(all.failed.empty());
  std::erase_if(all.cases, [](const Systematic& one) {
    const auto& faults = one.one.perturbations;
    return one.one.isolation || faults.empty() || faults.front().action == Action::step_clock;
  });
  ASSERT_GT(all.cases.size(), 100u);
  for (size_t i = 0; i < all.cases.size(); i += 20) {
    const Systematic& one = all.cases[i];
    const Coverage coverage = run(one).coverage;
    EXPECT_EQ(coverage.count(Action::crash) + coverage.count(Action::mask), 1) << one.name;
  }
}

// An expectation that nothing can meet stands for a bug: of all perturbations and nodes, only what it takes stays.
TEST(Explore, AFailingCaseIsMadeSmaller) {
  Case failing;
  failing.seed = 1;
  failing.campaign = small_campaign(1, false);
  for (int i = 1; i <= 6; ++i) {
    Perturbation one;
    one.index = i;
    one.trigger.at = io::seconds{i};
    one.action = i == 4 ? Action::add_finalizer : Action::edit_foreign_label;
    failing.perturbations.push_back(one);
  }
  // Only somebody who adds a finalizer breaks this.
  const auto broken = [](const Case& one) {
    for (const Perturbation& what : one.perturbations) {
      if (what.action == Action::add_finalizer) return true;
    }
    return false;
  };
  const Case smallest = make_smaller(failing, broken);
  ASSERT_EQ(smallest.perturbations.size(), 1u);
  EXPECT_EQ(smallest.perturbations[0].index, 4);
  EXPECT_EQ(smallest.campaign.nodes.size(), 1u);
}

TEST(Explore, APerturbationReadsAsASentence) {
  Perturbation what;
  what.index = 3;
  what.trigger = {Trigger::Kind::before_write, {}, Target::nodes, 7};
  what.action = Action::hold;
  what.span = io::seconds{45};
  EXPECT_EQ(what.text(), "#3 before write 7 to nodes: hold it, 45s");
  what.action = Action::crash;
  what.fate = Fate::late;
  what.delay = io::seconds{17};
  EXPECT_EQ(what.text(), "#3 before write 7 to nodes: crash, the write arrives 17s later, 45s");
}

TEST(Hours, BothEndsAreOutside) {
  Hours hours;
  hours.period = 10;
  hours.open = 4;
  hours.shift = 3;
  const io::Wall midnight{std::chrono::hours{24 * 365 * 56}};
  EXPECT_FALSE(hours.is_open(midnight + io::minutes{3}));
  EXPECT_TRUE(hours.is_open(midnight + io::minutes{3} + io::Duration{1}));
  EXPECT_FALSE(hours.is_open(midnight + io::minutes{7}));
  EXPECT_TRUE(hours.is_open(midnight + io::minutes{14}));
}

TEST(FactLog, KnowsWhatWasTrueInBetween) {
  FactLog log;
  const auto at = [](int seconds) { return io::Steady{io::seconds{seconds}}; };
  log.set("nodes", 3, at(0));
  log.set("nodes", 2, at(10));
  log.set("nodes", 4, at(20));
  EXPECT_EQ(log.largest("nodes", at(11), at(19)), 2);
  EXPECT_EQ(log.largest("nodes", at(9), at(19)), 3);
  EXPECT_EQ(log.largest("nodes", at(11), at(20)), 4);
  EXPECT_EQ(log.largest("others", at(0), at(20)), 0);
}

// A lease of a stagger check, as somebody writes it.
sim::Change lease_write(const char* before, const char* after) {
  sim::Change change;
  change.collection = "/apis/coordination.k8s.io/v1/leases";
  change.name = "pace-0";
  change.by = "careen-0.1";
  if (before) change.before = std::make_shared<const std::string>(before);
  change.object = std::make_shared<const std::string>(after);
  return change;
}

constexpr const char* kTakenByA =
    R"({"spec": {"holderIdentity": "a", "acquireTime": "2026-01-01T00:00:00.000000Z",
        "renewTime": "2026-01-01T00:00:00.000000Z", "leaseDurationSeconds": 10}})";

TEST(StaggerWatch, SeesALeaseTakenFromItsHolder) {
  std::string rules;
  StaggerWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.changed(lease_write(nullptr, kTakenByA), true, {});
  const char* taken_by_b = R"({"spec": {"holderIdentity": "b", "acquireTime": "2026-01-01T00:00:09.000000Z",
      "renewTime": "2026-01-01T00:00:09.000000Z", "leaseDurationSeconds": 10}})";
  EXPECT_EQ(rules, "");
  watch.changed(lease_write(kTakenByA, taken_by_b), true, {});
  EXPECT_EQ(rules, "stagger ");
}

TEST(StaggerWatch, SeesALeaseThatStaysWithoutATransition) {
  std::string rules;
  StaggerWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.changed(lease_write(nullptr, kTakenByA), true, {});
  const io::Wall taken = *io::parse_rfc3339("2026-01-01T00:00:00Z");
  watch.check_left(io::Steady{io::seconds{2}}, taken + io::seconds{2}, {});
  EXPECT_EQ(rules, "");
  watch.check_left(io::Steady{io::seconds{8}}, taken + io::seconds{8}, {});
  EXPECT_EQ(rules, "begun ");
}

TEST(StaggerWatch, SeesWhoPassesWithoutALease) {
  std::string rules;
  StaggerWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.moved("a", {"pace", io::seconds{10}, 1, false, false}, *io::parse_rfc3339("2026-01-01T00:00:00Z"), false);
  EXPECT_EQ(rules, "stagger ");
}

TEST(MessageWatch, SeesWhatWasNeverSo) {
  std::string rules;
  Settings settings;
  Plan plan;
  plan.name = "p";
  plan.tellings = {{"tell", Telling::Way::mail, Telling::When::oneshot, {}, {profiles::State::operational}}};
  settings.plans = {plan};
  MessageWatch watch(settings, [&](const std::string& rule, const std::string&) { rules += rule + " "; });
  sim::Outside::Message message;
  message.way = "mail";
  message.text = "tell n00 uid p operational 5";
  watch.arrived(message);
  EXPECT_EQ(rules, "message ");
}

TEST(Explore, DrainsRunTheSameWay) {
  Cases cases(Family::drains);
  const auto [one, undisturbed] = cases.make(3);
  ASSERT_FALSE(undisturbed.failed());
  const Outcome first = run_case(one, undisturbed.end, {.timeline = true});
  const Outcome second = run_case(one, undisturbed.end, {.timeline = true});
  EXPECT_GT(first.writes.at(Target::pods), 0);
  EXPECT_EQ(first.timeline, second.timeline);
}

// A node as the API server has it.
NodeFacts node_with(const std::string& spec, const std::string& annotations = "{}") {
  return NodeFacts::read(R"({"metadata": {"name": "a", "annotations": )" + annotations + R"(}, "spec": )" + spec + "}");
}

constexpr const char* kHeld =
    R"({"careen.dev/holds": "{\"holds\": {\"nodemaintenance/m\": {\"id\": \"u\", \"cordon\": true}}}"})";

TEST(HoldWatch, WhatWasThereBeforeStays) {
  std::string rules;
  HoldWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  const NodeFacts cordoned = node_with(R"({"unschedulable": true})"), free = node_with("{}");
  const NodeFacts held = node_with(R"({"unschedulable": true})", kHeld);
  watch.made("a", cordoned, {});
  watch.changed_by_careen("careen", "a", cordoned, held, false, {});
  EXPECT_TRUE(watch.holds("a", "nodemaintenance/m", "u"));
  watch.changed_by_careen("careen", "a", held, cordoned, false, {});
  EXPECT_EQ(rules, "");
  watch.changed_by_careen("careen", "a", cordoned, held, false, {});
  watch.changed_by_careen("careen", "a", held, free, false, {});
  EXPECT_EQ(rules, "undo ");
}

TEST(HoldWatch, WhatOthersUndoMeanwhileIsNotPutThereAgain) {
  std::string rules;
  HoldWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  const NodeFacts cordoned = node_with(R"({"unschedulable": true})");
  const NodeFacts held = node_with(R"({"unschedulable": true})", kHeld), uncordoned = node_with("{}", kHeld);
  watch.made("a", cordoned, {});
  watch.changed_by_careen("careen", "a", cordoned, held, false, {});
  watch.changed_by_others("a", held, uncordoned);
  watch.changed_by_careen("careen", "a", uncordoned, held, false, {});
  EXPECT_EQ(rules, "");
  watch.changed_by_careen("careen", "a", held, cordoned, false, {});
  EXPECT_EQ(rules, "undo ");
}

TEST(HoldWatch, NothingIsChangedWithoutARecord) {
  std::string rules;
  HoldWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.made("a", node_with("{}"), {});
  watch.changed_by_careen("careen", "a", node_with("{}"), node_with(R"({"unschedulable": true})"), false, {});
  EXPECT_EQ(rules, "undo ");
}

TEST(HoldWatch, KnowsWhoHoldsANodeOrDidAMomentAgo) {
  HoldWatch watch([](const std::string&, const std::string&) {});
  const auto at = [](int seconds) { return io::Steady{io::seconds{seconds}}; };
  const NodeFacts free = node_with("{}"), held = node_with(R"({"unschedulable": true})", kHeld);
  watch.made("a", held, {});
  EXPECT_EQ(watch.holders("a", at(1)), std::set<std::string>{"nodemaintenance/m"});
  watch.changed_by_careen("careen", "a", held, free, false, at(5));
  EXPECT_EQ(watch.holders("a", at(5)), std::set<std::string>{"nodemaintenance/m"});
  EXPECT_EQ(watch.holders("a", at(6)), std::set<std::string>{});
  watch.made("a", held, at(7));
  watch.forged("a", at(8));
  EXPECT_EQ(watch.holders("a", at(8)), std::set<std::string>{}) << "whose record it is cannot be said";
}

TEST(HoldWatch, WhatIsCalledOffIsLetGo) {
  std::string rules;
  HoldWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.made("a", node_with(R"({"unschedulable": true})", kHeld), {});
  watch.withdrawn("a", "nodemaintenance/m", true, io::Steady{io::seconds{10}});
  watch.check_withdrawn(io::Steady{io::seconds{12}}, {});
  EXPECT_EQ(rules, "");
  watch.check_withdrawn(io::Steady{io::seconds{20}}, io::Steady{io::seconds{19}});
  EXPECT_EQ(rules, "") << "careen could not act in between";
  watch.check_withdrawn(io::Steady{io::seconds{20}}, {});
  EXPECT_EQ(rules, "withdrawn ");
}

sim::Change pod_change(sim::Change::Type type, const char* by) {
  sim::Change change;
  change.type = type;
  change.by = by;
  change.object = std::make_shared<const std::string>(
      R"({"metadata": {"name": "p", "namespace": "ns", "uid": "u"}, "spec": {"nodeName": "a"}})");
  return change;
}

TEST(DrainWatch, SeesAPodThatIsHitWithoutBeingNamed) {
  std::string rules;
  const Report report = [&](const std::string& rule, const std::string&) { rules += rule + " "; };
  HoldWatch holds(report);
  const Settings settings;
  DrainWatch watch(settings, holds, report);
  watch.pod_changed(pod_change(sim::Change::Type::added, "people"), false, {});
  EXPECT_EQ(rules, "");
  watch.pod_changed(pod_change(sim::Change::Type::deleted, "careen"), true, {});
  EXPECT_EQ(rules, "evict ");
}

TEST(DrainWatch, ADrainedNodeHasBeenListedAndIsEmpty) {
  std::string rules;
  const Report report = [&](const std::string& rule, const std::string&) { rules += rule + " "; };
  HoldWatch holds(report);
  const Settings settings;
  DrainWatch watch(settings, holds, report);
  const auto at = [](int seconds) { return io::Steady{io::seconds{seconds}}; };
  watch.pod_changed(pod_change(sim::Change::Type::added, "people"), false, at(1));
  watch.check_drained("careen", "a", at(2));
  EXPECT_EQ(rules, "drained ");
  kube::Request list;
  list.method = "GET";
  list.path = "/api/v1/pods?fieldSelector=spec.nodeName%3Da";
  const std::string client = "careen";
  kube::Response fine;
  fine.status = 200;
  watch.served({client, list}, fine, at(3));
  watch.check_drained("careen", "a", at(2));
  EXPECT_EQ(rules, "drained drained ");
  watch.pod_changed(pod_change(sim::Change::Type::deleted, "kubelet"), false, at(4));
  watch.check_drained("careen", "a", at(2));
  EXPECT_EQ(rules, "drained drained ");
}

// An eviction may be on its way when somebody deletes the node; one that is sent later is a mistake.
TEST(DrainWatch, ANodeThatWasHeldUntilAMomentAgoMayStillBeDrained) {
  std::string rules;
  const Report report = [&](const std::string& rule, const std::string&) { rules += rule + " "; };
  HoldWatch holds(report);
  const Settings settings;
  DrainWatch watch(settings, holds, report);
  const auto at = [](int milliseconds) { return io::Steady{io::milliseconds{milliseconds}}; };
  holds.made("a", node_with(R"({"unschedulable": true})", kHeld), {});
  watch.pod_changed(pod_change(sim::Change::Type::added, "people"), false, {});
  kube::Request evict;
  evict.method = "POST";
  evict.path = "/api/v1/namespaces/ns/pods/p/eviction";
  evict.body = R"({"deleteOptions": {"preconditions": {"uid": "u"}}})";
  const std::string client = "careen";
  holds.gone("a", at(1000));
  watch.sent({client, evict}, {true, true}, at(1500));
  EXPECT_EQ(rules, "");
  watch.sent({client, evict}, {true, true}, at(3000));
  EXPECT_EQ(rules, "evict ");
}

// It asks for the node itself from time to time, also where it hears of nothing.
TEST(DrainWatch, ANodeThatWasMadeAnewIsNotTakenForItsPredecessor) {
  std::string rules;
  const Report report = [&](const std::string& rule, const std::string&) { rules += rule + " "; };
  HoldWatch holds(report);
  const Settings settings;
  DrainWatch watch(settings, holds, report);
  const auto at = [](int seconds) { return io::Steady{io::seconds{seconds}}; };
  const NodeFacts fresh = node_with("{}"), held = node_with(R"({"unschedulable": true})", kHeld);
  holds.made("a", held, {});
  watch.pod_changed(pod_change(sim::Change::Type::added, "people"), false, {});
  kube::Request evict;
  evict.method = "POST";
  evict.path = "/api/v1/namespaces/ns/pods/p/eviction";
  evict.body = R"({"deleteOptions": {"preconditions": {"uid": "u"}}})";
  const std::string client = "careen";
  watch.sent({client, evict}, {true, false, at(10)}, at(10));
  holds.gone("a", at(11));
  holds.made("a", fresh, at(12));
  watch.sent({client, evict}, {true, false, at(12)}, at(20));
  EXPECT_EQ(rules, "") << "it may have asked before";
  watch.sent({client, evict}, {true, false, at(13)}, at(20));
  EXPECT_EQ(rules, "evict ");
  holds.changed_by_careen("careen", "a", fresh, held, false, at(21));
  watch.sent({client, evict}, {true, false, at(22)}, at(22));
  EXPECT_EQ(rules, "evict ");
}

// What lets nobody go is asked seldom, and not when careen's own eviction has just used it up.
TEST(DrainWatch, ABudgetThatAllowsNothingIsAskedSeldom) {
  std::string rules;
  const Report report = [&](const std::string& rule, const std::string&) { rules += rule + " "; };
  HoldWatch holds(report);
  const Settings settings;
  DrainWatch watch(settings, holds, report);
  const auto at = [](int seconds) { return io::Steady{io::seconds{seconds}}; };
  const auto object = [](const char* text) { return std::make_shared<const std::string>(text); };
  holds.made("a", node_with(R"({"unschedulable": true})", kHeld), {});
  sim::Change pod = pod_change(sim::Change::Type::added, "people");
  pod.object = object(
      R"({"metadata": {"name": "p", "namespace": "ns", "uid": "u", "labels": {"app": "x"}}, "spec": {"nodeName": "a"},
          "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}})");
  watch.pod_changed(pod, false, {});
  const auto allow = [&](const char* text, io::Steady when) {
    sim::Change budget;
    budget.ns = "ns";
    budget.name = "b";
    budget.object = object(text);
    watch.budget_changed(budget, when);
  };
  allow(R"({"spec": {"selector": {"matchLabels": {"app": "x"}}}, "status": {"disruptionsAllowed": 0}})", {});
  kube::Request evict;
  evict.method = "POST";
  evict.path = "/api/v1/namespaces/ns/pods/p/eviction";
  evict.body = R"({"deleteOptions": {"preconditions": {"uid": "u"}}})";
  const std::string client = "careen";
  kube::Response refused, granted;
  refused.status = 429;
  granted.status = 201;
  watch.sent({client, evict}, {true, true}, at(100));
  watch.served({client, evict}, refused, at(100));
  EXPECT_EQ(rules, "");
  watch.sent({client, evict}, {true, true}, at(110));
  EXPECT_EQ(rules, "budget ") << "too soon";
  watch.sent({client, evict}, {true, true}, at(130));
  EXPECT_EQ(rules, "budget ");
  watch.served({client, evict}, granted, at(200));
  watch.sent({client, evict}, {true, true}, at(204));
  EXPECT_EQ(rules, "budget budget ") << "its own eviction has used it up";
  watch.sent({client, evict}, {true, true}, at(206));
  EXPECT_EQ(rules, "budget budget ");
}

sim::Change event_change(const char* name, const char* state, int count) {
  sim::Change change;
  change.name = name;
  change.by = "careen";
  change.object = std::make_shared<const std::string>(fmt::format(
      R"({{"message": "The node is now in the {} state caused by profile p", "involvedObject": {{"uid": "u"}},
          "series": {{"count": {}}}}})",
      state, count));
  return change;
}

TEST(EventWatch, EveryMoveHasOneEvent) {
  std::string rules;
  EventWatch watch([&](const std::string& rule, const std::string&) { rules += rule + " "; });
  watch.changed(event_change("e0", "in-maintenance", 1));
  EXPECT_EQ(rules, "event ") << "it has not happened";
  rules.clear();
  watch.moved("u", "p", "operational");
  watch.check_end();
  EXPECT_EQ(rules, "event ") << "nobody tells";
  rules.clear();
  watch.moved("u", "p", "operational");
  watch.changed(event_change("e1", "operational", 1));
  watch.changed(event_change("e1", "operational", 2));
  watch.check_end();
  EXPECT_EQ(rules, "") << "a repetition is counted";
  watch.changed(event_change("e2", "operational", 1));
  watch.check_end();
  EXPECT_EQ(rules, "event ") << "told once too often";
  rules.clear();
  watch.moved("v", "p", "operational");
  watch.rewritten("v");
  watch.check_end();
  EXPECT_EQ(rules, "event ") << "told once too often, and nothing of the node whose record others have changed";
  watch.moved("v", "p", "operational");
  watch.check_end();
  EXPECT_EQ(rules, "event event event ") << "but of its next move";
}

TEST(Workers, FindTheFirstThatFailsWhoeverRunsIt) {
  for (const int processes : {1, 3}) {
    Tally tally;
    Outcome outcome;
    outcome.transitions = 2;
    outcome.coverage.hit(Action::crash, "before PATCH nodes");
    const auto work = [&](uint64_t piece, Tally& counted) {
      counted.add(outcome);
      return piece != 20 && piece != 30;
    };
    EXPECT_EQ(first_failing(50, processes, tally, work), 20u);
    EXPECT_GE(tally.coverage().count(Action::crash), 21);
    EXPECT_EQ(first_failing(20, processes, tally, work), std::nullopt);
  }
}

TEST(Workers, APieceThatEndsItsProcessHasFailed) {
  Tally tally;
  EXPECT_EQ(first_failing(8, 2, tally,
                          [](uint64_t piece, Tally&) {
                            if (piece == 5) _exit(3);
                            return true;
                          }),
            5u);
}

TEST(Explore, ABrokenWebhookKeepsSomeNodesAndNeverAll) {
  Campaign campaign = crowd_campaign(3, 1, {});
  Perturbation what;
  for (what.choice = 0; what.choice < 200; ++what.choice) {
    const size_t stuck = stuck_nodes(what, campaign).size();
    EXPECT_GE(stuck, 1u);
    EXPECT_LE(stuck, 2u);
  }
}

}  // namespace
}  // namespace careen::explore
