// How requests end whose actors do nothing any more: time-outs, and what their nodes show. The windows are those of the
// known actor, which a few lines play.
#include "controllers/requests/evidence.h"

#include "test_requests.h"

namespace careen::requests {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::HasSubstr;

class ActorTest : public RequestsTest {
 protected:
  // One place, held by a; b waits for it.
  void begin(std::string_view more = "", ControllerOptions options = {}) {
    add_nodes(2);
    limit(fmt::format(R"({{"maxUnavailable":1{}}})", more));
    launch(options);
    request("a", "n1");
    ASSERT_TRUE(until([&] { return state("a") == "Approved"; }, seconds{1}));
    request("b", "n2");
    run(seconds{2});
    ASSERT_EQ(state("b"), "Pending");
  }
};

// Window b: InProgress is written first, and what makes it work is not.
TEST_F(ActorTest, DiesBeforeItBeginsToWork) {
  begin();
  set_state("a", "InProgress");
  run(minutes{9} + seconds{50});
  EXPECT_EQ(state("a"), "InProgress");
  ASSERT_TRUE(until([&] { return state("a") == "Rejected"; }, seconds{15}));
  ASSERT_TRUE(until([&] { return state("b") == "Approved"; }, milliseconds{200}));
  run(seconds{3});
  EXPECT_EQ(reason("a"), "NoWorkSeen");
  EXPECT_EQ(events("MaintenanceRejected", "a"), 1);
  run(minutes{5});
  EXPECT_FALSE(exists("a")) << "the actor's next poll makes a new one";
}

// Window d: whoever uncordons first keeps the actor from ever saying that it is done.
TEST_F(ActorTest, NeverSaysThatItIsDone) {
  begin();
  reboot("n1", "boot-1");
  set_state("a", "InProgress");
  run(seconds{30});
  EXPECT_EQ(seen("a").status.boot_id, "boot-1");
  EXPECT_TRUE(seen("a").status.started);
  cordon("n1");
  run(minutes{20});
  EXPECT_EQ(state("a"), "InProgress") << "its node is cordoned: somebody works on it";
  EXPECT_TRUE(seen("a").status.work_seen);
  reboot("n1", "boot-2");
  cordon("n1", false);
  run(minutes{9} + seconds{50});
  EXPECT_EQ(state("a"), "InProgress");
  ASSERT_TRUE(until([&] { return state("a") == "Completed"; }, seconds{15}));
  ASSERT_TRUE(until([&] { return state("b") == "Approved"; }, milliseconds{200}));
  run(seconds{3});
  EXPECT_EQ(reason("a"), "FinishedByEvidence");
  EXPECT_EQ(events("FinishedByEvidence", "a"), 1);
}

// A reboot that no condition shows: the boot id alone.
TEST_F(ActorTest, RebootsFasterThanAnybodyNotices) {
  begin();
  reboot("n1", "boot-1");
  set_state("a", "InProgress");
  run(minutes{5});
  reboot("n1", "boot-2");
  run(minutes{9});
  EXPECT_EQ(state("a"), "InProgress");
  run(minutes{2});
  EXPECT_EQ(state("a"), "Completed");
}

// Window c: Completed first, then uncordoned; the crash lies between.
TEST_F(ActorTest, LeavesItsNodeCordoned) {
  begin();
  set_state("a", "InProgress");
  cordon("n1");
  run(seconds{30});
  set_state("a", "Completed");
  run(minutes{4});
  EXPECT_EQ(events("NodeStillCordoned"), 0);
  run(minutes{2});
  EXPECT_EQ(events("NodeStillCordoned", "a"), 1);
  EXPECT_EQ(events("NodeStillCordoned", "n1"), 1);
  EXPECT_TRUE(cordoned("n1")) << "it is not careen's cordon";
  run(minutes{20});
  EXPECT_EQ(events("NodeStillCordoned"), 2);
}

TEST_F(ActorTest, NeverBegins) {
  begin(R"(,"timeouts":{"approvedSeconds":120})");
  run(minutes{3});
  EXPECT_EQ(reason("a"), "ApprovalExpired");
  EXPECT_EQ(state("b"), "Approved");
}

TEST_F(ActorTest, NeverEnds) {
  begin(R"(,"timeouts":{"inProgressSeconds":300,"evidenceSeconds":0})");
  set_state("a", "InProgress");
  run(minutes{4});
  EXPECT_EQ(state("a"), "InProgress");
  run(seconds{70});
  EXPECT_EQ(reason("a"), "MaintenanceTimedOut");
  EXPECT_EQ(state("b"), "Approved");
}

TEST_F(ActorTest, WaitsForTooLong) {
  begin(R"(,"timeouts":{"pendingSeconds":60})");
  run(minutes{2});
  EXPECT_EQ(state("a"), "Approved");
  EXPECT_EQ(reason("b"), "PendingExpired");
}

TEST_F(ActorTest, GoesOnAlthoughItWasRejected) {
  begin(R"(,"timeouts":{"approvedSeconds":60})");
  run(seconds{70});
  ASSERT_EQ(state("a"), "Rejected");
  set_state("a", "InProgress");
  ASSERT_TRUE(until([&] { return state("a") == "Rejected"; }, seconds{1}));
  run(seconds{2});
  EXPECT_EQ(events("RejectedTransition", "a"), 1);
  set_state("a", "Completed");
  run(seconds{5});
  EXPECT_EQ(state("a"), "Completed") << "that is accepted";
}

TEST_F(ActorTest, ReplacesItsNodeAndForgetsTheRequest) {
  begin();
  set_state("a", "InProgress");
  run(seconds{10});
  ask("DELETE", node_path("n1"));
  run(minutes{9});
  EXPECT_EQ(state("a"), "InProgress");
  run(minutes{2});
  EXPECT_EQ(state("a"), "Completed");
  EXPECT_EQ(reason("a"), "FinishedByEvidence");
}

// Somebody sets careen's clock: nothing is over because of that.
TEST_F(ActorTest, AClockThatIsSetEndsNothing) {
  begin(R"(,"timeouts":{"inProgressSeconds":3600,"approvedSeconds":3600,"pendingSeconds":7200})");
  set_state("a", "InProgress");
  cordon("n1");
  run(minutes{10});
  careen->step_clock(io::hours{10});
  run(minutes{10});
  EXPECT_EQ(state("a"), "InProgress");
  EXPECT_EQ(state("b"), "Pending");
  careen->step_clock(-io::hours{20});
  run(minutes{42});
  EXPECT_EQ(reason("a"), "MaintenanceTimedOut");
  EXPECT_EQ(state("b"), "Pending") << "the node that was left as it is counts";
}

TEST_F(ActorTest, AnotherLeaderKnowsSinceWhen) {
  begin(R"(,"timeouts":{"approvedSeconds":600})");
  run(minutes{5});
  careen.reset();
  run(seconds{20});
  launch({}, {.name = "careen-1"});
  EXPECT_EQ(state("a"), "Approved");
  run(minutes{5});
  EXPECT_EQ(reason("a"), "ApprovalExpired");
}

TEST_F(ActorTest, WhatIsOverGoesAfterItsTime) {
  begin(R"(,"ttlSecondsAfterFinished":60)");
  set_state("a", "InProgress");
  run(seconds{1});
  set_state("a", "Completed");
  run(seconds{50});
  EXPECT_TRUE(exists("a"));
  run(seconds{15});
  EXPECT_FALSE(exists("a"));
}

// The definition of the program that careen replaces knows no Rejected.
class OriginalRequestTest : public RequestsTest {
 protected:
  OriginalRequestTest() : RequestsTest(original_definition()) {}
};

TEST_F(OriginalRequestTest, ARequestThatCannotBeRejectedIsDeleted) {
  add_nodes(2);
  limit(R"({"maxUnavailable":1,"timeouts":{"approvedSeconds":60}})");
  launch();
  request("a", "n1");
  request("nowhere", "n9");
  run(seconds{5});
  EXPECT_FALSE(exists("nowhere"));
  EXPECT_EQ(events("MaintenanceRejected", "nowhere"), 1);
  EXPECT_EQ(phase("a"), "Approved") << "what is not pruned is kept";
  run(minutes{1});
  EXPECT_FALSE(exists("a"));
  EXPECT_EQ(events("MaintenanceRejected", "a"), 1);
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

}  // namespace
}  // namespace careen::requests
