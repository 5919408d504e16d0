#include "notify/courier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "notify/test_support.h"

namespace careen::notify {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using Blame = SendError::Blame;

// What the senders of a test do and what they saw.
struct Stage {
  io::Duration takes = milliseconds{100};
  std::function<Sent(const std::string& endpoint, const std::string& text)> outcome = [](auto&, auto&) {
    return Sent{};
  };
  std::vector<std::string> tried;  // texts
  std::vector<io::Steady> tried_at;
  std::map<std::string, int> flying;
  int most_for_one = 0, most_in_all = 0;
};

class StagedSender final : public Sender {
 public:
  StagedSender(Stage& stage, std::string endpoint) : stage_(stage), endpoint_(std::move(endpoint)) {}
  std::string_view endpoint() const override { return endpoint_; }
  io::Task<Sent> send(Message message, Outside& outside) const override {
    const Count count(stage_, endpoint_);
    stage_.tried.push_back(message.text);
    stage_.tried_at.push_back(outside.loop.now());
    co_await io::sleep_for(outside.loop, stage_.takes);
    co_return stage_.outcome(endpoint_, message.text);
  }

 private:
  struct Count {
    Count(Stage& s, const std::string& e) : stage(s), endpoint(e) {
      int all = 0;
      stage.most_for_one = std::max(stage.most_for_one, ++stage.flying[endpoint]);
      for (const auto& [name, count] : stage.flying) all += count;
      stage.most_in_all = std::max(stage.most_in_all, all);
    }
    ~Count() { --stage.flying[endpoint]; }
    Stage& stage;
    const std::string& endpoint;
  };
  Stage& stage_;
  std::string endpoint_;
};

Sent fault(Blame blame, std::optional<io::Duration> retry_after = std::nullopt) {
  return tl::make_unexpected(SendError{blame, "no", retry_after});
}

class CourierTest : public testing::Test {
 protected:
  CourierTest() { start({}); }
  void start(CourierOptions options) {
    world.scope.cancel();
    courier.emplace(world.outside, world.metrics, world.random,
                    Courier::Listener{[this](const std::string& id) {
                                        sent.push_back(id);
                                        if (when_sent) when_sent(id);
                                      },
                                      [this](const std::string& id, const Courier::Failure& failure) {
                                        failures.push_back({id, failure});
                                        if (when_failed) when_failed(id);
                                      }},
                    options);
    world.scope.spawn(courier->run());
  }
  bool add(std::string id, std::string lane = "", std::string endpoint = "e") {
    if (lane.empty()) lane = id;
    return courier->add({id, lane, "instance", {"", id}, std::make_shared<StagedSender>(stage, std::move(endpoint))});
  }
  double counted(const char* result) {
    return world.metrics.counter("careen_notifications_total", "", {{"instance", "instance"}, {"result", result}})
        .value();
  }
  double pending() { return world.metrics.gauge("careen_notifications_pending", "").value(); }

