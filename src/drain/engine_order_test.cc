#include <fmt/format.h>

#include "drain/options.h"
#include "drain/test_cluster.h"
#include "kube/disruption_budget.h"

namespace careen::drain {

using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

TEST_F(EngineTest, UnderABudgetOneAtATimeAndUnderOthersSideBySide) {
  add_node("n1");
  for (const std::string app : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) add_pod(fmt::format("{}-{}", app, i), "n1", PodWish{.app = app});
    add_budget(app, app, 0);
  }
  launch();
  treat = [](const kube::Request&) { return sim::Treatment{.before = io::milliseconds{300}}; };
  begin();
  ASSERT_TRUE(drains_within(seconds{30}));
  const auto all = evictions();
  ASSERT_EQ(all.size(), 8U);
  for (const std::string app : {"a", "b"}) {
    std::vector<io::Steady> times;
    for (const Sent& one : all) {
      if (one.path.find("/pods/" + app) != std::string::npos) times.push_back(one.at);
    }
    ASSERT_EQ(times.size(), 4U);
    for (size_t i = 1; i < times.size(); ++i) {
      // On the answer to the one before, not when its pod is gone.
      EXPECT_GE(times[i] - times[i - 1], io::milliseconds{300});
      EXPECT_LT(times[i] - times[i - 1], io::milliseconds{900});
    }
  }
  EXPECT_EQ(all[0].at, all[1].at);
}

TEST_F(EngineTest, AnExhaustedBudgetIsWaitedFor) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("db-{}", i), "n1", PodWish{.app = "db"});
  add_pod("web");
  add_budget("db", "db", 3);
  launch();
  begin();
  time.run_for(io::minutes{10});
  EXPECT_FALSE(cluster.api.text(pod_path("web")));
  const size_t so_far = evicted().size();
  EXPECT_LE(so_far, 1U + 3 * 6) << "each at once, and then seldom";
  EXPECT_TRUE(progress().blocked());
  ASSERT_EQ(progress().pods.size(), 3U);
  EXPECT_EQ(pod("db-0")->budget, "shop/db");
  EXPECT_EQ(reason("db-0"), "waiting for budget shop/db, which allows 0 of 3 disruptions (3 of 3 healthy, 3 needed)");
  EXPECT_EQ(process->metrics.gauge("careen_drain_blocked_pods", "").value(), 3);
  EXPECT_EQ(requests("POST", "/events").size(), 3U) << "one event a pod and budget";
  set_minimum("db", 0);
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_EQ(evicted().size(), so_far + 3);
  EXPECT_EQ(process->metrics.gauge("careen_drain_blocked_pods", "").value(), 0);
}

TEST_F(EngineTest, NoMoreIsSentThanABudgetAllows) {
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 10; ++i) add_pod(fmt::format("db-{}", i), i < 7 ? "n1" : "n2", PodWish{.app = "db"});
  add_budget("db", "db", 8);
  launch();
  // The watch is slower than the answers.
  cluster.network.set_weather("", {.delay = io::milliseconds{700}});
  begin();
  time.run_for(seconds{4});
  EXPECT_EQ(evictions().size(), 2U);
  EXPECT_EQ(process->evictions("blocked"), 0);
  time.run_for(seconds{20});
  EXPECT_EQ(process->evictions("accepted"), 2);
  EXPECT_EQ(process->evictions("blocked"), 5) << "each of the others once";
  add_pod("db-10", "n2", PodWish{.app = "db"});
  time.run_for(seconds{3});
  EXPECT_EQ(process->evictions("accepted"), 3);
  EXPECT_EQ(process->evictions("blocked"), 5);
}

TEST_F(EngineTest, ARefusalWaitsForTheBudgetToChange) {
  add_node("n1");
  for (int i = 0; i < 2; ++i) add_pod(fmt::format("db-{}", i), "n1", PodWish{.app = "db"});
  add_budget("db", "db", 0);
  launch();
  // The cache shows an old status.
  cluster.network.set_weather("/apis/policy/v1/poddisruptionbudgets", {.frozen = true});
  set_minimum("db", 2);
  time.run_for(seconds{1});
  begin();
  time.run_for(seconds{4});
  EXPECT_EQ(evictions().size(), 1U);
  time.run_for(seconds{16});
  EXPECT_EQ(evictions().size(), 2U) << "the other one is asked for after a while";
  EXPECT_EQ(process->evictions("blocked"), 2);
  EXPECT_EQ(pod("db-0")->stage, Stage::blocked);
  EXPECT_EQ(pod("db-1")->stage, Stage::blocked);
  EXPECT_THAT(pod("db-0")->cause, HasSubstr("disruption budget"));
  cluster.network.set_weather("/apis/policy/v1/poddisruptionbudgets", {});
  time.run_for(seconds{40});
  EXPECT_LE(evictions().size(), 4U);
  set_minimum("db", 0);
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_LE(evictions().size(), 6U);
}

