#include "notify/ration.h"

#include <gtest/gtest.h>

namespace careen::notify {
namespace {

TEST(RationTest, SomeGoAtOnceAndThenOneAfterTheOther) {
  Ration ration;
  ration.set_pace(io::seconds{30});
  io::Steady now{io::hours{1}};
  for (int i = 0; i < Ration::kAtOnce; ++i) EXPECT_FALSE(ration.take("a", now)) << i;
  EXPECT_EQ(ration.take("a", now), now + io::seconds{30});
  EXPECT_FALSE(ration.take("b", now)) << "each node has its own";
  now += io::seconds{29};
  EXPECT_EQ(ration.take("a", now), now + io::seconds{1});
  now += io::seconds{1};
  EXPECT_FALSE(ration.take("a", now));
  EXPECT_TRUE(ration.take("a", now));
}

TEST(RationTest, WhoeverWasQuietHasAllOfThemAgainAndNoMore) {
  Ration ration;
  io::Steady now{io::hours{1}};
  for (int i = 0; i < Ration::kAtOnce; ++i) ration.take("a", now);
  now += io::hours{100};
  for (int i = 0; i < Ration::kAtOnce; ++i) EXPECT_FALSE(ration.take("a", now)) << i;
  EXPECT_TRUE(ration.take("a", now));
}

// However many there are: those who have rested are forgotten, the others are not.
TEST(RationTest, ManyNodesDoNotMakeItForget) {
  Ration ration;
  io::Steady now{io::hours{1}};
  while (!ration.take("busy", now)) {
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(ration.take("node-" + std::to_string(i), now));
    EXPECT_TRUE(ration.take("busy", now)) << i;
  }
}

}  // namespace
}  // namespace careen::notify
