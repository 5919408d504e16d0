// decide() in worlds that are made by hand: one next write, what is waited for, and why.
#include "controllers/requests/decide.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "budget/pause.h"
#include "controllers/requests/names.h"
#include "controllers/requests/roster.h"
#include "drain/progress.h"
#include "kube/atoms.h"
#include "kube/decode.h"
#include "limits/limit.h"

namespace careen::requests {
namespace {

using io::minutes;
using io::seconds;
using testing::HasSubstr;

class DecideTest : public testing::Test {
 protected:
  DecideTest() {
    request.name = "a";
    request.uid = "u";
    request.version = 7;
    request.node = "n1";
    request.type = "node";
    request.client = "rebooter";
    request.created = now - minutes{1};
    set_node("{}");
    world.request = &request;
    world.node = &node;
    world.ask = [this](const limits::Asking& asking, limits::Desk::Detail detail) {
      asked = asking;
      limits::Desk::Answer given = answer;
      if (detail == limits::Desk::Detail::verdict) given.text.clear();
      return given;
    };
    answer.allowed = true;
  }
  void set_node(std::string_view spec) {
    auto decoded =
        kube::decode_node(fmt::format(R"({{"metadata":{{"name":"n1","uid":"nu","resourceVersion":"3"}},"spec":{},)"
                                      R"("status":{{"conditions":[{{"type":"Ready","status":"True"}}]}}}})",
                                      spec),
                          atoms);
    ASSERT_TRUE(decoded);
    node = std::move(*decoded);
  }
  // The node as it is after the change.
  void held() {
    node.unschedulable = true;
    drain::Holds holds;
    holds.by_owner["request/a"] = {"u", now, {.cordon = true}, false};
    node.annotations = {{atoms.intern(drain::kHoldsAnnotation), holds.text()}};
  }
  Decision look() {
    observe(world, memory, now);
    return decide(world, memory, now);
  }
  limits::Limit& limit() {
    world.limits = {&the_limit};
    return the_limit;
  }
  template <class T>
  static const T* effect(const Decision& decision) {
    return decision.effect ? std::get_if<T>(&*decision.effect) : nullptr;
  }

