// Pods that come while the node is drained: the drain is about those that were there when it was cordoned.
#include <fmt/format.h>

#include "drain/options.h"
#include "drain/test_cluster.h"
#include "kube/cache.h"
#include "kube/node.h"

namespace careen::drain {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class EngineNewcomerTest : public EngineTest {
 protected:
  // As a controller does whose pods are pinned to the node: there is always one more.
  void pin(std::string_view name, io::Duration again) {
    pinned.spawn([](EngineNewcomerTest* test, std::string base, io::Duration pause) -> io::Task<void> {
      for (int i = 0;; ++i) {
        const std::string path = pod_path(fmt::format("{}-{}", base, i));
        test->add_pod(fmt::format("{}-{}", base, i), "n1", PodWish{});
        while (test->cluster.api.text(path)) co_await io::sleep_for(*test->server, pause);
      }
    }(this, std::string(name), again));
  }
  static Options chasing() {
    Options options = usual();
    options.chase_newcomers = true;
    return options;
  }

  io::Scope pinned{*server};
};

TEST_F(EngineNewcomerTest, WhoeverComesAfterTheListIsLeftAlone) {
  add_node("n1");
  pin("pin", io::milliseconds{100});
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evicted(), ElementsAre("pin-0"));
  EXPECT_EQ(progress().pods_to_evict, 1);
  time.run_for(minutes{10});
  EXPECT_TRUE(drained());
  EXPECT_THAT(evicted(), ElementsAre("pin-0"));
  EXPECT_THAT(progress().pods, IsEmpty());
}

// Only the list tells who was there, and until it is in a pinned workload would be evicted for ever.
TEST_F(EngineNewcomerTest, WhileTheListCannotBeReadWhoeverComesBackWaits) {
  add_node("n1");
  pin("pin", io::milliseconds{100});
  launch();
  treat = [](const kube::Request& request) {
    sim::Treatment treatment;
    const bool lists = request.path.find("fieldSelector=spec.nodeName") != std::string::npos;
    if (lists) treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "pods is forbidden");
    return treatment;
  };
  begin();
  time.run_for(minutes{2});
  EXPECT_THAT(evicted(), ElementsAre("pin-0"));
  treat = nullptr;
  ASSERT_TRUE(drains_within(minutes{2}));
  EXPECT_THAT(evicted(), ElementsAre("pin-0", "pin-1"));
}

TEST_F(EngineNewcomerTest, OneThatForbidsTheDrainDoesNotWhenItComesLater) {
  add_node("n1");
  add_pod("web", "n1", PodWish{.more = R"("terminationGracePeriodSeconds":30,)"});
  launch();
  begin(Options{});
  time.run_for(io::milliseconds{500});
  add_pod("alone", "n1", PodWish{.owner = ""});
  ASSERT_TRUE(drains_within(seconds{5}));
  time.run_for(seconds{5});
  EXPECT_TRUE(drained());
  EXPECT_THAT(evicted(), ElementsAre("web"));
}

TEST_F(EngineNewcomerTest, ChasedOneAtATimeWithGrowingPausesAndTheDrainIsCompleteAllTheSame) {
  add_node("n1");
  pin("pin", io::milliseconds{100});
  launch();
  begin(chasing());
  ASSERT_TRUE(drains_within(seconds{10}));
  const io::Steady at = time.now();
  time.run_for(minutes{30});
  EXPECT_TRUE(drained());
  EXPECT_THAT(progress().pods, IsEmpty());
  const auto all = evictions();
  ASSERT_GE(all.size(), 6U);
  EXPECT_LE(all.size(), 12U) << "in half an hour";
  EXPECT_LE(all[1].at - at, seconds{2}) << "the first one at once";
  for (size_t i = 3; i < all.size(); ++i) {
    EXPECT_GE(all[i].at - all[i - 1].at, all[i - 1].at - all[i - 2].at - seconds{2});
  }
}

TEST_F(EngineNewcomerTest, OwnersAreChasedSideBySideAndEachOnePodAtATime) {
  add_node("n1");
  launch();
  begin(chasing());
  ASSERT_TRUE(drains_within(seconds{5}));
  for (int i = 0; i < 4; ++i) add_pod(fmt::format("web-{}", i));
  add_pod("bare-1", "n1", PodWish{.owner = ""});
  add_pod("bare-2", "n1", PodWish{.owner = ""});
  time.run_for(seconds{1});
  EXPECT_THAT(evictions(), SizeIs(3));
  time.run_for(minutes{1});
  EXPECT_GE(evictions().size(), 5U);
  EXPECT_LE(evictions().size(), 6U);
}

TEST_F(EngineNewcomerTest, WhatTheWatchShowsLateIsNoNewcomerIfTheListShowsIt) {
  add_node("n1");
  add_pod("web-0");
  launch();
  cluster.network.set_weather("/api/v1/pods", {.delay = seconds{4}});
  add_pod("bound-before");
  begin();
  ASSERT_TRUE(drains_within(seconds{20}));
  EXPECT_THAT(evicted(), testing::UnorderedElementsAre("web-0", "bound-before"));
}

TEST_F(EngineNewcomerTest, AnotherProcessThatGoesOnWithTheDrainEndsToo) {
  add_node("n1");
  pin("pin", io::milliseconds{100});
  launch();
  begin();
  ASSERT_TRUE(drains_within(seconds{10}));
  for (int i = 0; i < 3; ++i) {
    process.reset();
    launch();
    begin();
    ASSERT_TRUE(drains_within(seconds{10}));
    EXPECT_LE(evicted().size(), 1U);
  }
}

}  // namespace careen::drain
