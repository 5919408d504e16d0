// Chains that drain: a transition that begins with a cordon and continues, and a state whose `enter` chain drains.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/drains.h"
#include "controllers/profiles/test_support.h"
#include "drain/holds.h"
#include "drain/progress.h"

namespace careen::profiles {
namespace {

using drain::Progress;
using drain::Stage;
using io::minutes;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kDrainChainsYaml = R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: max, type: maxMaintenance, config: {max: 1}}
  - {name: turn, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
  notify:
  - name: tell
    type: slack
    schedule: {type: oneshot, config: {}}
    config: {hook: "http://slack", channel: "#c", message: "{{ .Node.Name }} is {{ .State }}"}
  trigger:
  - {name: mark, type: alterLabel, config: {key: marked, value: here}}
  - {name: empty, type: alterLabel, config: {key: empty, value: "yes"}}
  - {name: guard, type: alterFinalizer, config: {key: example.com/guard}}
  - {name: evacuate, type: alterHypervisor, config: {maintenance: auto}}
  - {name: drain, type: eviction, config: {action: drain, evictionTimeout: 5m, deletionTimeout: 3m}}
  - {name: force, type: eviction, config: {action: drain, forceEviction: true, evictionTimeout: 5m, deletionTimeout: 3m}}
  - {name: cordon, type: eviction, config: {action: cordon}}
  - {name: uncordon, type: eviction, config: {action: uncordon}}
profiles:
- name: p
  maintenance-required: {transitions: [{check: go && max, next: in-maintenance, trigger: mark && drain && empty}]}
- name: q
  maintenance-required: {transitions: [{check: go && max, next: in-maintenance, trigger: mark}]}
- name: forced
  maintenance-required: {transitions: [{check: go, next: in-maintenance, trigger: force}]}
- name: guarded
  in-maintenance: {enter: guard && drain && mark}
- name: evacuating
  in-maintenance: {enter: evacuate && drain}
- name: odd
  maintenance-required: {transitions: [{check: go, next: in-maintenance, trigger: uncordon && drain}]}
- name: slow
  maintenance-required: {transitions: [{check: go, next: operational, trigger: guard && drain}]}
- name: entering
  in-maintenance: {enter: drain && mark, notify: tell}
- name: passing
  in-maintenance: {enter: drain, transitions: [{check: go, next: operational, trigger: uncordon}]}
- name: leased
  maintenance-required: {transitions: [{check: go && turn, next: in-maintenance, trigger: drain}]}
)";

class FakeDrains : public Drains {
 public:
  const Progress* progress(const kube::Node& node, const std::string& owner) const override {
    const auto found = known.find(node.name + " " + owner);
    return found == known.end() ? nullptr : &found->second;
  }
  std::map<std::string, Progress> known;
};

class DecideDrainTest : public WorldTest {
 protected:
  DecideDrainTest() {
    configure(kDrainChainsYaml);
    facts.drains = &drains;
    lease_facts.set_known("kube-system");
    hypervisors.set_known();
  }

  // The node in that state, with the holds as annotation; cordoned if there are any.
  void node_with(std::string_view profile, State state, std::string_view holds = "", Texts labels = {{"go", ""}},
                 std::optional<State> previous = std::nullopt) {
    labels.emplace(kProfileLabel, profile);
    labels.emplace(kStateLabel, name_of(state));
    // What stands before the drain of p has been written with the cordon.
    if (holds == begun("p")) labels.emplace("marked", "here");
    const io::Wall since = now - io::hours{1};
    kube::Json object = node_json("a", "uid-a", ++version, labels);
    object.set({"metadata", "annotations", kDataAnnotation}, data_of(profile, state, since, previous));
    if (!holds.empty()) {
      object.set({"metadata", "annotations", drain::kHoldsAnnotation}, holds);
      object.set({"spec", "unschedulable"}, true);
    }
    nodes.put(*kube::decode_node(object.dump(), atoms));
    occupancy.update("a");
  }
  static std::string begun(std::string_view profile = "p") {
    return fmt::format(
        R"({{"holds":{{"profile/{}/begun":{{"since":"2026-01-01T00:00:00Z","cordon":true,"begun":true}}}}}})", profile);
  }
  static std::string plain(std::string_view profile) {
    return fmt::format(R"({{"holds":{{"profile/{}":{{"since":"2026-01-01T00:00:00Z","cordon":true}}}}}})", profile);
  }
  Progress& progress(std::string_view profile = "p") {
    Progress& made = drains.known["a profile/" + std::string(profile)];
    made.begun = now;
    return made;
  }
  static drain::PodProgress pod(std::string name, Stage stage, std::string reason, io::Wall since) {
    return {"shop", std::move(name), "u", stage, since, std::move(reason), "", ""};
  }
  static std::vector<std::string> owners(const Decision& decision) {
    std::vector<std::string> owners;
    for (const DrainWanted& wanted : decision.effects.drains) owners.push_back(wanted.owner);
    return owners;
  }
  static drain::Holds holds(const Decision& decision) {
    const auto text = annotation(decision, drain::kHoldsAnnotation);
    return text && *text != "(removed)" ? *drain::Holds::parse(*text) : drain::Holds{};
  }
  static std::string schedulable(const Decision& decision) {
    if (!decision.effects.patch) return "no patch";
    const auto patch = kube::Json::parse(*decision.effects.patch);
    const auto value = (*patch)["spec"]["unschedulable"];
    return value.exists() ? value.dump() : "as it was";
  }

