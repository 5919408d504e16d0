#include "controllers/profiles/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Instances that most tests use; each test adds its profiles.
constexpr std::string_view kDecideInstances = R"(
intervals: {requeue: 1m}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: approved, type: hasAnnotation, config: {key: approved, value: "yes"}}
  - {name: waited, type: wait, config: {duration: 10m}}
  - {name: max, type: maxMaintenance, config: {max: 1}}
  - {name: max2, type: maxMaintenance, config: {max: 2}}
  - {name: zone, type: maxMaintenance, config: {max: 1, groupBy: [zone]}}
  - {name: young, type: maxMaintenance, config: {max: 1, skipAfter: 1h}}
  - {name: newest, type: clusterSemver, config: {key: version}}
  trigger:
  - {name: mark, type: alterLabel, config: {key: marked, value: here}}
  - {name: other, type: alterLabel, config: {key: marked, value: there}}
  - {name: unmark, type: alterLabel, config: {key: marked, remove: true}}
  - {name: note, type: alterAnnotation, config: {key: note, value: seen}}
profiles:
)";

class DecideTest : public WorldTest {
 protected:
  void profiles(std::string_view yaml) { configure(std::string(kDecideInstances) + std::string(yaml)); }
  void simple() {
    profiles(R"(
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: approved && max, next: in-maintenance, trigger: mark}]}
  in-maintenance: {transitions: [{check: "!go", next: operational, trigger: unmark}]}
)");
  }
  static ProfileData at(const Decision& decision, const std::string& profile) {
    const NodeData all = data(decision);
    const auto it = all.profiles.find(profile);
    if (it == all.profiles.end()) throw std::out_of_range("no data of profile " + profile);
    return it->second;
  }
  std::string two(ProfileData p, ProfileData q) {
    NodeData all;
    all.profiles.emplace("p", p);
    all.profiles.emplace("q", q);
    return format_node_data(all);
  }
};

TEST_F(DecideTest, ANewNodeBecomesOperationalWithData) {
  simple();
  put("a");
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "operational");
  EXPECT_EQ(annotation(decision, kData), decision.effects.data);
  EXPECT_EQ(at(decision, "default"), (ProfileData{now, kOp, kOp}));
  EXPECT_EQ(decision.uid, "uid-a");
  EXPECT_THAT(decision.effects.moved, IsEmpty());
  EXPECT_FALSE(decision.admission());
}

TEST_F(DecideTest, ASettledNodeIsLeftAlone) {
  simple();
  put_in("a", "p", kOp);
  const Decision decision = decide_on("a");
  EXPECT_EQ(decision.effects.patch, std::nullopt);
  EXPECT_FALSE(decision.waits.wake);
  EXPECT_THAT(decision.waits.places, IsEmpty());
}

TEST_F(DecideTest, ANodeThatDoesNotExist) {
  simple();
  const Decision decision = decide_on("nobody");
  EXPECT_TRUE(decision.gone());
  EXPECT_FALSE(decision.effects.patch);
}

TEST_F(DecideTest, AttachingAndMovingIsOneWrite) {
  simple();
  put("a", {{kProfile, "p"}, {"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "maintenance-required");
  EXPECT_EQ(at(decision, "p"), (ProfileData{now, kReq, kReq}));
  ASSERT_THAT(decision.effects.moved, SizeIs(1));
  EXPECT_EQ(decision.effects.moved[0].from, kOp);
  EXPECT_EQ(decision.effects.moved[0].to, kReq);
}

TEST_F(DecideTest, ATransitionIsOnePatchWithLabelAnnotationAndTrigger) {
  simple();
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}},
      {{kData, data_of("p", kReq, now - io::hours{1})}, {"approved", "yes"}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "in-maintenance");
  EXPECT_EQ(label(decision, "marked"), "here");
  EXPECT_EQ(at(decision, "p"), (ProfileData{now, kIn, kIn}));
  EXPECT_THAT(*decision.effects.patch, HasSubstr("\"resourceVersion\":\"" + std::to_string(version) + "\""));
  ASSERT_TRUE(decision.admission());
  EXPECT_EQ(decision.admission()->uid, "uid-a");
  EXPECT_EQ(decision.admission()->node, "a");
  EXPECT_EQ(decision.admission()->by, "profile/p");
}

TEST_F(DecideTest, OnlyEnteringMaintenanceIsAnAdmission) {
  simple();
  put_in("a", "p", kIn);
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "operational");
  EXPECT_FALSE(decision.admission());
}

