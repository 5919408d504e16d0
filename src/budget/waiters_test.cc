#include "budget/waiters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::budget {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class WaitersTest : public testing::Test {
 protected:
  static io::Wall at(int second) { return io::Wall{io::seconds{second}}; }
  void wait(std::string_view node, int since) { waiters.update(node, {{zone, at(since), std::nullopt}}, {}); }

  const Scope scope{"", {{"zone", "a"}}};
  const Key zone = NodePlaces{scope, 3, {}};
  const Key tighter = NodePlaces{scope, 1, {}};
  const Key all = NodePlaces{{}, 3, {}};
  Waiters waiters;
};

TEST_F(WaitersTest, WakesAsManyAsThereArePlacesLongestWaitingFirst) {
  wait("late", 30);
  wait("early", 10);
  wait("middle", 20);
  EXPECT_THAT(waiters.offer(zone, 0), IsEmpty());
  EXPECT_THAT(waiters.offer(zone, 2), ElementsAre("early", "middle"));
  EXPECT_EQ(waiters.waiting(zone), 1u);
  EXPECT_THAT(waiters.offer(all, 5), IsEmpty());
}

TEST_F(WaitersTest, APlaceThatIsOfferedIsNotOfferedTwice) {
  wait("a", 1);
  wait("b", 2);
  EXPECT_THAT(waiters.offer(zone, 1), ElementsAre("a"));
  EXPECT_THAT(waiters.offer(zone, 1), IsEmpty());
  EXPECT_THAT(waiters.offer(zone, 2), ElementsAre("b"));
}

TEST_F(WaitersTest, WhatANodeDoesNotTakeGoesToTheNext) {
  wait("a", 1);
  wait("b", 2);
  EXPECT_THAT(waiters.offer(zone, 1), ElementsAre("a"));
  // It is gone, or waits for something else now.
  EXPECT_THAT(waiters.update("a", {}, {}), ElementsAre(zone));
  EXPECT_THAT(waiters.offer(zone, 1), ElementsAre("b"));
}

TEST_F(WaitersTest, ANodeThatStillWaitsKeepsItsPlaceInTheQueue) {
  wait("a", 1);
  wait("b", 2);
  waiters.offer(zone, 1);
  EXPECT_THAT(waiters.update("a", {{zone, at(1), std::nullopt}}, {}), ElementsAre(zone));
  EXPECT_THAT(waiters.offer(zone, 1), ElementsAre("a"));
}

TEST_F(WaitersTest, ADecisionReplacesWhatTheNodeWaitedFor) {
  waiters.update("a", {{zone, at(1), std::nullopt}, {all, at(1), std::nullopt}}, {});
  EXPECT_THAT(waiters.update("a", {{all, at(1), std::nullopt}}, {}), IsEmpty());
  EXPECT_EQ(waiters.waiting(zone), 0u);
  EXPECT_EQ(waiters.waiting(all), 1u);
}

TEST_F(WaitersTest, TheSameBudgetNamedTwiceCountsOnce) {
  waiters.update("a", {{zone, at(1), std::nullopt}, {zone, at(1), std::nullopt}}, {});
  EXPECT_EQ(waiters.waiting(zone), 1u);
  EXPECT_THAT(waiters.offer(zone, 2), ElementsAre("a"));
  EXPECT_THAT(waiters.update("a", {}, {}), ElementsAre(zone));
  EXPECT_THAT(waiters.waited_for(scope), IsEmpty());
}

TEST_F(WaitersTest, FindsTheBudgetsOfAScope) {
  waiters.update("a", {{zone, at(1), std::nullopt}, {tighter, at(1), std::nullopt}}, {});
  waiters.update("b", {{all, at(1), std::nullopt}}, {});
  EXPECT_THAT(waiters.waited_for(scope), UnorderedElementsAre(zone, tighter));
  EXPECT_THAT(waiters.waited_for({}), ElementsAre(all));
  EXPECT_THAT(waiters.waited_for({"p", {}}), IsEmpty());
  waiters.update("c", {{LeasePlaces{"ns/turn", 3}, at(1), std::nullopt}, {LedgerRoom{}, at(1), std::nullopt}}, {});
  EXPECT_THAT(waiters.waited_for({}), ElementsAre(all)) << "other places are in no scope";
  EXPECT_THAT(waiters.waited_for({"z", {}}), IsEmpty());
}

TEST_F(WaitersTest, TellsWhoWaitsForAScopeToFill) {
  waiters.update("a", {}, {scope});
  waiters.update("b", {}, {scope, {}});
  EXPECT_THAT(waiters.waiting_for_rise(scope), ElementsAre("a", "b"));
  waiters.update("a", {}, {});
  EXPECT_THAT(waiters.waiting_for_rise(scope), ElementsAre("b"));
  waiters.clear();
  EXPECT_THAT(waiters.waiting_for_rise(scope), IsEmpty());
}

}  // namespace
}  // namespace careen::budget