  FakeDrains drains;
};

TEST_F(DecideDrainTest, BeginsWithTheCordonAndKeepsItsPlace) {
  node_with("p", kReq);
  const Decision decision = decide_on("a");
  EXPECT_TRUE(decision.begins());
  EXPECT_FALSE(decision.keeps());
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_THAT(decision.failures, IsEmpty());
  EXPECT_EQ(schedulable(decision), "true");
  EXPECT_EQ(label(decision, "marked"), "here") << "it stands before the drain";
  EXPECT_EQ(label(decision, "empty"), std::nullopt) << "it stands after the drain";
  EXPECT_EQ(holds(decision).by_owner.at("profile/p/begun"), (drain::Hold{"", now, {.cordon = true}, true}));
  ASSERT_TRUE(decision.admission());
  EXPECT_TRUE(decision.admission()->counts);
  EXPECT_EQ(decision.admission()->by, "profile/p");
  EXPECT_THAT(decision.effects.drains, IsEmpty()) << "not before the cordon is acknowledged";
}

TEST_F(DecideDrainTest, DrainsWhenTheCordonIsAcknowledged) {
  node_with("p", kReq, begun());
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_FALSE(decision.admission());
  EXPECT_TRUE(decision.keeps());
  const auto* const continued = std::get_if<place::Continued>(&decision.place);
  ASSERT_TRUE(continued);
  EXPECT_TRUE(continued->admission.counts);
  ASSERT_THAT(decision.effects.drains, SizeIs(1));
  const drain::Options& options = decision.effects.drains[0].options;
  EXPECT_TRUE(options.force && options.ignore_daemon_sets && options.delete_emptydir_data);
  EXPECT_FALSE(options.delete_after || options.kill_after);
  EXPECT_THAT(to_text(decision.why), HasSubstr("the drain is about to begin"));
}

// A write that was lost after the decision, or somebody who uncordons by hand.
TEST_F(DecideDrainTest, WithoutItsCordonNothingIsEvicted) {
  node_with("p", kReq, begun());
  kube::Node node = *nodes.find("a");
  node.unschedulable = false;
  node.version = ++version;
  nodes.put(node);
  const Decision decision = decide_on("a");
  EXPECT_EQ(schedulable(decision), "true");
  EXPECT_TRUE(decision.keeps());
  EXPECT_THAT(decision.effects.drains, IsEmpty());
}

TEST_F(DecideDrainTest, WaitsWithoutFailingAndSaysForWhat) {
  node_with("p", kReq, begun());
  Progress& drain = progress();
  drain.pods_to_evict = 5;
  drain.pods = {pod("a", Stage::terminating, "terminating", now),
                pod("db-0", Stage::blocked, "waiting for budget shop/db, which allows 0 of 3 disruptions", now)};
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_THAT(decision.failures, IsEmpty());
  EXPECT_THAT(owners(decision), ElementsAre("profile/p"));
  EXPECT_FALSE(decision.effects.drains[0].overdue);
  EXPECT_THAT(to_text(decision.why),
              HasSubstr("trigger drain is not done yet: 2 of 5 pods left: shop/db-0: waiting for budget shop/db, which "
                        "allows 0 of 3 disruptions; shop/a: terminating"));
}

TEST_F(DecideDrainTest, DoneItMovesInOneWriteAndStaysCordoned) {
  node_with("p", kReq, begun());
  progress().phase = Progress::Phase::drained;
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.moved, SizeIs(1));
  EXPECT_FALSE(decision.begins() || decision.keeps());
  EXPECT_TRUE(decision.admission());
  EXPECT_EQ(label(decision, "empty"), "yes");
  EXPECT_EQ(schedulable(decision), "as it was");
  EXPECT_EQ(holds(decision).by_owner.size(), 1u);
  EXPECT_FALSE(holds(decision).by_owner.at("profile/p").begun);
  EXPECT_THAT(owners(decision), ElementsAre("profile/p")) << "newcomers leave too, until it is written";
}