TEST_F(EngineTest, SeveralBudgetsAreANamedBlock) {
  add_node("n1");
  add_pod("web");
  add_budget("a", "web", 0);
  add_budget("b", "web", 0);
  launch();
  begin();
  time.run_for(io::minutes{5});
  EXPECT_EQ(evictions().size(), 4U) << "asked for at growing intervals";
  EXPECT_EQ(pod("web")->stage, Stage::blocked);
  EXPECT_EQ(reason("web"), "budgets shop/a and shop/b both cover it, which the eviction API does not support");
  cluster.api.erase(budget_path("a"));
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_EQ(evictions().size(), 5U);
}

TEST_F(EngineTest, SeveralBudgetsThatOnlyTheServerKnowsAreWaitedFor) {
  add_node("n1");
  add_pod("web");
  add_budget("a", "web", 0);
  launch();
  cluster.network.set_weather("/apis/policy/v1/poddisruptionbudgets", {.frozen = true});
  add_budget("b", "web", 0);
  begin();
  time.run_for(seconds{20});
  EXPECT_EQ(evictions().size(), 1U);
  EXPECT_EQ(pod("web")->stage, Stage::blocked);
  EXPECT_THAT(reason("web"), HasSubstr("more than one PodDisruptionBudget"));
  cluster.network.set_weather("/apis/policy/v1/poddisruptionbudgets", {});
  cluster.api.erase(budget_path("b"));
  ASSERT_TRUE(drains_within(seconds{10}));
}

TEST_F(EngineTest, AnUnreadyPodPassesAHealthyBudget) {
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("db-{}", i), "n2", PodWish{.app = "db"});
  add_pod("db-ill", "n1", PodWish{.app = "db", .annotations = R"({"model.careen.dev/ready":"false"})"});
  add_budget("db", "db", 3);
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evicted(), ElementsAre("db-ill"));
}

TEST_F(EngineTest, WithoutRightsOnBudgetsRefusalsAreTriedAgainAfterAWhile) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  Process& running = launch({}, false);
  EXPECT_EQ(running.problems.open().size(), 1U);
  begin();
  time.run_for(io::minutes{1});
  const auto tries = evictions();
  ASSERT_EQ(tries.size(), 4U);
  EXPECT_EQ(tries[1].at - tries[0].at, seconds{5});
  EXPECT_EQ(tries[2].at - tries[1].at, seconds{10});
  EXPECT_EQ(tries[3].at - tries[2].at, seconds{20});
  EXPECT_EQ(pod("db")->stage, Stage::blocked);
  EXPECT_THAT(reason("db"), HasSubstr("a disruption budget forbids it"));
  set_minimum("db", 0);
  ASSERT_TRUE(drains_within(seconds{40}));
}

TEST_F(EngineTest, WhatCannotBeEvictedInTimeIsDeleted) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  launch();
  Options options = usual();
  options.delete_after = io::minutes{10};
  begin(options);
  time.run_for(seconds{599});
  EXPECT_TRUE(deletions().empty());
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_EQ(deletions().size(), 1U);
  EXPECT_TRUE(kube::Json::parse(deletions()[0].body)->at("/preconditions/uid").exists());
  EXPECT_EQ(process->evictions("accepted"), 1) << "the deletion";
}

TEST_F(EngineTest, WithoutEvictionsPodsAreDeleted) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  launch();
  Options options = usual();
  options.disable_eviction = true;
  begin(options);
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_EQ(deletions().size(), 1U);
  EXPECT_TRUE(evictions().empty());
  EXPECT_TRUE(requests("POST", "/events").empty());
}