TEST_F(DecideTest, PreviousStaysBehindUntilTheEnterChainHasRun) {
  profiles(R"(
- name: p
  operational: {transitions: [{check: go, next: maintenance-required}]}
  maintenance-required: {enter: mark && note}
)");
  put("a", {{kProfile, "p"}, {kState, "operational"}, {"go", ""}}, {{kData, data_of("p", kOp, now)}});
  Decision decision = decide_on("a");
  EXPECT_EQ(at(decision, "p").previous, kOp);
  EXPECT_EQ(label(decision, "marked"), std::nullopt);

  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}, {"go", ""}}, {{kData, decision.effects.data}});
  decision = decide_on("a");
  EXPECT_EQ(label(decision, "marked"), "here");
  EXPECT_EQ(annotation(decision, "note"), "seen");
  EXPECT_EQ(at(decision, "p").previous, kReq);
  EXPECT_THAT(decision.effects.moved, IsEmpty());

  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}, {"marked", "here"}},
      {{kData, decision.effects.data}, {"note", "seen"}});
  EXPECT_FALSE(decide_on("a").effects.patch);
}

TEST_F(DecideTest, TheEnterChainSharesTheNextTransitionsWrite) {
  profiles(R"(
- name: p
  maintenance-required: {enter: note, transitions: [{check: go, next: in-maintenance, trigger: mark}]}
)");
  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}, {"go", ""}}, {{kData, data_of("p", kReq, now, kOp)}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(annotation(decision, "note"), "seen");
  EXPECT_EQ(label(decision, "marked"), "here");
  EXPECT_EQ(at(decision, "p"), (ProfileData{now, kIn, kIn}));
}

TEST_F(DecideTest, AFreshlyAttachedProfileDoesNotEnter) {
  profiles("- {name: p, operational: {enter: mark}}");
  put("a", {{kProfile, "p"}});
  EXPECT_EQ(label(decide_on("a"), "marked"), std::nullopt);
}

