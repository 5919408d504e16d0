#include "drain/decide.h"

#include <gtest/gtest.h>

#include "drain/reason.h"

namespace careen::drain {

using io::seconds;
using Kind = Answer::Kind;

kube::Result<std::string> refusal(int code, std::string reason, std::string message, std::string body = "{}") {
  kube::ApiError error;
  error.code = code;
  error.reason = std::move(reason);
  error.message = std::move(message);
  error.body = std::move(body);
  return tl::make_unexpected(error);
}

TEST(AnswerTest, SaysWhatItMeansForThePod) {
  const auto kind = [](const kube::Result<std::string>& response) { return answer_of(response).kind; };
  EXPECT_EQ(kind(std::string("{}")), Kind::accepted);
  EXPECT_EQ(kind(refusal(404, "NotFound", "", R"({"kind":"Status","details":{"name":"web","kind":"pods"}})")),
            Kind::gone);
  EXPECT_EQ(kind(refusal(404, "NotFound", "the server could not find the requested resource",
                         R"({"kind":"Status","details":{}})")),
            Kind::unsupported);
  EXPECT_EQ(kind(refusal(404, "", "404 page not found", "404 page not found")), Kind::unsupported);
  EXPECT_EQ(kind(refusal(409, "Conflict", "Precondition failed: UID in precondition: a, UID in object meta: b")),
            Kind::gone);
  EXPECT_EQ(kind(refusal(409, "Conflict", "the object has been modified")), Kind::unsure);
  EXPECT_EQ(kind(refusal(429, "TooManyRequests", "", R"({"details":{"causes":[{"reason":"DisruptionBudget"}]}})")),
            Kind::over_budget);
  EXPECT_EQ(kind(refusal(429, "TooManyRequests", "the machine moves")), Kind::refused);
  EXPECT_EQ(kind(refusal(503, "ServiceUnavailable", "")), Kind::unsure);
  EXPECT_EQ(kind(refusal(500, "InternalError", "This pod has more than one PodDisruptionBudget, which …")),
            Kind::several);
  EXPECT_EQ(kind(refusal(500, "InternalError", "etcd is away")), Kind::unsure);
  EXPECT_EQ(kind(refusal(403, "Forbidden", "", R"({"details":{"causes":[{"reason":"NamespaceTerminating"}]}})")),
            Kind::refused);
  EXPECT_EQ(kind(refusal(403, "Forbidden", "no")), Kind::failed);
  EXPECT_EQ(kind(refusal(0, "NotLeader", "")), Kind::not_leader);
  kube::ApiError silent;
  silent.network = io::ErrorKind::timeout;
  EXPECT_EQ(kind(tl::make_unexpected(silent)), Kind::unsure);
  silent.network = io::ErrorKind::connect;
  EXPECT_EQ(kind(tl::make_unexpected(silent)), Kind::failed);
}

TEST(AnswerTest, OnlyWhatMayHaveBeenCountedIs) {
  EXPECT_TRUE(answer_of(std::string("{}")).counted);
  EXPECT_TRUE(answer_of(refusal(504, "Timeout", "")).counted);
  EXPECT_TRUE(answer_of(refusal(503, "", "upstream connect error")).counted) << "of a proxy that has passed it on";
  EXPECT_TRUE(answer_of(refusal(409, "Conflict", "UID")).counted);
  EXPECT_FALSE(answer_of(refusal(404, "NotFound", "")).counted);
  EXPECT_FALSE(answer_of(refusal(403, "Forbidden", "")).counted);
}

TEST(AnswerTest, PausesGrowUpToALimit) {
  const auto pause = [](Kind kind, int in_a_row) { return pause_after({kind, "", std::nullopt, false}, in_a_row); };
  EXPECT_EQ(pause(Kind::failed, 1), seconds{5});
  EXPECT_EQ(pause(Kind::failed, 2), seconds{10});
  EXPECT_EQ(pause(Kind::failed, 99), seconds{60});
  EXPECT_EQ(pause(Kind::over_budget, 1), seconds{5});
  EXPECT_EQ(pause(Kind::over_budget, 9), seconds{30});
  EXPECT_EQ(pause(Kind::refused, 7), seconds{5});
  EXPECT_EQ(pause_after({Kind::refused, "", seconds{1}, false}, 1), seconds{1});
  EXPECT_EQ(pause_after({Kind::refused, "", seconds{0}, false}, 1), seconds{5});
  EXPECT_EQ(pause_after({Kind::failed, "", seconds{1}, false}, 1), seconds{5});
}

class DecideTest : public testing::Test {
 protected:
  DecideTest() { s.wish.gone = true; }
  Decision decision() { return decide(s, now); }
  Action action() { return decision().action; }
  Stage stage(Seen seen = {}, bool closed = false) { return stage_of(s, seen, closed, now); }
  void set_back(Kind kind, io::Duration pause) {
    s.setback = Setback{{kind, "x", std::nullopt, false}, 1, now + pause};
  }

