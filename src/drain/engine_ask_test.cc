// Each pod is asked for, also where its budgets let nobody go: the request is what webhooks act on.
#include <fmt/format.h>

#include "drain/ask.h"
#include "drain/options.h"
#include "drain/test_cluster.h"
#include "kube/disruption_budget.h"

namespace careen::drain {

using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class EngineAskTest : public EngineTest {
 protected:
  static std::string name_of(const kube::Request& request) {
    const size_t at = request.path.find("/pods/");
    if (at == std::string::npos || request.path.find("/eviction") == std::string::npos) return {};
    return request.path.substr(at + 6, request.path.find('/', at + 6) - at - 6);
  }
  // A webhook that moves each pod some time after it heard of its eviction, as an operator of virtual machines does.
  // With a code it denies the request meanwhile.
  void move_when_asked(io::Duration after, int code) {
    treat = [this, after, code](const kube::Request& request) {
      const std::string name = name_of(request);
      if (name.empty()) return sim::Treatment{};
      if (moving.insert(name).second) {
        movers.spawn([](EngineAskTest* test, std::string pod, io::Duration span) -> io::Task<void> {
          co_await io::sleep_for(*test->server, span);
          test->cluster.api.erase(pod_path(pod));
        }(this, name, after));
      }
      if (code == 0) return sim::Treatment{};
      return sim::Treatment{.refuse = sim::ApiServer::refusal(
                                code, "TooManyRequests", "admission webhook \"move.example.com\" denied the request")};
    };
  }
  std::vector<io::Duration> times_of(std::string_view name) {
    std::vector<io::Duration> out;
    for (const Sent& one : evictions()) {
      if (one.path.find(fmt::format("/pods/{}/", name)) != std::string::npos) out.push_back(one.at - begun);
    }
    return out;
  }
  void begin_now() {
    begun = time.now();
    begin();
  }

  std::set<std::string> moving;
  io::Scope movers{*server};
  io::Steady begun{};
};

TEST_F(EngineAskTest, AWebhookThatMovesThePodEndsTheDrainAlthoughTheBudgetNeverAllowsIt) {
  for (const int code : {0, 429}) {
    add_node("n1");
    add_pod("vm", "n1", PodWish{.app = "vm"});
    add_budget("vm", "vm", 1);
    launch();
    move_when_asked(seconds{2}, code);
    begin();
    ASSERT_TRUE(drains_within(seconds{5})) << code;
    EXPECT_THAT(evicted(), ElementsAre("vm")) << code;
    treat = nullptr;
    moving.clear();
    process.reset();
    sent.clear();
  }
}

TEST_F(EngineAskTest, UnderTwoBudgetsTheWebhookIsReachedToo) {
  add_node("n1");
  add_pod("vm", "n1", PodWish{.app = "vm"});
  add_budget("a", "vm", 1);
  add_budget("b", "vm", 0);
  launch();
  move_when_asked(seconds{2}, 0);
  begin();
  ASSERT_TRUE(drains_within(seconds{5}));
}

TEST_F(EngineAskTest, ABudgetThatOthersUseUpIsAskedAtOnceAndThenSeldom) {
  add_node("n1");
  for (int i = 0; i < 20; ++i) add_pod(fmt::format("db-{}", i), "n1", PodWish{.app = "db"});
  add_budget("db", "db", 20);
  launch();
  begin_now();
  time.run_for(seconds{1});
  EXPECT_THAT(evictions(), SizeIs(20)) << "each once";
  time.run_for(minutes{60} - seconds{1});
  for (int i = 0; i < 20; ++i) {
    const auto times = times_of(fmt::format("db-{}", i));
    ASSERT_THAT(times.size(), testing::AllOf(Ge(13U), Le(22U)));
    for (size_t k = 1; k < times.size(); ++k) {
      EXPECT_GE(times[k] - times[k - 1], seconds{24});
      EXPECT_LE(times[k] - times[k - 1], minutes{5});
    }
  }
  EXPECT_NE(times_of("db-1").back(), times_of("db-2").back());
}

TEST_F(EngineAskTest, WhatOurOwnEvictionsHaveJustUsedUpIsNotAskedFor) {
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 4; ++i) add_pod(fmt::format("db-{}", i), "n1", PodWish{.app = "db"});
  add_budget("db", "db", 3);
  launch();
  begin_now();
  time.run_for(seconds{4});
  EXPECT_THAT(evictions(), SizeIs(1));
  time.run_for(seconds{3});
  EXPECT_THAT(evictions(), SizeIs(4)) << "the others were asked for after five seconds";
  EXPECT_EQ(process->evictions("blocked"), 3);
  time.run_for(seconds{15});
  EXPECT_THAT(evictions(), SizeIs(4));
}

