#include "io/subscription.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <vector>

namespace careen::io {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

static_assert(std::is_nothrow_move_constructible_v<Subscription>);

class SubscriptionTest : public testing::Test {
 protected:
  Subscription hear(const std::string& name) {
    return hub->subscribe([this, name](int what) { told.push_back(name + std::to_string(what)); });
  }
  std::vector<std::string> tell(int what) {
    hub->tell(what);
    return std::exchange(told, {});
  }
  std::optional<Hub<int>> hub{std::in_place};
  std::vector<std::string> told;
};

TEST_F(SubscriptionTest, AllAreToldInTheirOrder) {
  EXPECT_TRUE(hub->empty());
  const Subscription a = hear("a"), b = hear("b"), c = hear("c");
  EXPECT_FALSE(hub->empty());
  EXPECT_THAT(tell(1), ElementsAre("a1", "b1", "c1"));
}

TEST_F(SubscriptionTest, ItsEndUnsubscribes) {
  const Subscription a = hear("a");
  {
    const Subscription b = hear("b");
    EXPECT_THAT(tell(1), ElementsAre("a1", "b1"));
  }
  EXPECT_THAT(tell(2), ElementsAre("a2"));
  Subscription c = hear("c");
  Subscription moved = std::move(c);
  EXPECT_THAT(tell(3), ElementsAre("a3", "c3"));
  moved = hear("d");
  EXPECT_THAT(tell(4), ElementsAre("a4", "d4"));
  moved.end();
  EXPECT_THAT(tell(5), ElementsAre("a5"));
}

TEST_F(SubscriptionTest, WhoeverTellsMayBeGoneFirst) {
  Subscription a = hear("a");
  hub.reset();
  a.end();
  EXPECT_THAT(told, IsEmpty());
}

TEST_F(SubscriptionTest, AListenerMayEndItself) {
  Subscription once;
  const std::string word = "a word that is too long to be kept in place";
  once = hub->subscribe([&, word](int) {
    once.end();
    told.push_back(word);  // what it has captured is still there
  });
  const Subscription after = hear("after");
  EXPECT_THAT(tell(1), ElementsAre(word, "after1"));
  EXPECT_THAT(tell(2), ElementsAre("after2"));
}

TEST_F(SubscriptionTest, AListenerMayEndOthers) {
  Subscription before, after;
  before = hear("before");
  const Subscription ends = hub->subscribe([&](int) {
    before.end();
    after.end();
  });
  after = hear("after");
  const Subscription last = hear("last");
  EXPECT_THAT(tell(1), ElementsAre("before1", "last1"));
  EXPECT_THAT(tell(2), ElementsAre("last2"));
}

TEST_F(SubscriptionTest, AListenerMaySubscribeOthersWhoAreToldOfWhatComesNext) {
  std::vector<Subscription> more;
  const Subscription a = hub->subscribe([&](int what) {
    told.push_back("a" + std::to_string(what));
    if (more.empty()) more.push_back(hear("b"));
  });
  EXPECT_THAT(tell(1), ElementsAre("a1"));
  EXPECT_THAT(tell(2), ElementsAre("a2", "b2"));
}

TEST_F(SubscriptionTest, WhatIsToldMeanwhileComesInBetween) {
  Subscription gone = hear("gone");
  const Subscription a = hub->subscribe([&](int what) {
    told.push_back("a" + std::to_string(what));
    if (what > 1) return;
    gone.end();
    hub->tell(what + 1);
    told.push_back("a again");
  });
  const Subscription b = hear("b");
  EXPECT_THAT(tell(1), ElementsAre("gone1", "a1", "a2", "b2", "a again", "b1"));
}

TEST_F(SubscriptionTest, NobodyIsLeftBehind) {
  for (int i = 0; i < 3; ++i) {
    const Subscription ended = hear("ended");
    EXPECT_FALSE(hub->empty());
  }
  EXPECT_TRUE(hub->empty());
}

}  // namespace
}  // namespace careen::io
