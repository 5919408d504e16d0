#include "drain/engine.h"

#include <fmt/format.h>

#include "drain/filter.h"
#include "drain/test_cluster.h"

namespace careen::drain {

using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Phase = Progress::Phase;

namespace {
sim::Treatment slow_but_for_the_node(const kube::Request& request) {
  return {.before = request.path == "/api/v1/nodes/n1" ? io::Duration{} : io::Duration{seconds{2}}};
}
}  // namespace

TEST_F(EngineTest, EvictsEachPodOnceAndLooksOnceWhetherTheNodeIsEmpty) {
  add_node("n1");
  for (int i = 0; i < 5; ++i) add_pod(fmt::format("web-{}", i));
  add_pod("elsewhere", "n2");
  launch();
  begin();
  EXPECT_FALSE(drained());
  EXPECT_EQ(progress().total_pods, 5);
  EXPECT_EQ(progress().pods_to_evict, 5);
  EXPECT_EQ(progress().percent(), 0);
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_THAT(evicted(), testing::UnorderedElementsAre("web-0", "web-1", "web-2", "web-3", "web-4"));
  EXPECT_EQ(sent.size(), 7U);  // and one list, and one look at the node
  EXPECT_THAT(requests("GET", "/api/v1/pods?")[0].path, HasSubstr("fieldSelector=spec.nodeName%3Dn1"));
  EXPECT_EQ(progress().percent(), 100);
  EXPECT_TRUE(progress().drained_at.has_value());
  EXPECT_EQ(process->evictions("accepted"), 5);
  time.settle();
  EXPECT_EQ(process->metrics.gauge("careen_drains_running", "").value(), 0);
}

TEST_F(EngineTest, NamesTheUidAndTheGracePeriodInTheRequest) {
  add_node("n1");
  add_pod("web");
  launch();
  Options options = usual();
  options.grace_seconds = 7;
  begin(options);
  ASSERT_TRUE(drains_within(seconds{5}));
  const auto body = *kube::Json::parse(evictions().at(0).body);
  EXPECT_EQ(body["apiVersion"].text(), "policy/v1");
  EXPECT_EQ(body.at("/deleteOptions/gracePeriodSeconds").integer(), 7);
  EXPECT_FALSE(body.at("/deleteOptions/preconditions/uid").text().value_or("").empty());
}

TEST_F(EngineTest, AnEmptyNodeIsDrainedOnlyAfterAList) {
  add_node("n1");
  launch();
  treat = [](const kube::Request&) { return sim::Treatment{.before = seconds{2}}; };
  begin();
  time.run_for(seconds{1});
  EXPECT_FALSE(drained());
  EXPECT_EQ(progress().percent(), 0);
  ASSERT_TRUE(drains_within(seconds{2}));
  EXPECT_EQ(sent.size(), 1U);
}

TEST_F(EngineTest, AListThatFailsIsTriedAgainAndSaysWhy) {
  add_node("n1");
  launch();
  treat = [](const kube::Request&) {
    return sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "pods is forbidden")};
  };
  begin();
  time.run_for(seconds{10});
  EXPECT_FALSE(drained());
  EXPECT_THAT(progress().errors, ElementsAre("the pods of node n1 cannot be listed: pods is forbidden"));
  EXPECT_LE(sent.size(), 5U);
  treat = nullptr;
  ASSERT_TRUE(drains_within(seconds{30}));
  EXPECT_TRUE(progress().errors.empty());
}

TEST_F(EngineTest, WhatOnlyTheListShowsIsEvictedToo) {
  add_node("n1");
  add_pod("web-0");
  launch();
  cluster.network.set_weather("/api/v1/pods", {.delay = seconds{4}});
  add_pod("web-1");
  begin();
  time.run_for(seconds{1});
  EXPECT_EQ(progress().total_pods, 2);
  EXPECT_EQ(evicted().size(), 2U);
  ASSERT_TRUE(drains_within(seconds{20}));
}

