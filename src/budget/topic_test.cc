#include "budget/topic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace careen::budget {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(TopicsTest, ANameHasOneNumber) {
  Topics topics;
  const Topic first = topics.of("first");
  EXPECT_NE(topics.of("second"), first);
  EXPECT_EQ(topics.of("first"), first);
}

TEST(TopicWaitersTest, WhoRestsOnATopicIsKnownByIt) {
  TopicWaiters waiters;
  waiters.update("b", {1, 2, 1});
  waiters.update("a", {2});
  EXPECT_THAT(waiters.of(1), ElementsAre("b"));
  EXPECT_THAT(waiters.of(2), ElementsAre("a", "b"));
  EXPECT_THAT(waiters.of(3), IsEmpty());
  EXPECT_TRUE(waiters.any(2));
  EXPECT_FALSE(waiters.any(3));
}

TEST(TopicWaitersTest, TheLatestDecisionReplacesTheOneBefore) {
  TopicWaiters waiters;
  waiters.update("a", {1, 2});
  waiters.update("a", {2, 3});
  EXPECT_FALSE(waiters.any(1));
  EXPECT_THAT(waiters.of(2), ElementsAre("a"));
  EXPECT_THAT(waiters.of(3), ElementsAre("a"));
  waiters.update("a", {});
  EXPECT_FALSE(waiters.any(2));
  EXPECT_FALSE(waiters.any(3));
  waiters.update("a", {1});
  waiters.clear();
  EXPECT_FALSE(waiters.any(1));
  waiters.update("a", {1});
  EXPECT_TRUE(waiters.any(1));
}

}  // namespace
}  // namespace careen::budget