TEST_F(DecideDrainTest, EndsWithTheMove) {
  node_with("p", kIn, plain("p"));
  progress().phase = Progress::Phase::drained;
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_THAT(decision.effects.drains, IsEmpty());
  EXPECT_THAT(decision.effects.drains_left, IsEmpty());
}

TEST_F(DecideDrainTest, WithdrawnItsCordonIsUndone) {
  node_with("p", kReq, begun(), {});
  progress();
  const Decision decision = decide_on("a");
  EXPECT_EQ(schedulable(decision), "null");
  EXPECT_EQ(annotation(decision, drain::kHoldsAnnotation), "(removed)");
  EXPECT_EQ(label(decision, "marked"), std::nullopt) << "what the user's own triggers did stays";
  EXPECT_FALSE(decision.admission() || decision.keeps() || decision.begins());
  EXPECT_THAT(decision.effects.drains, IsEmpty());
  EXPECT_THAT(to_text(decision.why), HasSubstr("withdrawn"));
}

TEST_F(DecideDrainTest, WithdrawnWhatWasCordonedBeforeStays) {
  for (const char* const other : {R"("profile/p":{"cordon":true})", R"("nodemaintenance/m":{"cordon":true})"}) {
    node_with("p", kReq, fmt::format(R"({{"holds":{{"profile/p/begun":{{"cordon":true,"begun":true}},{}}}}})", other),
              {});
    const Decision decision = decide_on("a");
    EXPECT_EQ(schedulable(decision), "as it was");
    EXPECT_EQ(holds(decision).by_owner.size(), 1u) << other;
  }
}

TEST_F(DecideDrainTest, ItsOwnPlaceDoesNotHinderItButAnothersDoes) {
  node_with("p", kReq, begun());
  reserve("a");
  EXPECT_TRUE(decide_on("a").keeps());
  put_in("b", "q", kIn);
  EXPECT_EQ(schedulable(decide_on("a")), "null");
}

TEST_F(DecideDrainTest, AProfileThatIsGoneLeavesNothingBegun) {
  node_with("q", kReq, begun("p"), {});
  EXPECT_EQ(schedulable(decide_on("a")), "null");
}

TEST_F(DecideDrainTest, OtherProfilesOfTheNodeWait) {
  NodeData all;
  all.profiles.emplace("p", ProfileData{now - minutes{9}, kReq, kReq});
  all.profiles.emplace("q", ProfileData{now - minutes{9}, kReq, kReq});
  kube::Json object =
      node_json("a", "uid-a", ++version, {{"go", ""}, {"marked", "here"}, {std::string(kProfileLabel), "q--p"}});
  object.set({"metadata", "annotations", kDataAnnotation}, format_node_data(all));
  object.set({"metadata", "annotations", drain::kHoldsAnnotation}, begun());
  object.set({"spec", "unschedulable"}, true);
  nodes.put(*kube::decode_node(object.dump(), atoms));
  const Decision decision = decide_on("a");
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_TRUE(decision.keeps());
  EXPECT_THAT(owners(decision), ElementsAre("profile/p"));
  EXPECT_THAT(to_text(decision.why), HasSubstr("another profile of this node has begun a transition"));
}

TEST_F(DecideDrainTest, TakesItsLeaseWithTheCordonOnly) {
  node_with("leased", kReq);
  const Decision first = decide_on("a");
  EXPECT_TRUE(first.begins());
  ASSERT_THAT(first.effects.leases, SizeIs(1));
  ASSERT_THAT(first.admission()->leases, SizeIs(1));
  node_with("leased", kReq, begun("leased"));
  const Decision second = decide_on("a");
  EXPECT_TRUE(second.keeps());
  EXPECT_THAT(second.effects.leases, IsEmpty());
}

