#include "controllers/profiles/message_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/outbox.h"
#include "io/problems.h"
#include "io/virtual_time.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class MessageTurnsTest : public testing::Test {
 protected:
  MessageTurnsTest() { turns.set_pace(io::minutes{1}); }
  bool asks(const std::string& message) { return turns.has_turn("a", "uid", message); }
  void use_up() {
    for (int i = 0; i < notify::Ration::kAtOnce; ++i) ASSERT_TRUE(asks("early-" + std::to_string(i)));
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Problems problems{io::Log{}};
  Deliveries deliveries;
  std::vector<std::string> called;
  MessageTurns turns{*loop, problems, deliveries, [this](const std::string& node) { called.push_back(node); }};
};

TEST_F(MessageTurnsTest, BeyondItsRationANodeWaitsAndIsCalledAgain) {
  use_up();
  EXPECT_FALSE(asks("late"));
  EXPECT_EQ(deliveries.turn("uid", "late"), Deliveries::Turn::waits);
  EXPECT_THAT(problems.open(), SizeIs(1));
  EXPECT_THAT(called, IsEmpty());
  time.run_for(io::minutes{1});
  EXPECT_THAT(called, ElementsAre("a"));
  EXPECT_TRUE(asks("late"));
  turns.end("a");
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST_F(MessageTurnsTest, ATurnThatWasGivenIsNotTakenFromTheRationTwice) {
  use_up();
  EXPECT_TRUE(asks("early-0"));
  EXPECT_TRUE(turns.wait("a"));
  EXPECT_FALSE(turns.wait("b")) << "each node has its own";
}

TEST_F(MessageTurnsTest, WhoeverStillWaitsIsCalledOnceAPace) {
  use_up();
  EXPECT_FALSE(asks("late"));
  time.run_for(io::minutes{3});
  EXPECT_THAT(called, SizeIs(3));
}

}  // namespace
}  // namespace careen::profiles