TEST_F(EngineTest, ANewcomerThatIsChasedIsEvictedUntilTheEnd) {
  add_node("n1");
  add_pod("web-0");
  launch();
  Options options = usual();
  options.chase_newcomers = true;
  begin(options);
  ASSERT_TRUE(drains_within(seconds{5}));
  add_pod("late");
  time.run_for(seconds{5});
  EXPECT_TRUE(progress().drained_at.has_value());
  EXPECT_EQ(progress().pods_to_evict, 1);
  EXPECT_THAT(evicted(), ElementsAre("web-0", "late"));
  engine().end(key());
  add_pod("later");
  time.run_for(seconds{10});
  EXPECT_EQ(evicted().size(), 2U);
  EXPECT_EQ(engine().progress(key()), nullptr);
}

TEST_F(EngineTest, AfterTheEndNothingMoreIsSent) {
  add_node("n1");
  for (int i = 0; i < 6; ++i) add_pod(fmt::format("web-{}", i));
  add_budget("web", "web", 1);
  launch();
  treat = [](const kube::Request&) { return sim::Treatment{.before = seconds{1}}; };
  begin();
  time.run_for(io::milliseconds{1500});
  engine().end(key());
  EXPECT_FALSE(engine().has(key()));
  const size_t so_far = evictions().size();
  EXPECT_GE(so_far, 1U);
  time.run_for(io::minutes{5});
  EXPECT_EQ(evictions().size(), so_far);
  begin();  // and it can begin anew
  ASSERT_TRUE(time.run_until([&] { return evictions().size() > so_far; }, seconds{5}));
}

TEST_F(EngineTest, TwoOwnersOfOneNodeSendOneRequestForAPod) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("web-{}", i));
  launch();
  begin();
  Options gentle;
  gentle.skip.push_back(*kube::LabelSelector::parse("app=web"));
  begin(key("n1", "other"), gentle);
  Options chasing = usual();
  chasing.chase_newcomers = true;
  begin(key("n1", "third"), chasing);
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_EQ(evicted().size(), 3U);
  EXPECT_EQ(engine().progress(key("n1", "other"))->phase, Phase::drained);
  EXPECT_EQ(engine().progress(key("n1", "other"))->pods_to_evict, 0);
  EXPECT_EQ(engine().progress(key("n1", "third"))->phase, Phase::drained);
  engine().end(key());
  add_pod("late");
  ASSERT_TRUE(time.run_until([&] { return evicted().size() == 4; }, seconds{5}));
}

TEST_F(EngineTest, APodOfTheSameNameElsewhereIsLeftAlone) {
  add_node("n1");
  add_node("n2");
  add_pod("db-0");
  launch();
  cluster.network.set_weather("", {.frozen = true});
  cluster.api.erase(pod_path("db-0"));
  add_pod("db-0", "n2");
  begin();
  time.run_for(seconds{10});
  EXPECT_GE(evictions().size(), 1U);
  EXPECT_EQ(process->evictions("gone"), static_cast<double>(evictions().size()));
  EXPECT_FALSE(drained());
  cluster.network.set_weather("", {});
  ASSERT_TRUE(drains_within(seconds{5}));
  const kube::Json other = cluster.api.object(pod_path("db-0"));
  EXPECT_EQ(other["spec"]["nodeName"].text(), "n2");
  EXPECT_FALSE(other["metadata"]["deletionTimestamp"].exists());
}

TEST_F(EngineTest, TheTimeOutEndsTheDrainInTheWordsOfKubectl) {
  add_node("n1");
  add_pod("held");
  add_pod("stuck", "n1", PodWish{.app = "stuck", .annotations = R"({"model.careen.dev/termination-time":"never"})"});
  add_budget("web", "web", 1);
  launch();
  Options options = usual();
  options.timeout = seconds{90};
  begin(options);
  time.run_for(seconds{89});
  EXPECT_EQ(progress().phase, Phase::draining);
  time.run_for(seconds{2});
  EXPECT_EQ(progress().phase, Phase::failed);
  EXPECT_THAT(progress().errors,
              ElementsAre("error when evicting pods/\"held\" -n \"shop\": global timeout reached: 1m30s",
                          "error when waiting for pod \"stuck\" in namespace \"shop\" to terminate: context deadline "
                          "exceeded"));
  sent.clear();
  set_minimum("web", 0);
  time.run_for(io::minutes{2});
  EXPECT_TRUE(evicted().empty()) << "nothing more is sent";
}