TEST_F(DecideDrainTest, TellsOnceThatItTakesTooLong) {
  node_with("p", kReq, begun());
  Progress& drain = progress();
  drain.pods = {pod("db-0", Stage::blocked, "budget shop/db", now)};
  EXPECT_EQ(decide_on("a").waits.wake, now + minutes{3}) << "the shorter limit, should the pod be evicted now";
  now += minutes{5};
  const Decision late = decide_on("a");
  ASSERT_THAT(late.effects.drains, SizeIs(1));
  ASSERT_TRUE(late.effects.drains[0].overdue);
  EXPECT_EQ(late.effects.drains[0].overdue->what, "At least one trigger plugin failed");
  EXPECT_EQ(late.effects.drains[0].overdue->detail,
            "drain: 1 pods could not be evicted within 5m: shop/db-0: budget shop/db");
  EXPECT_THAT(late.failures, IsEmpty());
  drain.pods = {pod("db-0", Stage::terminating, "terminating", now - minutes{3})};
  EXPECT_THAT(decide_on("a").effects.drains[0].overdue->detail, HasSubstr("1 pods did not end within 3m"));
}

TEST_F(DecideDrainTest, ForcedTheEngineDeletesInTime) {
  node_with("forced", kReq, begun("forced"));
  Progress& drain = progress("forced");
  drain.pods = {pod("db-0", Stage::blocked, "", now)};
  now += io::hours{1};
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.effects.drains, SizeIs(1));
  EXPECT_EQ(decision.effects.drains[0].options.delete_after, minutes{5});
  EXPECT_EQ(decision.effects.drains[0].options.kill_after, minutes{3});
  EXPECT_FALSE(decision.effects.drains[0].overdue);
  EXPECT_THAT(to_text(decision.why), HasSubstr("pods that are not evicted have been deleted past their disruption"));
}

TEST_F(DecideDrainTest, ForcedItSaysBeforehandThatBudgetsWillNotHold) {
  node_with("forced", kReq);
  EXPECT_THAT(to_text(decide_on("a").why),
              HasSubstr("the node is cordoned first; pods that are not evicted within 5m are deleted past their "
                        "disruption budgets (forceEviction)"));
  node_with("forced", kReq, begun("forced"));
  progress("forced").pods = {pod("db-0", Stage::blocked, "", now)};
  EXPECT_THAT(to_text(decide_on("a").why),
              HasSubstr("; from " + io::format_rfc3339(std::chrono::ceil<io::seconds>(now + minutes{5})) +
                        " on pods that are not evicted are deleted past their disruption budgets (forceEviction)"));
  node_with("p", kReq, begun());
  progress().pods = {pod("db-0", Stage::blocked, "", now)};
  EXPECT_THAT(to_text(decide_on("a").why), testing::Not(HasSubstr("forceEviction")));
}

TEST_F(DecideDrainTest, AStateIsEnteredByADrainAndToldOfAfterwards) {
  node_with("entering", kIn, "", {}, kReq);
  const Decision first = decide_on("a");
  EXPECT_EQ(schedulable(first), "true");
  EXPECT_FALSE(holds(first).by_owner.at("profile/entering").begun) << "what was entered is not withdrawn";
  EXPECT_FALSE(first.admission() || first.begins() || first.keeps());
  EXPECT_THAT(first.effects.drains, IsEmpty());
  EXPECT_THAT(first.effects.posted, IsEmpty());

  node_with("entering", kIn, plain("entering"), {}, kReq);
  progress("entering");
  const Decision second = decide_on("a");
  EXPECT_THAT(owners(second), ElementsAre("profile/entering"));
  EXPECT_FALSE(second.effects.patch);
  EXPECT_THAT(second.effects.posted, IsEmpty());

  progress("entering").phase = Progress::Phase::drained;
  const Decision third = decide_on("a");
  EXPECT_THAT(third.effects.posted, SizeIs(1));
  EXPECT_EQ(label(third, "marked"), "here");
  EXPECT_THAT(owners(third), ElementsAre("profile/entering"));
  EXPECT_EQ(data(third).profiles.at("entering").previous, kIn);
}

// The profile has cordoned the node before, so the drain could begin at once.
TEST_F(DecideDrainTest, WhatStandsBeforeTheDrainIsWrittenBeforeItBegins) {
  node_with("guarded", kIn, plain("guarded"), {}, kReq);
  const Decision first = decide_on("a");
  ASSERT_TRUE(first.effects.patch);
  EXPECT_THAT(*first.effects.patch, HasSubstr(R"("finalizers":["example.com/guard"])"));
  EXPECT_EQ(label(first, "marked"), std::nullopt);
  EXPECT_EQ(data(first).profiles.at("guarded").previous, kReq) << "the chain is not done";
  EXPECT_THAT(first.effects.drains, IsEmpty());
  EXPECT_THAT(first.effects.drains_left, testing::Contains("profile/guarded")) << "one that runs already goes on";

  kube::Node node = *nodes.find("a");
  node.finalizers = {"example.com/guard"};
  node.version = ++version;
  nodes.put(node);
  const Decision second = decide_on("a");
  EXPECT_FALSE(second.effects.patch);
  EXPECT_THAT(owners(second), ElementsAre("profile/guarded"));
}