  Situation s;
  io::Steady now{seconds{1000}};
};

TEST_F(DecideTest, EvictsWhatIsWantedGone) {
  EXPECT_EQ(action(), Action::evict);
  EXPECT_FALSE(decision().through_lane);
  EXPECT_EQ(stage(), Stage::waiting);
  s.passage = Passage::lane;
  EXPECT_TRUE(decision().through_lane);
  EXPECT_EQ(stage({}, true), Stage::blocked);
  s.passage = Passage::several;
  EXPECT_EQ(action(), Action::evict) << "webhooks hear of it";
  EXPECT_FALSE(decision().through_lane);
  EXPECT_EQ(stage(), Stage::blocked);
  s.passage = Passage::free;
  s.wish.gone = false;
  EXPECT_EQ(action(), Action::none);
}

TEST_F(DecideTest, SendsNothingWhileSomethingIsOnItsWayOrHeld) {
  s.in_flight = Action::evict;
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(stage(), Stage::evicting);
  s.asking = true;
  EXPECT_EQ(stage(), Stage::blocked);
  s.asking = false;
  s.in_flight = Action::none;
  s.held = true;
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(stage(), Stage::waiting);
}

TEST_F(DecideTest, AnAcceptedEvictionIsRepeatedOnlyIfNothingComesOfIt) {
  s.accepted = now;
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, now + kEffectWithin);
  EXPECT_EQ(stage(), Stage::terminating);
  s.accepted = now - kEffectWithin;
  EXPECT_EQ(action(), Action::evict);
}

TEST_F(DecideTest, ASetbackHoldsUntilItsTime) {
  set_back(Kind::refused, seconds{5});
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, now + seconds{5});
  EXPECT_EQ(stage(), Stage::blocked);
  s.wish.remove_at = now + seconds{2};
  EXPECT_EQ(decision().wake, now + seconds{2});
  set_back(Kind::failed, seconds{5});
  EXPECT_EQ(stage(), Stage::failed);
  set_back(Kind::failed, seconds{0});
  EXPECT_EQ(action(), Action::evict);
  EXPECT_EQ(stage(), Stage::waiting);
}

TEST_F(DecideTest, DeletesWhenToldOrWhenEvictingTookTooLong) {
  s.passage = Passage::several;
  set_back(Kind::several, seconds{30});
  s.wish.remove_at = now + seconds{1};
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, now + seconds{1});
  s.wish.remove_at = now;
  EXPECT_EQ(action(), Action::remove);
  set_back(Kind::over_budget, seconds{30});
  EXPECT_EQ(action(), Action::remove) << "no budget holds back a deletion";
  set_back(Kind::failed, seconds{30});
  EXPECT_EQ(action(), Action::none);
  s.setback.reset();
  s.wish.remove_at.reset();
  s.wish.remove = true;
  EXPECT_EQ(action(), Action::remove);
}

TEST_F(DecideTest, WhatIsAwaitedIsLookedAtWhenItsTimeIsOver) {
  s.wish.gone = false;
  s.wish.remove_at = now + seconds{60};
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, now + seconds{60});
}

TEST_F(DecideTest, WhatTerminatesIsOnlyWaitedForOrKilled) {
  s.grace_ends = now;
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, std::nullopt);
  EXPECT_EQ(stage(), Stage::terminating);
  s.wish.kill_after = seconds{20};
  EXPECT_EQ(decision().wake, now + seconds{20});
  now += seconds{20};
  EXPECT_EQ(action(), Action::kill);
  set_back(Kind::failed, seconds{5});
  EXPECT_EQ(action(), Action::none);
  s.setback.reset();
  s.killed = true;
  EXPECT_EQ(action(), Action::none);
}