TEST_F(EngineTest, ARefusedDrainTouchesNothing) {
  add_node("n1");
  add_pod("web");
  add_pod("alone", "n1", PodWish{.owner = ""});
  launch();
  begin(Options{});
  time.run_for(io::minutes{1});
  EXPECT_EQ(progress().phase, Phase::refused);
  EXPECT_THAT(progress().errors, ElementsAre("cannot delete cannot delete Pods that declare no controller (use --force "
                                             "to override): shop/alone"));
  EXPECT_TRUE(evictions().empty());
  cluster.api.erase(pod_path("alone"));
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_TRUE(progress().errors.empty());
}

TEST_F(EngineTest, DaemonSetsAreLeftAloneAsLongAsTheyAreThere) {
  add_node("n1");
  add_pod("agent", "n1", PodWish{.owner = "DaemonSet"});
  auto state = DaemonSetState::unknown;
  daemon_set = [&](std::string_view, std::string_view) { return state; };
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{5}));
  state = DaemonSetState::exists;
  engine().daemon_sets_known();
  time.run_for(seconds{1});
  EXPECT_TRUE(drained());
  EXPECT_EQ(progress().warnings, "WARNING: ignoring DaemonSet-managed Pods: shop/agent");
  state = DaemonSetState::missing;
  engine().daemon_sets_known();
  ASSERT_TRUE(time.run_until([&] { return drained() && evicted().size() == 1; }, seconds{5}));
}

TEST_F(EngineTest, ADryRunSendsNothing) {
  add_node("n1");
  add_pod("web");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  launch({.dry_run = true});
  begin();
  time.run_for(io::minutes{2});
  EXPECT_EQ(sent.size(), 1U);
  EXPECT_EQ(reason("web"), "would be evicted");
  EXPECT_EQ(pod("db")->stage, Stage::blocked);
  EXPECT_EQ(pod("db")->budget, "shop/db");
}

TEST_F(EngineTest, StoppingWaitsForWhatIsUnderWay) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("web-{}", i));
  add_budget("web", "web", 0);
  Process& running = launch();
  treat = slow_but_for_the_node;
  begin();
  time.run_for(seconds{1});
  bool stopped = false;
  running.scope.spawn([](Engine* which, bool* done) -> io::Task<void> {
    co_await which->stop();
    *done = true;
  }(&engine(), &stopped));
  time.run_for(io::milliseconds{500});
  EXPECT_FALSE(stopped);
  time.run_for(seconds{2});
  EXPECT_TRUE(stopped);
  time.run_for(io::minutes{1});
  EXPECT_EQ(evictions().size(), 1U);
  running.running.spawn(engine().run());  // another term
  ASSERT_TRUE(drains_within(io::minutes{1}));
  EXPECT_EQ(evictions().size(), 3U);
}

TEST_F(EngineTest, OtherOptionsTakeEffectAtOnce) {
  add_node("n1");
  add_pod("alone", "n1", PodWish{.owner = ""});
  launch();
  begin(Options{});
  time.run_for(seconds{10});
  EXPECT_EQ(progress().phase, Phase::refused);
  begin(usual());
  ASSERT_TRUE(drains_within(seconds{5}));
  EXPECT_EQ(requests("GET", "/pods").size(), 1U) << "the list need not be made again";
}

TEST_F(EngineTest, ADrainThatBeginsBeforeThePodsAreKnownCountsThem) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("web-{}", i));
  time.run_for(seconds{5});
  process = std::make_unique<Process>(*this, EngineOptions{}, true);
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_EQ(progress().total_pods, 3);
  EXPECT_EQ(evicted().size(), 3U);
}

TEST_F(EngineTest, CancellingInMidRequestLosesNothing) {
  add_node("n1");
  for (int i = 0; i < 3; ++i) add_pod(fmt::format("web-{}", i));
  add_budget("web", "web", 0);
  Process& running = launch();
  treat = slow_but_for_the_node;
  begin();
  time.run_for(seconds{1});
  running.running.cancel();
  time.run_for(io::minutes{1});
  EXPECT_EQ(evictions().size(), 1U);
  EXPECT_FALSE(drained());
  running.running.spawn(engine().run());
  ASSERT_TRUE(drains_within(io::minutes{1}));
}

}  // namespace careen::drain
