#include "drain/lane.h"

#include <gtest/gtest.h>

namespace careen::drain {

using io::seconds;
using State = Lane::State;

class LaneTest : public testing::Test {
 protected:
  LaneTest() {
    budget.ns = "shop";
    budget.name = "db";
    budget.allowed = 2;
    budget.desired_healthy = 3;
    budget.current_healthy = 5;
    pod.phase = kube::PodPhase::running;
    pod.flags.ready = true;
    lane.budget_is(&budget);
  }
  // The budget's status as it comes by the watch.
  void status(int allowed, std::vector<std::string> disrupted) {
    budget.allowed = allowed;
    budget.disrupted_pods = std::move(disrupted);
    lane.budget_is(&budget);
  }
  Passage passage() { return passage_of(pod, {&budget}); }

  kube::Pod pod;
  kube::DisruptionBudget budget;
  Lane lane;
  io::Steady now{seconds{1000}};
};

TEST_F(LaneTest, PodsThatNobodyCountsPass) {
  EXPECT_EQ(passage_of(pod, {}), Passage::free);
  EXPECT_EQ(passage(), Passage::lane);
  EXPECT_EQ(passage_of(pod, {&budget, &budget}), Passage::several);
  for (const auto phase : {kube::PodPhase::pending, kube::PodPhase::succeeded, kube::PodPhase::failed}) {
    pod.phase = phase;
    EXPECT_EQ(passage(), Passage::free);
    EXPECT_EQ(passage_of(pod, {&budget, &budget}), Passage::free);
  }
  pod.phase = kube::PodPhase::running;
  pod.deletion = io::Wall{};
  EXPECT_EQ(passage(), Passage::free);
}

TEST_F(LaneTest, UnreadyPodsPassWhenTheOthersSuffice) {
  pod.flags.ready = false;
  EXPECT_EQ(passage(), Passage::free);
  budget.current_healthy = 3;
  EXPECT_EQ(passage(), Passage::free);
  budget.current_healthy = 2;
  EXPECT_EQ(passage(), Passage::lane);
  budget.evict_unhealthy_always = true;
  EXPECT_EQ(passage(), Passage::free);
  budget.evict_unhealthy_always = false;
  budget.desired_healthy = 0;
  EXPECT_EQ(passage(), Passage::lane);
  EXPECT_EQ(passage_of(pod, {&budget, &budget}), Passage::several);
}

TEST_F(LaneTest, OneAtATimeAndNoMoreThanAllowed) {
  EXPECT_EQ(lane.state(now), State::open);
  lane.sent("a");
  EXPECT_EQ(lane.state(now), State::busy);
  EXPECT_FALSE(lane.closed(now));
  lane.counted(now);
  EXPECT_EQ(lane.state(now), State::open) << "one of two is left";
  lane.sent("b");
  lane.counted(now);
  EXPECT_EQ(lane.state(now), State::unseen);
  EXPECT_TRUE(lane.closed(now));
  status(1, {"a"});
  EXPECT_EQ(lane.state(now), State::unseen) << "b is not in it yet";
  status(0, {"a", "b"});
  EXPECT_EQ(lane.state(now), State::exhausted);
  status(1, {"b"});
  EXPECT_EQ(lane.state(now), State::open);
}

TEST_F(LaneTest, AStatusThatComesBeforeTheAnswerCounts) {
  lane.sent("a");
  status(1, {"a"});
  status(1, {});  // the controller has seen it go
  lane.counted(now);
  EXPECT_EQ(lane.state(now), State::open);
}

TEST_F(LaneTest, AStatusOfAfterThePodLeftHasCountedIt) {
  status(1, {});
  lane.sent("a");
  lane.counted(now);
  lane.leaves("a", 50);
  EXPECT_EQ(lane.state(now), State::unseen);
  budget.version = 40;
  status(1, {});
  EXPECT_EQ(lane.state(now), State::unseen) << "it is older";
  lane.leaves("a", 70);
  budget.version = 60;
  status(1, {});
  EXPECT_EQ(lane.state(now), State::open);

  lane.sent("b");
  lane.leaves("b", 80);
  lane.counted(now);
  EXPECT_EQ(lane.state(now), State::unseen);
  budget.version = 90;
  status(1, {});
  EXPECT_EQ(lane.state(now), State::open);
}

TEST_F(LaneTest, WhatIsNeverShownIsForgotten) {
  status(1, {});
  lane.sent("a");
  lane.counted(now);
  EXPECT_EQ(lane.wake(now), now + Lane::kUnseenFor);
  EXPECT_FALSE(lane.idle(now));
  EXPECT_EQ(lane.state(now + Lane::kUnseenFor), State::open);
  EXPECT_TRUE(lane.idle(now + Lane::kUnseenFor));
  EXPECT_EQ(lane.wake(now + Lane::kUnseenFor), std::nullopt);
}

TEST_F(LaneTest, ARefusalHoldsUntilTheBudgetChanges) {
  lane.sent("a");
  lane.refused(now, std::nullopt);
  EXPECT_EQ(lane.state(now), State::refused);
  EXPECT_EQ(lane.wake(now), now + Lane::kRefusedFor);
  EXPECT_EQ(lane.state(now + Lane::kRefusedFor), State::open);
  lane.budget_is(&budget);
  EXPECT_EQ(lane.state(now), State::open);
}

TEST_F(LaneTest, ARefusalThatTheStatusExplainsWaitsForTheStatusAlone) {
  status(0, {});
  lane.sent("a");
  lane.refused(now, std::nullopt);
  EXPECT_EQ(lane.state(now), State::exhausted);
  EXPECT_EQ(lane.wake(now), std::nullopt);
}

TEST_F(LaneTest, RemembersWhenAnEvictionWasLastCounted) {
  EXPECT_EQ(lane.spent(), std::nullopt);
  lane.sent("a");
  lane.refused(now, std::nullopt);
  EXPECT_EQ(lane.spent(), std::nullopt);
  lane.sent("a");
  lane.counted(now + seconds{3});
  EXPECT_EQ(lane.spent(), now + seconds{3});
  status(2, {"a"});
  EXPECT_FALSE(lane.idle(now + seconds{4})) << "whoever asks next has to know";
  EXPECT_TRUE(lane.idle(now + seconds{8}));
}

TEST_F(LaneTest, ARefusalMayNameItsTime) {
  lane.sent("a");
  lane.refused(now, seconds{10});
  EXPECT_EQ(lane.wake(now), now + seconds{10});
  lane.budget_is(&budget);
  lane.sent("a");
  lane.refused(now, seconds{0});
  EXPECT_EQ(lane.wake(now), now + Lane::kRefusedFor);
}

TEST_F(LaneTest, AChangeDuringARefusedRequestIsNotLost) {
  lane.sent("a");
  status(1, {});
  lane.refused(now, std::nullopt);
  EXPECT_EQ(lane.state(now), State::open);
}

TEST_F(LaneTest, OtherAnswersLeaveNoTrace) {
  lane.sent("a");
  lane.answered();
  EXPECT_EQ(lane.state(now), State::open);
  EXPECT_TRUE(lane.idle(now));
}

TEST_F(LaneTest, TheStatusMustBeOfTheSpec) {
  budget.generation = 2;
  budget.observed_generation = 1;
  lane.budget_is(&budget);
  EXPECT_EQ(lane.state(now), State::outdated);
  budget.observed_generation = 2;
  lane.budget_is(&budget);
  EXPECT_EQ(lane.state(now), State::open);
  lane.budget_is(nullptr);
  EXPECT_EQ(lane.state(now), State::missing);
  EXPECT_TRUE(lane.closed(now));
}

}  // namespace careen::drain