TEST_F(DecideTest, WhatTerminatesIsAskedOnceToDoSoSooner) {
  s.grace_ends = now + seconds{3600};
  EXPECT_EQ(action(), Action::none);
  s.shortens = true;
  EXPECT_EQ(action(), Action::shorten);
  EXPECT_EQ(stage(), Stage::terminating);
  set_back(Kind::refused, seconds{5});
  EXPECT_EQ(action(), Action::none);
  EXPECT_EQ(decision().wake, now + seconds{5});
}

TEST_F(DecideTest, TheStageIsOneDrainsView) {
  EXPECT_EQ(stage({.fate = Fate::await}), Stage::completing);
  set_back(Kind::refused, seconds{5});
  EXPECT_EQ(stage({.turn = false}), Stage::waiting);
  EXPECT_EQ(stage({.active = false}), Stage::waiting);
  s.grace_ends = now;
  EXPECT_EQ(stage({.fate = Fate::await}), Stage::terminating);
}

TEST(ReasonTest, SpansAreOneNumber) {
  EXPECT_EQ(span_text(seconds{-3}), "0 s");
  EXPECT_EQ(span_text(seconds{119}), "119 s");
  EXPECT_EQ(span_text(seconds{120}), "2 min");
  EXPECT_EQ(span_text(io::hours{3}), "3 h");
  EXPECT_EQ(span_text(io::hours{72}), "3 d");
}

TEST(ReasonTest, DurationsAsKubectlPrintsThem) {
  EXPECT_EQ(go_duration_text(seconds{30}), "30s");
  EXPECT_EQ(go_duration_text(seconds{60}), "1m0s");
  EXPECT_EQ(go_duration_text(seconds{3600}), "1h0m0s");
  EXPECT_EQ(go_duration_text(io::milliseconds{1500}), "1.5s");
}

TEST(ReasonTest, TerminationIsTold) {
  kube::Pod pod;
  const io::Wall now{std::chrono::hours{24 * 365 * 50}};
  EXPECT_EQ(terminating_text(pod, now), "evicted; its end has not been seen yet");
  pod.deletion = now + seconds{18};
  pod.deletion_grace = seconds{30};
  EXPECT_EQ(terminating_text(pod, now), "terminating since 12 s of its grace of 30 s");
  pod.deletion = now - seconds{10};
  pod.finalizers = "a/x,b";
  EXPECT_EQ(terminating_text(pod, now),
            "terminating since 40 s, 10 s beyond its grace of 30 s; finalizers a/x, b hold it");
}

TEST(ReasonTest, BudgetsAreNamedWithTheirFigures) {
  kube::DisruptionBudget a, b, c;
  a.ns = b.ns = c.ns = "shop";
  a.name = "a";
  b.name = "b";
  c.name = "c";
  a.expected_pods = 3;
  a.current_healthy = 2;
  a.desired_healthy = 3;
  EXPECT_EQ(budget_text(a, Lane::State::exhausted),
            "waiting for budget shop/a, which allows 0 of 3 disruptions (2 of 3 healthy, 3 needed)");
  EXPECT_EQ(several_text({&a, &b}), "budgets shop/a and shop/b both cover it, which the eviction API does not support");
  EXPECT_EQ(several_text({&a, &b, &c}),
            "budgets shop/a, shop/b and shop/c all cover it, which the eviction API does not support");
}

TEST(ReasonTest, TurnsCountPods) {
  EXPECT_EQ(turn_text(1, 2, 3), "waits for tier 1: 3 pods");
  EXPECT_EQ(turn_text(3, 2, 1), "waits for the pods of no tier: 1 pod");
  EXPECT_EQ(priority_turn_text(-5, 1), "waits for priority -5: 1 pod");
}

TEST(ProgressTest, IsWholeOnlyWhenDrained) {
  Progress progress;
  EXPECT_EQ(progress.percent(), 0);
  progress.pods_to_evict = 4;
  progress.pods.resize(3);
  EXPECT_EQ(progress.percent(), 25);
  progress.pods.clear();
  EXPECT_EQ(progress.percent(), 99);
  progress.pods.resize(9);
  EXPECT_EQ(progress.percent(), 0);
  progress.phase = Progress::Phase::drained;
  EXPECT_EQ(progress.percent(), 100);
  EXPECT_FALSE(progress.blocked());
  progress.pods[3].stage = Stage::blocked;
  EXPECT_TRUE(progress.blocked());
  EXPECT_EQ(name_of(Stage::completing), "completing");
}

}  // namespace careen::drain