  kube::AtomPool atoms;
  ControllerOptions options;
  io::Wall now = *io::parse_rfc3339("2026-03-01T10:00:00Z");
  Request request;
  kube::Node node;
  limits::Limit the_limit;
  limits::Desk::Answer answer;
  limits::Asking asked;
  Memory memory;
  World world{atoms, options};
};

TEST_F(DecideTest, AsksAndTakesAndIsApproved) {
  Decision decision = look();
  EXPECT_TRUE(decision.takes);
  EXPECT_EQ(asked.node, "n1");
  EXPECT_EQ(asked.who, "request/a");
  EXPECT_EQ(asked.actor, "request/rebooter");
  EXPECT_EQ(asked.since, request.created);
  EXPECT_EQ(asked.rank, limits::Rank::campaign);
  world.has_place = true;
  world.claim = Claim::ours;
  decision = look();
  EXPECT_FALSE(decision.takes);
  EXPECT_TRUE(effect<Approve>(decision));
}

TEST_F(DecideTest, WaitsInTheQueue) {
  answer = {.allowed = false, .text = "place 3 in limit node (1 of 1)"};
  world.position = 3;
  Decision decision = look();
  ASSERT_TRUE(decision.waits);
  const WriteStatus* const write = effect<WriteStatus>(decision);
  ASSERT_TRUE(write);
  EXPECT_FALSE(write->urgent);
  EXPECT_EQ(write->status.phase, Phase::waiting);
  EXPECT_EQ(write->status.message, "place 3 in limit node (1 of 1)");
  EXPECT_EQ(write->status.position, 3);
  memory.status = write->status;
  decision = look();
  EXPECT_FALSE(decision.effect) << "the words alone are not looked for anew";
  EXPECT_TRUE(decision.waits);
  memory.wants_text = true;
  answer.text = "place 2";
  EXPECT_EQ(effect<WriteStatus>(look())->status.message, "place 2");
}

TEST_F(DecideTest, WhatAPredecessorHasLeftIsTouchedFirst) {
  world.has_place = true;
  world.claim = Claim::inherited;
  EXPECT_TRUE(effect<Touch>(look()));
  world.claim = Claim::stale;
  EXPECT_TRUE(effect<Touch>(look()));
}

TEST_F(DecideTest, StandsBehindAnotherOfItsNode) {
  world.busy_with = "b";
  const Decision decision = look();
  EXPECT_FALSE(decision.waits);
  EXPECT_FALSE(decision.takes);
  EXPECT_EQ(decision.status.reason, "TargetBusy");
}

TEST_F(DecideTest, AFullRecordTakesNobody) {
  world.ledger_fits = false;
  const Decision decision = look();
  EXPECT_FALSE(decision.takes);
  EXPECT_TRUE(decision.waits);
}

TEST_F(DecideTest, EndsWhatCannotBe) {
  world.node = nullptr;
  ASSERT_TRUE(effect<End>(look()));
  EXPECT_EQ(effect<End>(look())->why.reason, "TargetNotFound");
  request.type = "deployment";
  EXPECT_EQ(effect<End>(look())->why.reason, "UnsupportedType");
  request.type.clear();
  EXPECT_EQ(look().status.reason, "TypeMissing");
}

TEST_F(DecideTest, APauseKeepsWhatItHasAndApprovesNothing) {
  const budget::Pause pause{"", "ana@host", {}, ""};
  world.pause = &pause;
  EXPECT_FALSE(look().takes);
  world.has_place = true;
  world.claim = Claim::ours;
  const Decision decision = look();
  EXPECT_FALSE(effect<Approve>(decision));
  EXPECT_EQ(decision.status.reason, "Paused");
}

TEST_F(DecideTest, CordonsDrainsAndApproves) {
  limit().drain.enabled = true;
  world.has_place = true;
  world.claim = Claim::ours;
  Decision decision = look();
  const HoldNode* const hold = effect<HoldNode>(decision);
  ASSERT_TRUE(hold);
  EXPECT_EQ(hold->version, 3u);
  EXPECT_EQ(hold->change.unschedulable, true);
  EXPECT_EQ(hold->change.annotations.at(std::string(kCordonedBy)), "a");
  EXPECT_FALSE(decision.drain);
  held();
  decision = look();
  ASSERT_TRUE(decision.drain);
  EXPECT_EQ(decision.status.phase, Phase::cordoned);
  drain::Progress progress;
  progress.pods.resize(1);
  progress.pods_to_evict = 2;
  world.progress = &progress;
  decision = look();
  EXPECT_EQ(decision.status.phase, Phase::draining);
  EXPECT_EQ(decision.status.message, "1 of 2 pods are left");
  progress.phase = drain::Progress::Phase::drained;
  progress.pods.clear();
  EXPECT_TRUE(effect<Approve>(look()));
}

TEST_F(DecideTest, AGracePeriodBeginsWhenTheNodeIsDrained) {
  limit().drain.enabled = true;
  the_limit.drain.after = seconds{30};
  world.has_place = true;
  world.claim = Claim::ours;
  held();
  drain::Progress progress;
  progress.phase = drain::Progress::Phase::drained;
  world.progress = &progress;
  Decision decision = look();
  EXPECT_EQ(decision.status.phase, Phase::grace);
  EXPECT_EQ(decision.wake, now + seconds{30});
  // Another leader: what is written says since when.
  Memory other;
  other.status = decision.status;
  memory = other;
  world.progress = nullptr;
  now += seconds{29};
  EXPECT_FALSE(effect<Approve>(look()));
  now += seconds{1};
  EXPECT_TRUE(effect<Approve>(look()));
}

TEST_F(DecideTest, OnlyWithoutItsVolumes) {
  limit().drain.enabled = true;
  the_limit.infra_drain.enabled = true;
  world.has_place = true;
  world.claim = Claim::ours;
  held();
  drain::Progress progress;
  progress.phase = drain::Progress::Phase::drained;
  world.progress = &progress;
  EXPECT_EQ(look().status.phase, Phase::infra_draining) << "not while it is not known";
  world.volumes = {true, {"va-1"}};
  Decision decision = look();
  EXPECT_EQ(decision.status.reason, "VolumesAttached");
  EXPECT_EQ(decision.wake, now + seconds{300});
  world.volumes.names.clear();
  EXPECT_TRUE(effect<Approve>(look()));
}

TEST_F(DecideTest, AHoldGoesWithItsRequest) {
  held();
  const drain::Hold hold = drain::holds_of(node).by_owner.at("request/a");
  const auto ends = [&](const Request* stands) {
    return end_hold(node, "request/a", hold, stands, world.limits, atoms);
  };
  EXPECT_TRUE(ends(&request).empty());
  EXPECT_EQ(ends(nullptr).unschedulable, false);
  request.state = State::completed;
  EXPECT_EQ(ends(&request).unschedulable, false);
  request.state = State::rejected;
  request.ended = Ended{"MaintenanceTimedOut", ""};
  EXPECT_FALSE(ends(&request).unschedulable);
  EXPECT_FALSE(ends(&request).empty());
  request.state = State::pending;
  request.uid = "another";
  EXPECT_EQ(ends(&request).unschedulable, false) << "one that was made anew has held nothing yet";
}

TEST_F(DecideTest, EvidenceEndsWhatNobodyEnds) {
  request.state = State::in_progress;
  request.approved_at = now;
  Decision decision = look();
  EXPECT_EQ(decision.wake, now + minutes{10});
  now += minutes{10};
  EXPECT_EQ(effect<End>(look())->why.reason, "NoWorkSeen");
  set_node(R"({"unschedulable":true})");
  decision = look();
  EXPECT_FALSE(effect<End>(decision));
  EXPECT_EQ(decision.status.work_seen, now);
  memory.status = decision.status;
  now += minutes{30};
  EXPECT_FALSE(look().effect) << "the same sign is not written again and again";
  set_node("{}");
  look();
  now += minutes{10};
  EXPECT_EQ(effect<End>(look())->why.reason, "FinishedByEvidence");
}

TEST_F(DecideTest, OfCareensOwnCordonNothingIsConcluded) {
  request.state = State::in_progress;
  request.approved_at = now;
  held();
  look();
  now += minutes{10};
  EXPECT_EQ(effect<End>(look())->why.reason, "NoWorkSeen");
}

TEST_F(DecideTest, NeverApproved) {
  request.state = State::in_progress;
  world.leading_since = request.created - seconds{1};
  EXPECT_EQ(look().status.reason, "UnapprovedTransition");
  world.leading_since = now;
  memory = {};
  EXPECT_EQ(look().status.reason, "InProgress") << "whoever led before may have approved it";
  memory = {};
  memory.status.phase = Phase::waiting;
  EXPECT_EQ(look().status.reason, "UnapprovedTransition");
  request.approved_at = now;
  memory = {};
  memory.status.phase = Phase::waiting;
  EXPECT_EQ(look().status.reason, "InProgress") << "its status has not been written since";
}

TEST_F(DecideTest, WhatFailedIsNotTriedBeforeItsTime) {
  world.has_place = true;
  world.claim = Claim::ours;
  memory.trouble.retry_at = now + seconds{4};
  const Decision decision = look();
  EXPECT_FALSE(effect<Approve>(decision));
  EXPECT_EQ(decision.wake, now + seconds{4});
}

TEST(IsSettled, WhatCareenHasNothingToDoWith) {
  Request request;
  request.state = State::completed;
  EXPECT_TRUE(is_settled(request, io::Wall{io::hours{1}}));
  request.approved_at = io::Wall{};
  EXPECT_FALSE(is_settled(request, io::Wall{io::hours{1}})) << "its end has not been noted";
  request.status.phase = Phase::completed;
  request.status.finished = io::Wall{};
  EXPECT_TRUE(is_settled(request, io::Wall{io::hours{1}}));
  request.state = State::in_progress;
  EXPECT_FALSE(is_settled(request, io::Wall{io::hours{1}}));
}

TEST(RequestRoster, ANodeBelongsToOne) {
  Roster roster;
  const auto request = [](const char* name, int second, State state = State::pending) {
    Request out;
    out.name = name;
    out.node = "n1";
    out.type = "node";
    out.created = io::Wall{seconds{second}};
    out.state = state;
    return out;
  };
  const Request old = request("z", 1), young = request("a", 2);
  roster.put(young);
  EXPECT_EQ(roster.busy_with(young), "");
  roster.put(old);
  EXPECT_EQ(roster.busy_with(young), "z");
  EXPECT_EQ(roster.busy_with(old), "");
  EXPECT_EQ(roster.next_on("n1"), "z");
  roster.set_placed("a", true);
  EXPECT_EQ(roster.busy_with(old), "a") << "who has a place comes before who is older";
  roster.put(request("a", 2, State::completed));
  EXPECT_EQ(roster.busy_with(old), "");
  EXPECT_EQ(roster.size(), 1u);
  Request typeless = request("0", 0);
  typeless.type.clear();
  roster.put(typeless);
  EXPECT_EQ(roster.busy_with(old), "") << "one that cannot be approved is in nobody's way";
  roster.remove("z");
  roster.remove("0");
  EXPECT_EQ(roster.next_on("n1"), "");
}

}  // namespace
}  // namespace careen::requests