TEST_F(EngineAskTest, WhoseTurnComesAnywayIsNotAskedForInVain) {
  add_node("n1");
  add_node("n2");
  for (int i = 0; i < 6; ++i) add_pod(fmt::format("db-{}", i), "n1", PodWish{.app = "db"});
  for (int i = 6; i < 9; ++i) add_pod(fmt::format("db-{}", i), "n2", PodWish{.app = "db"});
  add_budget("db", "db", 8);
  launch();
  begin();
  for (int i = 9; i < 20 && !drained(); ++i) {
    time.run_for(seconds{3});
    add_pod(fmt::format("db-{}", i), "n2", PodWish{.app = "db"});
  }
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evictions(), SizeIs(6));
  EXPECT_EQ(process->evictions("blocked"), 0);
}

TEST_F(EngineAskTest, ABudgetThatKeepsChangingButStaysClosedIsNotAskedMore) {
  add_node("n1");
  add_pod("db-0", "n1", PodWish{.app = "db"});
  add_pod("web", "n1", PodWish{.app = "web"});
  add_budget("db", "db", 5);
  add_budget("a", "web", 0);
  add_budget("b", "web", 0);
  launch();
  begin_now();
  for (int i = 0; i < 20; ++i) {
    time.run_for(seconds{1});
    for (const char* budget : {"db", "a", "b"}) {
      cluster.api.merge(budget_path(budget), kube::Json::object().set({"metadata", "labels", "n"}, std::to_string(i)));
    }
  }
  EXPECT_THAT(evicted(), UnorderedElementsAre("db-0", "web"));
}

TEST_F(EngineAskTest, ADrainThatEndsAndBeginsAgainDoesNotAskEachTime) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  launch();
  for (int i = 0; i < 20; ++i) {
    begin();
    time.run_for(io::milliseconds{500});
    engine().end(key());
    time.run_for(io::milliseconds{500});
  }
  EXPECT_THAT(evictions(), SizeIs(1));
  begin();
  time.run_for(seconds{20});
  EXPECT_THAT(evictions(), SizeIs(2));
}

TEST_F(EngineAskTest, ABlockedPodStaysBlockedWhileItIsAskedFor) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_budget("db", "db", 1);
  launch();
  treat = [](const kube::Request& request) {
    return sim::Treatment{.before = name_of(request).empty() ? io::Duration{} : io::Duration{seconds{2}}};
  };
  begin_now();
  time.run_for(seconds{1});
  EXPECT_EQ(pod("db")->stage, Stage::blocked);
  const io::Wall since = pod("db")->since;
  time.run_for(minutes{2});
  EXPECT_EQ(pod("db")->since, since);
  EXPECT_THAT(requests("POST", "/events"), SizeIs(1)) << "it has been blocked for more than a minute";
}

TEST_F(EngineAskTest, NobodyIsAskedForInAPauseOrBeforeItsTurn) {
  add_node("n1");
  add_pod("db", "n1", PodWish{.app = "db"});
  add_pod("web", "n1", PodWish{.app = "web", .more = R"("terminationGracePeriodSeconds":30,)"});
  add_budget("db", "db", 1);
  add_budget("web", "web", 1);
  launch();
  Options options = usual();
  options.tiers.push_back(*kube::LabelSelector::parse("app=web"));
  begin(options);
  time.run_for(minutes{2});
  for (const std::string& name : evicted()) EXPECT_EQ(name, "web");
}

TEST(AskTest, PausesGrowToAFewMinutesAndDifferFromPodToPod) {
  EXPECT_GE(pause_between_asks(1, "a"), seconds{24});
  EXPECT_LE(pause_between_asks(1, "a"), seconds{36});
  EXPECT_EQ(pause_between_asks(2, "a"), 2 * pause_between_asks(1, "a"));
  EXPECT_LE(pause_between_asks(99, "a"), minutes{5});
  EXPECT_GE(pause_between_asks(99, "a"), minutes{3});
  EXPECT_NE(pause_between_asks(1, "a"), pause_between_asks(1, "b"));
}

}  // namespace careen::drain