TEST_F(EngineTest, TiersLeaveOneAfterTheOther) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  for (int i = 0; i < 2; ++i) add_pod(fmt::format("web-{}", i));
  add_pod("rest", "n1", PodWish{.app = "rest"});
  launch();
  Options options = usual();
  options.tiers = {*kube::LabelSelector::parse("app=web"), *kube::LabelSelector::parse("app=db")};
  begin(options);
  time.run_for(io::milliseconds{500});
  EXPECT_EQ(reason("db"), "waits for tier 1: 2 pods");
  EXPECT_EQ(reason("rest"), "waits for tier 1: 2 pods");
  time.run_for(seconds{1});
  EXPECT_EQ(reason("rest"), "waits for tier 2: 1 pod");
  ASSERT_TRUE(drains_within(seconds{10}));
  ASSERT_EQ(evicted().size(), 4U);
  EXPECT_EQ(evicted()[2], "db");
  EXPECT_EQ(evicted()[3], "rest");
}

TEST_F(EngineTest, LowerPrioritiesLeaveFirst) {
  add_node("n1");
  add_pod("high", "n1", PodWish{.more = R"("priority":1000,)"});
  add_pod("low", "n1", PodWish{.more = R"("priority":-5,)"});
  launch();
  Options options = usual();
  options.by_priority = true;
  begin(options);
  time.run_for(io::milliseconds{500});
  EXPECT_EQ(reason("high"), "waits for priority -5: 1 pod");
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evicted(), ElementsAre("low", "high"));
}

TEST_F(EngineTest, JobsAreLeftToEnd) {
  add_node("n1");
  add_pod("job", "n1", PodWish{.app = "job", .owner = "Job", .annotations = R"({"model.careen.dev/run-time":"120"})"});
  add_pod("keep", "n1", PodWish{.app = "keep"});
  launch();
  Options options = usual();
  options.wait_for = {*kube::LabelSelector::parse("app=job")};
  options.skip = {*kube::LabelSelector::parse("app=keep")};
  begin(options);
  time.run_for(io::minutes{1});
  EXPECT_TRUE(evictions().empty());
  EXPECT_EQ(pod("job")->stage, Stage::completing);
  EXPECT_EQ(reason("job"), "left to end by itself");
  ASSERT_TRUE(drains_within(io::minutes{3}));
  EXPECT_THAT(evicted(), ElementsAre("job"));  // what is left of it
}

TEST_F(EngineTest, WhatTerminatesForTooLongIsNotWaitedFor) {
  add_node("n1");
  add_pod("stuck", "n1", PodWish{.annotations = R"({"model.careen.dev/termination-time":"never"})"});
  launch();
  Options options = usual();
  options.skip_wait_for_delete = seconds{15};
  begin(options);
  time.run_for(seconds{44});
  EXPECT_FALSE(drained());
  ASSERT_TRUE(drains_within(seconds{4}));
}

TEST_F(EngineTest, OurOwnPodGoesLast) {
  add_node("n1");
  add_node("n2");
  add_pod("careen-0");
  add_pod("web-0");
  add_pod("db-0", "n2", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  Process& running = launch({.own_namespace = "shop", .own_pod = "careen-0"});
  bool handed_over = false;
  running.engine.on_own_eviction = [&] { handed_over = true; };
  begin();
  begin(usual(), "n2");
  time.run_for(seconds{20});
  EXPECT_THAT(evicted(), testing::UnorderedElementsAre("web-0", "db-0"));
  EXPECT_EQ(reason("careen-0"), "careen's own pod goes last");
  EXPECT_FALSE(handed_over);
  set_minimum("db", 0);
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_TRUE(handed_over);
  EXPECT_EQ(evicted().back(), "careen-0");
  EXPECT_EQ(evicted().size(), 4U);
}

TEST_F(EngineTest, ManyNodesShareTheBudgetsWithoutARefusal) {
  for (int node = 0; node < 10; ++node) {
    add_node(fmt::format("n{}", node));
    for (int i = 0; i < 12; ++i) {
      const std::string app = fmt::format("a{}", i % 4);
      add_pod(fmt::format("{}-{}-{}", app, node, i), fmt::format("n{}", node), PodWish{.app = app});
    }
  }
  for (int i = 0; i < 4; ++i) add_budget(fmt::format("b{}", i), fmt::format("a{}", i), 0);
  launch();
  treat = [](const kube::Request&) { return sim::Treatment{.before = io::milliseconds{5}}; };
  for (int node = 0; node < 10; ++node) begin(usual(), fmt::format("n{}", node));
  for (int node = 0; node < 10; ++node) ASSERT_TRUE(drains_within(seconds{30}, fmt::format("n{}", node)));
  EXPECT_EQ(evictions().size(), 120U);
  EXPECT_EQ(sent.size() - requests("GET", "/api/v1/nodes/").size(), 130U);
  EXPECT_EQ(process->evictions("accepted"), 120);
}

}  // namespace careen::drain