  TestWorld world;
  Stage stage;
  std::vector<std::string> sent;
  std::vector<std::pair<std::string, Courier::Failure>> failures;
  std::function<void(const std::string&)> when_sent, when_failed;
  std::optional<Courier> courier;
};

TEST_F(CourierTest, SendsWhatIsAddedOnce) {
  EXPECT_TRUE(add("a"));
  EXPECT_FALSE(add("a"));
  EXPECT_EQ(pending(), 1);
  world.time.run_for(seconds{10});
  EXPECT_THAT(sent, ElementsAre("a"));
  EXPECT_THAT(stage.tried, ElementsAre("a"));
  EXPECT_EQ(counted("sent"), 1);
  EXPECT_EQ(pending(), 0);
  EXPECT_TRUE(add("a"));
}

TEST_F(CourierTest, KeepsTheLimits) {
  for (int i = 0; i < 10; ++i) {
    for (int k = 0; k < 12; ++k) add(std::to_string(i) + "-" + std::to_string(k), "", "e" + std::to_string(k));
  }
  world.time.run_for(milliseconds{50});
  EXPECT_EQ(stage.tried.size(), 16u);
  // Each endpoint has had a turn before any gets a second place.
  for (const auto& [endpoint, count] : stage.flying) EXPECT_GE(count, 1) << endpoint;
  EXPECT_EQ(stage.flying.size(), 12u);
  world.time.run_for(minutes{1});
  EXPECT_EQ(sent.size(), 120u);
  EXPECT_EQ(stage.most_for_one, 2);
  EXPECT_EQ(stage.most_in_all, 16);
}

TEST_F(CourierTest, ALaneKeepsItsOrder) {
  for (const char* id : {"1", "2", "3", "4"}) add(id, "node");
  world.time.run_for(milliseconds{150});
  EXPECT_THAT(sent, ElementsAre("1"));
  EXPECT_EQ(stage.most_for_one, 1);
  int failed = 0;
  stage.outcome = [&](auto&, auto&) { return failed++ < 3 ? fault(Blame::endpoint) : Sent{}; };
  world.time.run_for(minutes{1});
  EXPECT_THAT(sent, ElementsAre("1", "2", "3", "4"));
}

TEST_F(CourierTest, LanesDoNotWaitForEachOther) {
  add("slow", "node", "down");
  add("quick", "node", "up");
  stage.outcome = [](const std::string& endpoint, auto&) {
    return endpoint == "down" ? fault(Blame::endpoint) : Sent{};
  };
  world.time.run_for(seconds{1});
  EXPECT_THAT(sent, ElementsAre("quick"));
}

TEST_F(CourierTest, PausesDoubleUpToTheLongest) {
  stage.takes = {};
  stage.outcome = [](auto&, auto&) { return fault(Blame::endpoint); };
  add("a");
  world.time.run_for(io::hours{2});
  ASSERT_GE(stage.tried_at.size(), 12u);
  io::Duration expected = seconds{1};
  for (size_t i = 1; i < stage.tried_at.size(); ++i) {
    EXPECT_THAT(stage.tried_at[i] - stage.tried_at[i - 1], AllOf(Ge(expected), Le(expected * 5 / 4))) << i;
    expected = std::min<io::Duration>(expected * 2, minutes{5});
  }
  EXPECT_EQ(failures.size(), stage.tried.size());
  EXPECT_EQ(failures[3].second.attempt, 4);
  EXPECT_EQ(failures[3].second.error, "no");
  EXPECT_EQ(failures[3].second.next_try - io::Wall{world.time.wall_now()}, stage.tried_at[4] - world.time.now());
  EXPECT_EQ(counted("failed"), static_cast<double>(stage.tried.size()));
  EXPECT_EQ(pending(), 1);
}

TEST_F(CourierTest, OneMessageProbesAnEndpointThatFails) {
  bool down = true;
  stage.outcome = [&](auto&, auto&) { return down ? fault(Blame::endpoint) : Sent{}; };
  for (int i = 0; i < 20; ++i) add(std::to_string(i));
  world.time.run_for(milliseconds{500});
  // The two that flew together count as one failure.
  EXPECT_EQ(stage.tried.size(), 2u);
  world.time.run_for(milliseconds{1'000});
  EXPECT_EQ(stage.tried.size(), 3u);
  world.time.run_for(minutes{1});
  EXPECT_LE(stage.tried.size(), 8u);
  // Not the same one again and again.
  EXPECT_EQ(std::set<std::string>(stage.tried.begin(), stage.tried.end()).size(), stage.tried.size());
  down = false;
  world.time.run_for(minutes{2});
  EXPECT_EQ(sent.size(), 20u);
  // And the next failure begins with a short pause again.
  down = true;
  failures.clear();
  add("x");
  world.time.run_for(milliseconds{100});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_LE(failures[0].second.next_try - world.time.wall_now(), milliseconds{1250});
}

TEST_F(CourierTest, APauseThatIsAskedForIsKept) {
  stage.outcome = [&](auto&, auto&) { return stage.tried.size() == 1 ? fault(Blame::endpoint, seconds{90}) : Sent{}; };
  stage.takes = {};
  add("a");
  world.time.run_for(seconds{89});
  EXPECT_EQ(stage.tried.size(), 1u);
  world.time.run_for(seconds{2});
  EXPECT_THAT(sent, ElementsAre("a"));
}

TEST_F(CourierTest, APauseWithoutEndIsNot) {
  stage.outcome = [&](auto&, auto&) {
    return stage.tried.size() == 1 ? fault(Blame::endpoint, io::hours{24 * 365}) : Sent{};
  };
  add("a");
  world.time.run_for(minutes{61});
  EXPECT_THAT(sent, ElementsAre("a"));
}

TEST_F(CourierTest, ARefusedMessageHoldsNobodyUp) {
  stage.outcome = [](auto&, const std::string& text) { return text == "bad" ? fault(Blame::message) : Sent{}; };
  add("bad", "node");
  for (int i = 0; i < 5; ++i) add(std::to_string(i), "node");
  add("other", "other");
  world.time.run_for(milliseconds{900});
  EXPECT_EQ(sent.size(), 6u);
  EXPECT_EQ(failures.size(), 1u);
  EXPECT_EQ(courier->pending(), 1u);
  stage.outcome = [](auto&, auto&) { return Sent{}; };
  world.time.run_for(seconds{1});
  EXPECT_EQ(sent.back(), "bad");
}

TEST_F(CourierTest, ARefusedMessageComesBackWithItsOwnPauses) {
  stage.takes = {};
  stage.outcome = [](auto&, auto&) { return fault(Blame::message); };
  add("bad");
  world.time.run_for(minutes{60});
  EXPECT_THAT(stage.tried.size(), AllOf(Ge(15u), Le(22u)));
  EXPECT_EQ(failures.back().second.attempt, static_cast<int>(stage.tried.size()));
}

TEST_F(CourierTest, ARefusedMessageMayComeBackWhileAnotherOfItsLaneFlies) {
  bool refusing = true;
  stage.outcome = [&](auto&, auto&) { return refusing ? fault(Blame::message) : Sent{}; };
  add("early", "node");
  world.time.run_for(milliseconds{500});
  stage.takes = seconds{5};
  add("long", "node");
  world.time.run_for(seconds{6});
  EXPECT_THAT(stage.tried, ElementsAre("early", "long", "early"));
  refusing = false;
  world.time.run_for(minutes{1});
  EXPECT_THAT(sent, ElementsAre("early", "long"));
}

TEST_F(CourierTest, ASenderThatHangsIsEnded) {
  stage.takes = io::hours{10};
  add("a");
  world.time.run_for(seconds{121});
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_THAT(failures[0].second.error, HasSubstr("e: not sent within 2m"));
  stage.takes = {};
  world.time.run_for(seconds{2});
  EXPECT_THAT(sent, ElementsAre("a"));
}

TEST_F(CourierTest, ForgetsInEveryState) {
  stage.takes = seconds{1};
  add("flying", "x");
  add("behind", "x");
  add("next", "x");
  world.time.run_for(milliseconds{10});
  courier->forget("flying");
  courier->forget("behind");
  courier->forget("unknown");
  EXPECT_EQ(stage.flying["e"], 0);
  EXPECT_EQ(pending(), 1);
  world.time.run_for(seconds{5});
  EXPECT_THAT(sent, ElementsAre("next"));

  stage.outcome = [](auto&, auto&) { return fault(Blame::message); };
  add("aside");
  world.time.run_for(milliseconds{1100});
  EXPECT_EQ(failures.size(), 1u);
  courier->forget("aside");
  stage.outcome = [](auto&, auto&) { return fault(Blame::endpoint); };
  add("waiting");
  world.time.run_for(milliseconds{1100});
  courier->forget("waiting");
  EXPECT_EQ(courier->pending(), 0u);
  stage.tried.clear();
  world.time.run_for(minutes{10});
  EXPECT_THAT(stage.tried, IsEmpty());
  stage.outcome = [](auto&, auto&) { return Sent{}; };
  EXPECT_TRUE(add("aside"));
  world.time.run_for(minutes{10});
  EXPECT_THAT(sent, ElementsAre("next", "aside"));
}

TEST_F(CourierTest, ListenersMayAddAndForget) {
  when_sent = [&](const std::string& id) {
    if (id == "a") add("b");
    courier->forget(id);
  };
  when_failed = [&](const std::string& id) { courier->forget(id); };
  add("a");
  world.time.run_for(seconds{5});
  EXPECT_THAT(sent, ElementsAre("a", "b"));
  for (const Blame blame : {Blame::endpoint, Blame::message}) {
    stage.outcome = [blame](auto&, auto&) { return fault(blame); };
    add("c");
    world.time.run_for(minutes{5});
    EXPECT_EQ(courier->pending(), 0u);
  }
  EXPECT_EQ(failures.size(), 2u);
}

TEST_F(CourierTest, ForgettingAllAtOnceFromAListenerIsSafe) {
  stage.takes = seconds{1};
  for (int i = 0; i < 4; ++i) add(std::to_string(i));
  when_sent = [&](const std::string&) {
    for (int i = 0; i < 4; ++i) courier->forget(std::to_string(i));
  };
  world.time.run_for(minutes{1});
  EXPECT_EQ(sent.size(), 1u);
  EXPECT_EQ(courier->pending(), 0u);
}

TEST_F(CourierTest, NothingIsLostHoweverItFails) {
  io::Random chance(11);
  stage.outcome = [&](auto&, auto&) {
    const double draw = chance.unit();
    return draw < 0.3 ? fault(Blame::endpoint) : draw < 0.5 ? fault(Blame::message) : Sent{};
  };
  std::set<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string id = std::to_string(i);
    add(id, "node" + std::to_string(i % 40), "e" + std::to_string(i % 3));
    expected.insert(id);
  }
  world.time.run_for(io::hours{2});
  EXPECT_EQ(sent.size(), 300u);
  EXPECT_EQ(std::set<std::string>(sent.begin(), sent.end()), expected);
  EXPECT_LE(stage.most_for_one, 2);
}

}  // namespace
}  // namespace careen::notify
