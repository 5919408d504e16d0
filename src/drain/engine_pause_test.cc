// Drains whose owner is paused: nothing is sent, no time runs, and everything continues afterwards.
#include "drain/test_cluster.h"

namespace careen::drain {
namespace {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class EnginePauseTest : public EngineTest {
 protected:
  void pause(const std::string& profile = "") {
    budget::PauseRecord record;
    record.pauses[profile] = {profile, "ana@host", *io::parse_rfc3339("2026-03-01T10:00:00Z"), "broken images"};
    process->pauses.set(record);
  }
  void go_on() { process->pauses.set({}); }
  void begin_for(std::string_view owner, Options options = usual(), std::string_view node = "n1") {
    begin(key(node, owner), std::move(options));
  }
  const Progress& progress_for(std::string_view owner, std::string_view node = "n1") {
    return *engine().progress(key(node, owner));
  }
};

TEST_F(EnginePauseTest, NothingIsSentUntilItIsOver) {
  add_node("n1");
  add_pod("web");
  launch();
  pause();
  begin_for("nodemaintenance/m");
  time.run_for(minutes{10});
  EXPECT_THAT(evicted(), IsEmpty());
  const Progress& paused = progress_for("nodemaintenance/m");
  ASSERT_EQ(paused.pods.size(), 1U);
  EXPECT_EQ(paused.pods[0].stage, Stage::waiting);
  EXPECT_EQ(paused.pods[0].reason, "not sent: paused by ana@host since 2026-03-01T10:00:00Z: broken images");
  EXPECT_EQ(paused.paused, minutes{10});
  go_on();
  time.run_for(seconds{3});
  EXPECT_THAT(evicted(), ElementsAre("web"));
  EXPECT_EQ(progress_for("nodemaintenance/m").phase, Progress::Phase::drained);
}

TEST_F(EnginePauseTest, APauseInTheMiddleHoldsBackWhatIsLeft) {
  add_node("n1");
  for (const char* name : {"a", "b", "c"}) add_pod(name);
  add_budget("web", "web", 2);
  launch();
  begin_for("profile/p");
  ASSERT_TRUE(time.run_until([&] { return evicted().size() == 1; }, seconds{5}));
  pause("p");
  set_minimum("web", 0);
  time.run_for(minutes{5});
  EXPECT_EQ(evicted().size(), 1U);
  EXPECT_EQ(progress_for("profile/p").phase, Progress::Phase::draining);
  go_on();
  ASSERT_TRUE(time.run_until([&] { return progress_for("profile/p").phase == Progress::Phase::drained; }, seconds{10}));
  EXPECT_EQ(evicted().size(), 3U);
}

// It waits for a free connection when the pause arrives.
TEST_F(EnginePauseTest, ARequestThatWaitsForItsTurnIsWithdrawn) {
  add_node("n1");
  add_pod("a");
  add_pod("b");
  launch({.requests_in_flight = 1});
  begin_for("profile/p");
  ASSERT_TRUE(time.run_until([&] { return evicted().size() == 1; }, seconds{5}));
  pause("p");
  time.run_for(minutes{5});
  EXPECT_EQ(evicted().size(), 1U);
  go_on();
  time.run_for(seconds{5});
  EXPECT_EQ(evicted().size(), 2U);
}

TEST_F(EnginePauseTest, OnlyWhomItConcerns) {
  for (const char* node : {"n1", "n2", "n3", "n4", "n5"}) {
    add_node(node);
    add_pod("on-" + std::string(node), node);
  }
  launch();
  pause("p");
  begin_for("profile/p", usual(), "n1");
  begin_for("profile/p/begun", usual(), "n2");
  begin_for("profile/pp", usual(), "n3");
  begin_for("nodemaintenance/m", usual(), "n4");
  begin_for("terminal/ana@host", usual(), "n5");
  time.run_for(minutes{1});
  EXPECT_THAT(evicted(), testing::UnorderedElementsAre("on-n3", "on-n4", "on-n5"));
}

TEST_F(EnginePauseTest, ATerminalWasAskedItself) {
  add_node("n1");
  add_pod("web");
  launch();
  pause();
  begin_for("terminal/ana@host");
  time.run_for(seconds{5});
  EXPECT_THAT(evicted(), ElementsAre("web"));
}

TEST_F(EnginePauseTest, AnotherOwnerOfTheSameNodeGoesOn) {
  add_node("n1");
  add_pod("web");
  launch();
  pause("p");
  begin_for("profile/p");
  begin_for("nodemaintenance/m");
  time.run_for(seconds{5});
  EXPECT_THAT(evicted(), ElementsAre("web"));
}

TEST_F(EnginePauseTest, TheTimeoutDoesNotRun) {
  add_node("n1");
  add_pod("web");
  add_budget("web", "web", 1);
  launch();
  Options options = usual();
  options.timeout = minutes{10};
  begin_for("profile/p", options);
  time.run_for(minutes{6});
  pause("p");
  time.run_for(io::hours{2});
  EXPECT_EQ(progress_for("profile/p").phase, Progress::Phase::draining);
  go_on();
  time.run_for(minutes{3});
  EXPECT_EQ(progress_for("profile/p").phase, Progress::Phase::draining);
  time.run_for(minutes{2});
  EXPECT_EQ(progress_for("profile/p").phase, Progress::Phase::failed);
}

// Otherwise all pods would be deleted, past their budgets, in the moment in which the pause ends.
TEST_F(EnginePauseTest, TheTimeAfterWhichPodsAreDeletedDoesNotRun) {
  add_node("n1");
  add_pod("web");
  add_budget("web", "web", 1);
  launch();
  Options options = usual();
  options.delete_after = minutes{10};
  begin_for("profile/p", options);
  time.run_for(minutes{4});
  pause("p");
  time.run_for(io::hours{2});
  EXPECT_THAT(deletions(), IsEmpty());
  go_on();
  time.run_for(minutes{5});
  EXPECT_THAT(deletions(), IsEmpty());
  time.run_for(minutes{2});
  EXPECT_EQ(deletions().size(), 1U);
}

TEST_F(EnginePauseTest, WhoeverListensIsToldOfIt) {
  add_node("n1");
  add_pod("web");
  add_budget("web", "web", 1);
  launch();
  begin_for("profile/p");
  time.run_for(seconds{5});
  process->told.clear();
  pause("p");
  time.run_for(seconds{1});
  EXPECT_THAT(process->told, testing::Contains(key("n1", "profile/p")));
  EXPECT_THAT(progress_for("profile/p").pods[0].reason, HasSubstr("paused by ana@host"));
  go_on();
  time.run_for(seconds{1});
  EXPECT_EQ(progress_for("profile/p").pods[0].stage, Stage::blocked);
}

TEST_F(EnginePauseTest, NoPodIsKilledMeanwhile) {
  add_node("n1");
  add_pod("stuck", "n1", {.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.kill_after = seconds{10};
  begin_for("profile/p", options);
  time.run_for(seconds{2});
  pause("p");
  time.run_for(minutes{10});
  EXPECT_THAT(deletions(), IsEmpty());
}

}  // namespace
}  // namespace careen::drain
