#include "plan/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "plan/outside_facts.h"

namespace careen::plan {
namespace {

using profiles::CheckOutcome;
using profiles::State;

const char* const kBlamedConfig = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: ok, type: hasAnnotation, config: {key: ok}}
  - {name: waited, type: wait, config: {duration: 1h}}
profiles:
- name: p
  operational: {transitions: [{check: "ok && !waited", next: maintenance-required}]}
)";

class BlameTest : public testing::Test {
 protected:
  BlameTest() { outcome.name = "p"; }
  void not_passed(bool ok, bool waited) {
    profiles::TransitionOutcome transition;
    transition.checks = {
        {.instance = "ok", .type = "hasAnnotation", .passed = ok, .error = {}, .reason = "r1", .info = {}},
        {.instance = "waited", .type = "wait", .passed = waited, .error = {}, .reason = "r2", .info = {}}};
    outcome.transitions.push_back(std::move(transition));
  }
  Blame found(State target = State::maintenance_required) {
    profiles::Decision decision;
    decision.profiles.push_back(outcome);
    return blame(*report.config, decision, "p", State::operational, target);
  }

  profiles::ConfigReport report = examine_facts(kBlamedConfig, "c.yaml", {});
  profiles::ProfileOutcome outcome;
};

TEST_F(BlameTest, ChecksThatWouldHaveToSayOtherwiseComeFirst) {
  not_passed(false, true);
  outcome.held_up.push_back({Why::Verdict::no, "another profile of this node has begun a transition", {}});
  const Blame both = found();
  ASSERT_EQ(both.all.size(), 2u);
  EXPECT_EQ(both.all[0].what, "hasAnnotation ok");
  EXPECT_TRUE(both.all[0].outside);
  EXPECT_EQ(both.all[1].what, "wait waited");
  EXPECT_EQ(both.text(), "hasAnnotation ok: r1") << "what others have to change goes first";
}

TEST_F(BlameTest, OnlyThoseInTheWayAreNamed) {
  not_passed(true, true);
  ASSERT_EQ(found().all.size(), 1u);
  EXPECT_EQ(found().all[0].reason, "r2");
}

// By its code: a text that begins like a pause is none, and a pause may say anything.
TEST_F(BlameTest, APauseIsForOthersToEnd) {
  outcome.held_up.push_back({Why::Verdict::no, "stopped by ana", {}, Why::Code::paused});
  ASSERT_EQ(found().all.size(), 1u);
  EXPECT_EQ(found().all[0].what, "a pause");
  EXPECT_EQ(found().all[0].reason, "stopped by ana");
  EXPECT_TRUE(found().all[0].outside);

  outcome.held_up = {{Why::Verdict::no, "paused pods of another node go first", {}}};
  EXPECT_EQ(found().all[0].what, "the node itself");
  EXPECT_FALSE(found().all[0].outside);
}

TEST_F(BlameTest, WhatFailsIsSaidToFail) {
  outcome.held_up.push_back({Why::Verdict::error, "notification mail has to be sent first: no route", {}});
  EXPECT_TRUE(found().all[0].failed);
  outcome.held_up.clear();
  outcome.error = "At least one trigger plugin failed: x";
  ASSERT_EQ(found().all.size(), 1u);
  EXPECT_EQ(found().all[0].what, "the node itself");
  EXPECT_EQ(found().all[0].reason, outcome.error);
  EXPECT_TRUE(found().all[0].failed);
}

TEST_F(BlameTest, AStateWithoutTransitionsIsTheConfigurations) {
  profiles::Decision decision;
  outcome.state = "in-maintenance";
  decision.profiles.push_back(outcome);
  const Blame none = blame(*report.config, decision, "p", State::in_maintenance, State::operational);
  ASSERT_EQ(none.all.size(), 1u);
  EXPECT_EQ(none.all[0].what, "the configuration");
}

}  // namespace
}  // namespace careen::plan