TEST_F(DecideDrainTest, AHypervisorIsToldBeforeTheDrainBegins) {
  const auto put_hypervisor = [&](std::string_view spec) {
    hypervisor_objects.put(*kube::decode_object(
        fmt::format(R"({{"metadata":{{"name":"a","uid":"h","resourceVersion":"{}"}},"spec":{}}})", ++version, spec)));
  };
  put_hypervisor(R"({"maintenance":""})");
  node_with("evacuating", kIn, plain("evacuating"), {}, kReq);
  const Decision first = decide_on("a");
  EXPECT_FALSE(first.effects.patch) << "there is nothing to be written of the node";
  ASSERT_TRUE(first.effects.hypervisor.contains("maintenance"));
  EXPECT_EQ(first.effects.hypervisor.at("maintenance").profile, "evacuating");
  EXPECT_THAT(first.effects.drains, IsEmpty());

  hypervisors.told("a", 9999, "maintenance", kube::Json("auto"));
  EXPECT_TRUE(decide_on("a").effects.hypervisor.contains("maintenance")) << "that was another version of it";
  put_hypervisor("{}");
  hypervisors.told("a", version, "maintenance", kube::Json("auto"));
  const Decision ignored = decide_on("a");
  EXPECT_THAT(ignored.effects.hypervisor, IsEmpty()) << "the server took it, and makes of it what it likes";
  EXPECT_THAT(owners(ignored), ElementsAre("profile/evacuating"));

  put_hypervisor(R"({"maintenance":"auto"})");
  const Decision second = decide_on("a");
  EXPECT_THAT(second.effects.hypervisor, IsEmpty());
  EXPECT_THAT(owners(second), ElementsAre("profile/evacuating"));
}

TEST_F(DecideDrainTest, AChainThatUncordonsBeforeItDrainsIsWrittenOnce) {
  node_with("odd", kReq);
  EXPECT_EQ(schedulable(decide_on("a")), "true");
  node_with("odd", kReq, begun("odd"));
  now += minutes{1};
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch) << *decision.effects.patch;
  EXPECT_THAT(owners(decision), ElementsAre("profile/odd"));
}

TEST_F(DecideDrainTest, WhatCannotBeginChangesNothing) {
  NodeData all;
  all.profiles.emplace("p", ProfileData{now - minutes{9}, kReq, kReq});
  all.profiles.emplace("slow", ProfileData{now - minutes{9}, kReq, kReq});
  kube::Json object = node_json("a", "uid-a", ++version,
                                {{"go", ""},
                                 {"marked", "here"},
                                 {std::string(kStateLabel), std::string(name_of(kReq))},
                                 {std::string(kProfileLabel), "p--slow"}});
  object.set({"metadata", "annotations", kDataAnnotation}, format_node_data(all));
  object.set({"metadata", "annotations", drain::kHoldsAnnotation}, begun());
  object.set({"spec", "unschedulable"}, true);
  nodes.put(*kube::decode_node(object.dump(), atoms));
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch) << *decision.effects.patch;
  EXPECT_THAT(owners(decision), ElementsAre("profile/p"));
}

// A pod that is scheduled there once the node is schedulable again is not evicted.
TEST_F(DecideDrainTest, EndsBeforeTheNodeIsReleased) {
  node_with("passing", kIn, plain("passing"), {{"go", ""}}, kReq);
  progress("passing").phase = Progress::Phase::drained;
  const Decision decision = decide_on("a");
  EXPECT_EQ(schedulable(decision), "null");
  EXPECT_THAT(decision.effects.drains, IsEmpty());
}

TEST_F(DecideDrainTest, AnEngineThatRefusesIsAFailure) {
  node_with("p", kReq, begun());
  progress().phase = Progress::Phase::refused;
  progress().errors = {"cannot delete x"};
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.failures, SizeIs(1));
  EXPECT_EQ(decision.failures[0].detail, "drain: the node cannot be drained: cannot delete x");
  EXPECT_TRUE(decision.keeps());
}

TEST_F(DecideDrainTest, WithoutAnEngineItFails) {
  facts.drains = nullptr;
  node_with("p", kReq);
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.failures, SizeIs(1));
  EXPECT_THAT(decision.failures[0].detail, HasSubstr("without an eviction engine"));
  EXPECT_FALSE(decision.effects.patch);
}

}  // namespace
}  // namespace careen::profiles
