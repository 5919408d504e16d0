// What pods say of themselves by Cluster API's label, and how far a drain follows that.
#include "budget/pause.h"
#include "drain/options.h"
#include "drain/test_cluster.h"

namespace careen::drain {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char* kSkip = R"(,"cluster.x-k8s.io/drain":"skip")";
constexpr const char* kWait = R"(,"cluster.x-k8s.io/drain":"wait-completed")";

}  // namespace

TEST_F(EngineTest, APodThatSaysSkipStaysAndHoldsUpNothing) {
  add_node("n1");
  add_pod("web");
  add_pod("agent", "n1", PodWish{.labels = kSkip});
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evicted(), ElementsAre("web"));
  EXPECT_EQ(progress().pods_to_evict, 1);
  EXPECT_EQ(progress().warnings, "WARNING: left alone: label cluster.x-k8s.io/drain says skip: shop/agent");
  EXPECT_THAT(progress().left_alone, ElementsAre("left alone: label cluster.x-k8s.io/drain says skip: shop/agent"));
  time.run_for(minutes{10});
  EXPECT_TRUE(drained());
  EXPECT_TRUE(cluster.api.text(pod_path("agent")));
}

TEST_F(EngineTest, APodMayBeginAndStopToSaySkip) {
  add_node("n1");
  add_pod("agent");
  add_budget("none", "web", 1);
  launch();
  begin();
  time.run_for(minutes{1});
  EXPECT_FALSE(drained());
  const auto label = [&](const char* patch) { cluster.api.merge(pod_path("agent"), *kube::Json::parse(patch)); };
  label(R"({"metadata":{"labels":{"cluster.x-k8s.io/drain":"skip"}}})");
  EXPECT_TRUE(drains_within(seconds{2}));
  label(R"({"metadata":{"labels":{"cluster.x-k8s.io/drain":null}}})");
  EXPECT_TRUE(time.run_until([&] { return !drained(); }, seconds{2}));
  set_minimum("none", 0);
  EXPECT_TRUE(drains_within(minutes{5}));
}

TEST_F(EngineTest, APodThatSaysWaitCompletedIsAwaited) {
  add_node("n1");
  add_pod("web");
  add_pod(
      "job", "n1",
      PodWish{.app = "job", .owner = "Job", .annotations = R"({"model.careen.dev/run-time":"3600"})", .labels = kWait});
  launch();
  begin();
  time.run_for(minutes{30});
  EXPECT_THAT(evicted(), ElementsAre("web"));
  EXPECT_FALSE(drained());
  EXPECT_EQ(pod("job")->stage, Stage::completing);
  EXPECT_EQ(reason("job"), "left to end by itself: label cluster.x-k8s.io/drain says wait-completed");
  EXPECT_EQ(progress().warnings, "");
  ASSERT_TRUE(drains_within(minutes{40}));
  EXPECT_THAT(evicted(), ElementsAre("web", "job"));
  EXPECT_TRUE(deletions().empty());
}

TEST_F(EngineTest, NoPodCanHoldUpADrainThatOverridesBudgetsInTime) {
  add_node("n1");
  add_pod("job", "n1", PodWish{.app = "job", .labels = kWait});
  add_pod("own", "n1", PodWish{.app = "own"});
  launch();
  Options options = usual();
  options.delete_after = minutes{10};
  options.wait_for = {*kube::LabelSelector::parse("app=own")};
  begin(options);
  time.run_for(minutes{9});
  EXPECT_EQ(pod("job")->stage, Stage::completing);
  EXPECT_TRUE(evictions().empty());
  time.run_for(minutes{2});
  ASSERT_EQ(deletions().size(), 1U) << "what the drain itself was told to await stays";
  EXPECT_THAT(deletions()[0].path, HasSubstr("/pods/job"));
  EXPECT_EQ(pod("job"), nullptr);
  EXPECT_EQ(pod("own")->stage, Stage::completing);
  time.run_for(minutes{30});
  EXPECT_EQ(deletions().size(), 1U);
}

TEST_F(EngineTest, WhileADrainIsPausedNothingIsAwaitedForTooLong) {
  add_node("n1");
  add_pod("job", "n1", PodWish{.app = "job", .labels = kWait});
  launch();
  Options options = usual();
  options.delete_after = minutes{10};
  begin(options);
  time.run_for(minutes{5});
  budget::PauseRecord record;
  record.pauses[""] = {"", "ana@host", *io::parse_rfc3339("2026-03-01T10:00:00Z"), ""};
  process->pauses.set(record);
  time.run_for(minutes{20});
  EXPECT_TRUE(deletions().empty());
  process->pauses.set({});
  time.run_for(minutes{4});
  EXPECT_TRUE(deletions().empty());
  EXPECT_TRUE(drains_within(minutes{2}));
}

}  // namespace careen::drain
