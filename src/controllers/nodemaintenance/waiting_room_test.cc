#include "controllers/nodemaintenance/waiting_room.h"

#include <gtest/gtest.h>

#include <vector>

namespace careen::nodemaintenance {
namespace {

TEST(WaitingRoomTest, APeerHasItsShare) {
  WaitingRoom room(4, 2);
  auto first = room.enter("a");
  const auto second = room.enter("a");
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(room.enter("a"));
  EXPECT_TRUE(room.enter("b"));
  first.reset();
  EXPECT_TRUE(room.enter("a"));
  EXPECT_EQ(room.taken(), 1u);
}

TEST(WaitingRoomTest, WhoHasTheMostMakesRoomForWhoHasFewer) {
  WaitingRoom room(4, 3);
  const auto one = room.enter("a"), two = room.enter("b"), three = room.enter("b"), four = room.enter("b");
  const auto five = room.enter("c");
  ASSERT_TRUE(five);
  EXPECT_TRUE(two->lost()) << "it has waited longest";
  EXPECT_FALSE(one->lost() || three->lost() || four->lost());
  EXPECT_EQ(room.taken(), 4u);
  EXPECT_FALSE(room.enter("a")) << "nobody would have more than they then";
}

TEST(WaitingRoomTest, ManyPeersKeepOneAnotherOutAtWorst) {
  WaitingRoom room(4, 3);
  std::vector<std::unique_ptr<WaitingRoom::Place>> places;
  for (const char* peer : {"a", "b", "c", "d"}) places.push_back(room.enter(peer));
  EXPECT_FALSE(room.enter("e"));
  for (const auto& place : places) EXPECT_FALSE(place->lost());
}

}  // namespace
}  // namespace careen::nodemaintenance