// What an earlier program left behind is put right, although there is nothing to enter.
TEST_F(DecideTest, PreviousCatchesUpWithoutAnEnterChain) {
  simple();
  put("a", {{kProfile, "p"}, {kState, "operational"}}, {{kData, data_of("p", kOp, now, kIn)}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(at(decision, "p").previous, kOp);
  EXPECT_EQ(state(decision), std::nullopt);
}

TEST_F(DecideTest, TheFirstPassingTransitionWinsWithItsOwnTriggers) {
  profiles(R"(
- name: p
  operational:
    transitions:
    - {check: approved, next: maintenance-required, trigger: mark}
    - {check: go, next: maintenance-required, trigger: other}
    - {check: go, next: in-maintenance, trigger: note}
)");
  put("a", {{kProfile, "p"}, {"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "maintenance-required");
  EXPECT_EQ(label(decision, "marked"), "there");
  EXPECT_EQ(annotation(decision, "note"), std::nullopt);
}

TEST_F(DecideTest, ATransitionToTheSameStateShadowsTheLaterOnes) {
  profiles(R"(
- name: p
  operational:
    transitions:
    - {check: go, next: operational, trigger: mark}
    - {check: go, next: maintenance-required}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  EXPECT_FALSE(decide_on("a").effects.patch);
}

TEST_F(DecideTest, TheLabelShowsTheMostSevereState) {
  profiles("- {name: p}\n- {name: q}");
  put("a", {{kProfile, "p--q"}, {kState, "operational"}}, {{kData, two({now, kReq, kReq}, {now, kIn, kIn})}});
  EXPECT_EQ(state(decide_on("a")), "in-maintenance");
  put("a", {{kProfile, "p--q"}, {kState, "operational"}}, {{kData, two({now, kReq, kReq}, {now, kOp, kOp})}});
  EXPECT_EQ(state(decide_on("a")), "maintenance-required");
}

TEST_F(DecideTest, AForeignValueOfTheStateLabelIsOverwritten) {
  simple();
  put("a", {{kProfile, "p"}, {kState, "nonsense"}}, {{kData, data_of("p", kReq, now)}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "maintenance-required");
  EXPECT_EQ(annotation(decision, kData), std::nullopt);
}

TEST_F(DecideTest, OnlyOneProfileEntersMaintenanceInOneDecision) {
  profiles(R"(
- {name: p, operational: {transitions: [{check: go, next: in-maintenance, trigger: mark}]}}
- {name: q, operational: {transitions: [{check: go, next: in-maintenance, trigger: note}]}}
)");
  put("a", {{kProfile, "q--p"}, {"go", ""}});
  Decision decision = decide_on("a");
  EXPECT_EQ(at(decision, "q").current, kIn);
  EXPECT_EQ(at(decision, "p").current, kOp);
  EXPECT_EQ(label(decision, "marked"), std::nullopt);
  EXPECT_EQ(decision.admission()->by, "profile/q");

  put("a", {{kProfile, "q--p"}, {kState, "in-maintenance"}, {"go", ""}},
      {{kData, decision.effects.data}, {"note", "seen"}});
  decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_THAT(to_text(decision.why), HasSubstr("another profile of this node is in maintenance"));
}

TEST_F(DecideTest, AProfileThatLeavesMaintenanceDoesNotLetAnotherInAtOnce) {
  profiles(R"(
- {name: p, in-maintenance: {transitions: [{check: go, next: operational}]}}
- {name: q, operational: {transitions: [{check: go, next: in-maintenance}]}}
)");
  put("a", {{kProfile, "p--q"}, {"go", ""}}, {{kData, two({now, kIn, kIn}, {now, kOp, kOp})}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(at(decision, "p").current, kOp);
  EXPECT_EQ(at(decision, "q").current, kOp);
}

TEST_F(DecideTest, AHealthyProfileGoesOnWhileAnotherFails) {
  profiles(R"(
- {name: p, operational: {transitions: [{check: go, next: maintenance-required, trigger: mark}]}}
- {name: q, operational: {enter: note, transitions: [{check: newest, next: in-maintenance}]}}
)");
  put("a", {{kProfile, "q--p"}, {"go", ""}}, {{kData, two({now, kOp, kOp}, {now, kOp, kIn})}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(at(decision, "p").current, kReq);
  EXPECT_EQ(label(decision, "marked"), "here");
  // The failing profile stays; what it had to do on entering its state is done, and not done again.
  EXPECT_EQ(annotation(decision, "note"), "seen");
  EXPECT_EQ(at(decision, "q").current, kOp);
  EXPECT_EQ(at(decision, "q").previous, kOp);
  ASSERT_THAT(decision.failures, SizeIs(1));
  EXPECT_EQ(decision.failures[0].profile, "q");
  EXPECT_EQ(decision.failures[0].what, "At least one check plugin failed");
  EXPECT_EQ(decision.failures[0].stays, "operational");
  EXPECT_THAT(decision.failures[0].detail, HasSubstr("newest: label version not present"));
}

TEST_F(DecideTest, OneFailingCheckSpoilsAllTransitionsOfTheState) {
  profiles(R"(
- name: p
  operational:
    transitions:
    - {check: go, next: maintenance-required}
    - {check: newest || go, next: in-maintenance}
)");
  put_in("a", "p", kOp, {{"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_TRUE(decision.failing());
  EXPECT_FALSE(decision.effects.patch);
}

TEST_F(DecideTest, ChangesOfOneProfileAreSeenByTheNext) {
  configure(R"(
intervals: {requeue: 1m}
instances:
  check: [{name: go, type: hasLabel, config: {key: go}}, {name: marked, type: hasLabel, config: {key: marked}}]
  trigger: [{name: mark, type: alterLabel, config: {key: marked}}]
profiles:
- {name: p, operational: {transitions: [{check: go, next: maintenance-required, trigger: mark}]}}
- {name: q, operational: {transitions: [{check: marked, next: maintenance-required}]}}
)");
  put("a", {{kProfile, "p--q"}, {"go", ""}});
  EXPECT_THAT(decide_on("a").effects.moved, SizeIs(2));
  put("b", {{kProfile, "q--p"}, {"go", ""}});
  EXPECT_THAT(decide_on("b").effects.moved, SizeIs(1));
}

TEST_F(DecideTest, AnUnknownProfileIsSkippedAndItsDataKept) {
  simple();
  put("a", {{kProfile, "gone--p"}}, {{kData, data_of("gone", kIn, now - io::hours{2})}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "operational");
  EXPECT_EQ(at(decision, "gone"), (ProfileData{now - io::hours{2}, kIn, kIn}));
  EXPECT_EQ(at(decision, "p").current, kOp);
}

TEST_F(DecideTest, AnUnknownProfileWithoutDataGetsNone) {
  simple();
  put("a", {{kProfile, "does-not-exist--p"}});
  EXPECT_THAT(data(decide_on("a")).profiles, SizeIs(1));
}

TEST_F(DecideTest, DataOfAProfileThatWasRemovedFromTheLabelIsForgotten) {
  profiles("- {name: p}\n- {name: q}");
  put("a", {{kProfile, "q"}, {kState, "in-maintenance"}}, {{kData, two({now, kIn, kIn}, {now, kOp, kOp})}});
  const Decision decision = decide_on("a");
  EXPECT_THAT(data(decision).profiles, SizeIs(1));
  EXPECT_EQ(state(decision), "operational");
}

TEST_F(DecideTest, AStateThatIsNoneFailsAndChangesNothing) {
  simple();
  put("a", {{kProfile, "p"}, {"go", ""}, {std::string(kStateLabel), "in-maintenance"}},
      {{kData, R"({"Profiles":{"p":{"Transition":"2026-01-01T00:00:00Z","Current":"sleeping","Previous":"odd"}}})"}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.failures, SizeIs(1));
  EXPECT_EQ(decision.failures[0].what, "The state is unknown");
  EXPECT_EQ(decision.failures[0].stays, "sleeping");
  EXPECT_FALSE(decision.effects.patch) << "neither label nor data";
}

TEST_F(DecideTest, AProfileNamedTwiceIsDecidedOnce) {
  simple();
  put("a", {{kProfile, "p--p"}, {"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_THAT(decision.effects.moved, SizeIs(1));
  EXPECT_EQ(at(decision, "p").current, kReq);
}

TEST_F(DecideTest, AnUnreadableAnnotationStopsTheNode) {
  simple();
  put("a", {{kProfile, "p"}, {"go", ""}}, {{kData, "{\"Profiles\":"}});
  const Decision decision = decide_on("a");
  ASSERT_TRUE(decision.unreadable());
  EXPECT_NE(decision.unreadable()->error, "");
  EXPECT_FALSE(decision.effects.patch);
  // So that an admission it may still hold can be given back.
  EXPECT_EQ(decision.uid, "uid-a");
}

TEST_F(DecideTest, WakesWhenAWaitHasPassed) {
  profiles("- {name: p, operational: {transitions: [{check: waited, next: maintenance-required}]}}");
  put_in("a", "p", kOp, {}, now - io::minutes{4});
  const Decision decision = decide_on("a");
  EXPECT_FALSE(decision.effects.patch);
  EXPECT_EQ(decision.waits.wake, now + io::minutes{6} + io::Duration{1});
  now = *decision.waits.wake - io::Duration{1};
  EXPECT_FALSE(decide_on("a").effects.patch);
  now = *decision.waits.wake;
  EXPECT_EQ(state(decide_on("a")), "maintenance-required");
}

TEST_F(DecideTest, WaitsForABudgetOnlyIfThatIsWhatBlocks) {
  simple();
  put_in("in", "p", kIn, {{"go", ""}});
  put_in("a", "p", kReq);
  EXPECT_THAT(decide_on("a").waits.places, IsEmpty());  // not approved either

  put("a", {{kProfile, "p"}, {kState, "maintenance-required"}},
      {{kData, data_of("p", kReq, now - io::hours{3})}, {"approved", "yes"}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  EXPECT_EQ(decision.waits.places[0].key, budget::Key(budget::NodePlaces{{}, 1, {}}));
  EXPECT_EQ(decision.waits.places[0].since, now - io::hours{3});
  EXPECT_THAT(decision.waits.rises, IsEmpty());
}

TEST_F(DecideTest, WaitsOnlyForBudgetsThatCanHelp) {
  profiles(R"(
- name: p
  maintenance-required: {transitions: [{check: max && go || zone, next: in-maintenance}]}
)");
  put_in("in", "p", kIn, {{"zone", "x"}});
  put_in("a", "p", kReq, {{"zone", "x"}});
  Decision decision = decide_on("a");
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  EXPECT_EQ(std::get<budget::NodePlaces>(decision.waits.places[0].key).scope, (budget::Scope{"", {{"zone", "x"}}}));
  put_in("b", "p", kReq, {{"zone", "x"}, {"go", ""}});
  EXPECT_THAT(decide_on("b").waits.places, SizeIs(2));
}

TEST_F(DecideTest, OfTwoBudgetsOnlyTheFullOneIsWaitedFor) {
  profiles("- {name: p, maintenance-required: {transitions: [{check: max2 && zone, next: in-maintenance}]}}");
  put_in("in", "p", kIn, {{"zone", "x"}});
  put_in("a", "p", kReq, {{"zone", "x"}});
  Decision decision = decide_on("a");
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  EXPECT_EQ(std::get<budget::NodePlaces>(decision.waits.places[0].key).scope, (budget::Scope{"", {{"zone", "x"}}}));
  put_in("in2", "p", kIn, {{"zone", "y"}});
  EXPECT_THAT(decide_on("a").waits.places, SizeIs(2));
}

TEST_F(DecideTest, ANegatedBudgetWaitsForItToFill) {
  profiles("- {name: p, operational: {transitions: [{check: go && !max, next: maintenance-required}]}}");
  put_in("a", "p", kOp, {{"go", ""}});
  Decision decision = decide_on("a");
  EXPECT_THAT(decision.waits.places, IsEmpty());
  EXPECT_THAT(decision.waits.rises, ElementsAre(budget::Scope{}));
  put_in("in", "p", kIn, {{"go", ""}});
  EXPECT_EQ(state(decide_on("a")), "maintenance-required");
}

TEST_F(DecideTest, BudgetsOfBothKindsInOneExpression) {
  profiles("- {name: p, maintenance-required: {transitions: [{check: zone && !max2, next: in-maintenance}]}}");
  put_in("in", "p", kIn, {{"zone", "x"}});
  put_in("a", "p", kReq, {{"zone", "x"}});
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  EXPECT_THAT(decision.waits.rises, ElementsAre(budget::Scope{}));
}

TEST_F(DecideTest, ABudgetThatForgetsTellsWhenAPlaceIsFree) {
  profiles("- {name: p, maintenance-required: {transitions: [{check: young, next: in-maintenance}]}}");
  put_in("in", "p", kIn, {}, now - io::minutes{20});
  put_in("a", "p", kReq);
  const Decision decision = decide_on("a");
  ASSERT_THAT(decision.waits.places, SizeIs(1));
  EXPECT_EQ(decision.waits.places[0].free_at, now + io::minutes{40});
  now += io::minutes{40};
  EXPECT_EQ(state(decide_on("a")), "in-maintenance");
}

TEST_F(DecideTest, GroupsAreCountedApart) {
  profiles("- {name: p, maintenance-required: {transitions: [{check: zone, next: in-maintenance}]}}");
  put_in("in", "p", kIn, {{"zone", "x"}});
  put_in("same", "p", kReq, {{"zone", "x"}});
  put_in("other", "p", kReq, {{"zone", "y"}});
  put_in("none", "p", kReq);
  put_in("empty", "p", kReq, {{"zone", ""}});
  EXPECT_FALSE(decide_on("same").effects.patch);
  EXPECT_TRUE(decide_on("other").effects.patch);
  // Without the label the whole cluster counts.
  EXPECT_FALSE(decide_on("none").effects.patch);
  EXPECT_FALSE(decide_on("empty").effects.patch);
}

TEST_F(DecideTest, AReservationBlocksOthersButNotItsOwner) {
  simple();
  const auto ready = [&](std::string_view name) {
    put(name, {{kProfile, "p"}, {kState, "maintenance-required"}},
        {{kData, data_of("p", kReq, now - io::hours{1})}, {"approved", "yes"}});
  };
  ready("a");
  ready("b");
  EXPECT_TRUE(decide_on("a").admission());
  reserve("a");
  EXPECT_TRUE(decide_on("a").admission());
  EXPECT_FALSE(decide_on("b").admission());
  EXPECT_THAT(decide_on("b").waits.places, SizeIs(1));
}

TEST_F(DecideTest, TheSameWorldGivesTheSameDecision) {
  simple();
  put_in("in", "p", kIn, {{"go", ""}});
  for (const char* name : {"a", "b", "c"}) put(name, {{kProfile, "p"}, {"go", ""}}, {{"approved", "yes"}});
  for (const char* name : {"in", "a", "b", "c"}) {
    const Decision first = decide_on(name);
    decide_on("a");
    const Decision second = decide_on(name);
    EXPECT_EQ(first.effects.patch, second.effects.patch);
    EXPECT_EQ(first.effects.data, second.effects.data);
    EXPECT_EQ(to_text(first.why), to_text(second.why));
    EXPECT_EQ(first.waits.places.size(), second.waits.places.size());
  }
}

TEST_F(DecideTest, WhyTellsTheFactsOfEachCheck) {
  simple();
  put_in("in", "p", kIn, {{"go", ""}});
  put_in("a", "p", kReq);
  EXPECT_EQ(to_text(decide_on("a").why),
            "  node a\n"
            "    profile p is maintenance-required\n"
            "    - to in-maintenance if approved && max\n"
            "      - approved: annotation approved not present\n"
            "      - max: 1 of 1 in maintenance among all nodes in the cluster: in\n");
}

TEST_F(DecideTest, ATriggerCannotForgeTheState) {
  configure(R"(
intervals: {requeue: 1m}
instances:
  check: [{name: go, type: hasLabel, config: {key: go}}]
  trigger:
  - {name: forge, type: alterLabel, config: {key: cloud.sap/maintenance-state, value: operational}}
  - {name: wipe, type: alterAnnotation, config: {key: cloud.sap/maintenance-data, remove: true}}
profiles:
- {name: p, operational: {transitions: [{check: go, next: in-maintenance, trigger: forge && wipe}]}}
)");
  put("a", {{kProfile, "p"}, {"go", ""}});
  const Decision decision = decide_on("a");
  EXPECT_EQ(state(decision), "in-maintenance");
  EXPECT_EQ(at(decision, "p").current, kIn);
}

}  // namespace
}  // namespace careen::profiles
