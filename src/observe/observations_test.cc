// Observations of anything: those that are followed at a standing interval, errors, bounds. What on-demand means is in
// prometheus_observations_test.cc.
#include "observe/observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "io/metrics.h"
#include "io/random.h"
#include "io/virtual_time.h"

namespace careen::observe {
namespace {

using io::Duration;
using io::milliseconds;
using io::minutes;
using io::seconds;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Not;
using ::testing::SizeIs;

struct Cloud {
  std::string server;
  std::string project = "p";
  std::string endpoint() const { return server; }
  friend auto operator<=>(const Cloud&, const Cloud&) = default;
};

struct Machines {
  std::vector<std::string> names;
};

const Cloud kCloud{"cloud"};
const Cloud kOther{"other"};

class StandingObservationsTest : public testing::Test {
 protected:
  using Clouds = Observations<Cloud, Machines>;

  ObservationOptions options() {
    return {.interval = minutes{2},
            .in_flight_per_endpoint = 2,
            .longest_answer = seconds{30},
            .most_sources = 3,
            .standing =
                StandingPace{.random = random, .interval = seconds{60}, .jitter = jitter, .longest_pause = minutes{5}}};
  }
  Clouds& clouds() {
    if (!clouds_) {
      clouds_ = std::make_unique<Clouds>(
          *loop, metrics, options(), [this](Cloud cloud) { return answer(std::move(cloud)); },
          [this](const Cloud& cloud) {
            changes.push_back(cloud.server);
            if (on_change) on_change(cloud);
          });
    }
    return *clouds_;
  }
  io::Task<io::Result<Machines>> answer(Cloud cloud) {
    asked.push_back(cloud);
    asked_at.push_back(loop->now());
    ++in_flight;
    most_in_flight = std::max(most_in_flight, in_flight);
    const Duration delay = cloud.server == slow ? slowness : Duration{};
    if (delay > Duration{}) co_await io::sleep_for(*loop, delay);
    --in_flight;
    if (!trouble.empty()) co_return io::fail(io::ErrorKind::closed, trouble);
    co_return Machines{machines};
  }
  // Between one request and the next.
  std::vector<double> pauses() const {
    std::vector<double> result;
    for (std::size_t i = 1; i < asked_at.size(); ++i) result.push_back(io::to_seconds(asked_at[i] - asked_at[i - 1]));
    return result;
  }
  int times_asked(const Cloud& cloud) const { return static_cast<int>(std::count(asked.begin(), asked.end(), cloud)); }
  Observation<Machines> latest(const Cloud& cloud = kCloud) {
    return clouds().latest(cloud).value_or(Observation<Machines>{});
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{5};
  double jitter = 0;
  std::vector<std::string> machines = {"a"};
  std::string trouble;  // not empty: what all answers say
  std::string slow;     // the server that takes its time
  Duration slowness{};
  std::vector<Cloud> asked;
  std::vector<io::Steady> asked_at;
  int in_flight = 0;
  int most_in_flight = 0;
  std::vector<std::string> changes;
  std::function<void(const Cloud&)> on_change;

 private:
  std::unique_ptr<Clouds> clouds_;
};

TEST_F(StandingObservationsTest, WhatIsFollowedIsAskedAtOnceAndThenAtTheInterval) {
  const auto interest = clouds().follow(kCloud);
  ASSERT_TRUE(interest);
  time.settle();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_THAT(latest().value->names, ElementsAre("a"));
  EXPECT_THAT(changes, ElementsAre("cloud"));
  time.run_for(minutes{60});
  EXPECT_THAT(asked, SizeIs(61));
  EXPECT_THAT(pauses(), Each(60.0));
}

TEST_F(StandingObservationsTest, AResultComesWithItsAge) {
  slow = "cloud";
  slowness = seconds{5};
  const io::Wall begin = loop->wall_now();
  const auto interest = clouds().follow(kCloud);
  time.run_for(seconds{4});
  EXPECT_EQ(clouds().latest(kCloud), std::nullopt);
  EXPECT_EQ(clouds().state(kCloud, loop->wall_now()).why, "being asked since 4s ago");
  time.run_for(seconds{21});
  EXPECT_EQ(latest().age, seconds{20});
  EXPECT_EQ(latest().value_age, seconds{20});
  EXPECT_EQ(latest().asked_at, begin);
  EXPECT_EQ(latest().answered_at, begin + seconds{5});
  // Whoever sets the clock makes it neither older nor younger.
  time.step_clock(*loop, io::hours{1});
  EXPECT_EQ(latest().age, seconds{20});
  time.step_clock(*loop, -io::hours{2});
  EXPECT_EQ(latest().age, seconds{20});
}

TEST_F(StandingObservationsTest, TheClockDoesNotMoveTheInterval) {
  const auto interest = clouds().follow(kCloud);
  time.run_for(seconds{30});
  time.step_clock(*loop, io::hours{24});
  time.run_for(seconds{29});
  EXPECT_THAT(asked, SizeIs(1));
  time.step_clock(*loop, -io::hours{48});
  time.run_for(seconds{1});
  EXPECT_THAT(asked, SizeIs(2));
}

TEST_F(StandingObservationsTest, PausesVaryByTheJitter) {
  jitter = 0.1;
  const auto interest = clouds().follow(kCloud);
  time.run_for(io::hours{2});
  const auto [shortest, longest] = std::ranges::minmax(pauses());
  EXPECT_THAT(pauses(), Each(AllOf(Ge(54.0), Le(66.0))));
  EXPECT_LT(shortest, 56);
  EXPECT_GT(longest, 64);
}

TEST_F(StandingObservationsTest, EqualSeedsGiveEqualPauses) {
  jitter = 0.5;
  const auto pauses_of = [this](uint64_t seed) {
    random = io::Random{seed};
    asked_at.clear();
    const auto interest = clouds().follow(kCloud);
    time.run_for(minutes{20});
    // Forgotten, so that the next one begins anew.
    return pauses();
  };
  const auto run = [&](uint64_t seed) {
    auto result = pauses_of(seed);
    time.run_for(minutes{10});
    return result;
  };
  const std::vector<double> first = run(1);
  EXPECT_EQ(run(1), first);
  EXPECT_NE(run(2), first);
}

TEST_F(StandingObservationsTest, TwoThatBeganTogetherDoNotStayInStep) {
  jitter = 0.1;
  const auto one = clouds().follow(kCloud);
  const auto two = clouds().follow(kOther);
  time.run_for(io::hours{1});
  int together = 0;
  for (std::size_t i = 2; i < asked_at.size(); ++i) together += asked_at[i] - asked_at[i - 1] < milliseconds{1};
  EXPECT_LT(together, 3);
}

TEST_F(StandingObservationsTest, AnErrorKeepsTheLastValueAndItsAge) {
  const auto interest = clouds().follow(kCloud);
  time.run_for(seconds{10});
  trouble = "the cloud rains";
  time.run_for(seconds{60});
  EXPECT_EQ(latest().error, "the cloud rains");
  EXPECT_EQ(latest().age, seconds{10});
  ASSERT_TRUE(latest().value);
  EXPECT_THAT(latest().value->names, ElementsAre("a"));
  EXPECT_EQ(latest().value_age, seconds{70});
  const auto state = clouds().state(kCloud, loop->wall_now());
  EXPECT_EQ(state.kind, ObservationKind::failed);
  EXPECT_TRUE(state.observation->value);
  EXPECT_THAT(changes, SizeIs(2));
  trouble.clear();
  machines = {"a", "b"};
  time.run_for(seconds{60});
  EXPECT_THAT(latest().error, IsEmpty());
  EXPECT_THAT(latest().value->names, ElementsAre("a", "b"));
  EXPECT_EQ(latest().value_age, seconds{10});
}

TEST_F(StandingObservationsTest, WithoutAnyValueThereIsOnlyAnError) {
  trouble = "no";
  const auto interest = clouds().follow(kCloud);
  time.run_for(seconds{1});
  EXPECT_EQ(latest().error, "no");
  EXPECT_FALSE(latest().value);
  EXPECT_EQ(latest().value_age, Duration{});
}

TEST_F(StandingObservationsTest, AValueThatSomebodyHoldsStaysWhenAnotherComes) {
  const auto interest = clouds().follow(kCloud);
  time.settle();
  const auto held = latest().value;
  machines = {"b"};
  time.run_for(seconds{60});
  EXPECT_THAT(held->names, ElementsAre("a"));
  EXPECT_THAT(latest().value->names, ElementsAre("b"));
}

TEST_F(StandingObservationsTest, ErrorsInARowAreFollowedByLongerPauses) {
  trouble = "no";
  const auto interest = clouds().follow(kCloud);
  time.run_for(minutes{19});
  EXPECT_THAT(pauses(), ElementsAre(60.0, 120.0, 240.0, 300.0, 300.0));
  trouble.clear();
  time.run_for(minutes{5});  // asked with success
  asked_at.clear();
  time.run_for(minutes{3});
  EXPECT_THAT(pauses(), ElementsAre(60.0, 60.0));
}

TEST_F(StandingObservationsTest, AHangingServerDelaysNoOther) {
  slow = "cloud";
  slowness = io::hours{1};
  const auto one = clouds().follow(kCloud);
  const auto two = clouds().follow(kOther);
  time.run_for(minutes{10});
  EXPECT_EQ(times_asked(kOther), 11);
  EXPECT_EQ(latest(kCloud).error, "no answer within 30s");
  EXPECT_FALSE(latest(kCloud).value);
  EXPECT_THAT(metrics.expose(), HasSubstr(R"(careen_observations_total{endpoint="cloud",result="timeout"})"));
  EXPECT_THAT(metrics.expose(), Not(HasSubstr(R"(endpoint="other",result="timeout")")));
}

// One of the two turns of the endpoint is left to the others, and after its error it makes longer and longer pauses.
TEST_F(StandingObservationsTest, AHangingSourceLeavesTheOtherTurnsOfItsEndpoint) {
  const Cloud hanging{"server", "hangs"}, quick{"server", "quick"};
  Clouds mixed(
      *loop, metrics, options(),
      [this, hanging](Cloud cloud) {
        slow = cloud == hanging ? "server" : "";
        slowness = io::hours{1};
        return answer(std::move(cloud));
      },
      [](const Cloud&) {});
  const auto one = mixed.follow(hanging);
  const auto two = mixed.follow(quick);
  time.run_for(minutes{10});
  EXPECT_EQ(times_asked(quick), 11);
  EXPECT_LE(times_asked(hanging), 5);
}

TEST_F(StandingObservationsTest, RequestsToOneEndpointWaitForTheirTurn) {
  slow = "cloud";
  slowness = seconds{1};
  const auto one = clouds().follow({"cloud", "1"});
  const auto two = clouds().follow({"cloud", "2"});
  const auto three = clouds().follow({"cloud", "3"});
  time.run_for(milliseconds{500});
  EXPECT_EQ(in_flight, 2);
  EXPECT_EQ(clouds().state({"cloud", "3"}, loop->wall_now()).why,
            "waiting for its turn, 2 requests to cloud are under way");
  time.run_for(seconds{2});
  EXPECT_EQ(most_in_flight, 2);
  EXPECT_THAT(asked, SizeIs(3));
}

TEST_F(StandingObservationsTest, WhatNobodyFollowsAnyMoreIsForgotten) {
  {
    const auto interest = clouds().follow(kCloud);
    time.run_for(seconds{90});
    EXPECT_THAT(asked, SizeIs(2));
  }
  time.run_for(seconds{89});
  EXPECT_TRUE(clouds().latest(kCloud));
  time.run_for(seconds{2});
  EXPECT_EQ(clouds().latest(kCloud), std::nullopt);
  time.run_for(io::hours{1});
  EXPECT_THAT(asked, SizeIs(2));
}

TEST_F(StandingObservationsTest, WhatIsStillWaitingForItsTurnIsNotAskedWhenNobodyFollowsIt) {
  slow = "cloud";
  slowness = seconds{10};
  const auto one = clouds().follow({"cloud", "1"});
  const auto two = clouds().follow({"cloud", "2"});
  {
    const auto three = clouds().follow({"cloud", "3"});
    time.run_for(seconds{1});
  }
  time.run_for(seconds{30});
  EXPECT_EQ(times_asked({"cloud", "3"}), 0);
  // And its place is free.
  EXPECT_TRUE(clouds().follow(kOther));
}

TEST_F(StandingObservationsTest, EachFollowerCounts) {
  std::optional<Clouds::Interest> one = clouds().follow(kCloud);
  std::optional<Clouds::Interest> two = clouds().follow(kCloud);
  std::optional<Clouds::Interest> moved = std::move(one);
  one.reset();
  two.reset();
  time.run_for(minutes{10});
  EXPECT_THAT(asked, SizeIs(11));
  moved.reset();
  time.run_for(minutes{10});
  EXPECT_THAT(asked, SizeIs(11));
}

// A configuration that is loaded anew lets go and follows again: the server must not feel it.
TEST_F(StandingObservationsTest, FollowingAgainSoonKeepsThePace) {
  std::optional<Clouds::Interest> interest = clouds().follow(kCloud);
  time.run_for(seconds{10});
  interest.reset();
  interest = clouds().follow(kCloud);
  time.run_for(seconds{49});
  EXPECT_THAT(asked, SizeIs(1));
  time.run_for(seconds{1});
  EXPECT_THAT(asked, SizeIs(2));
}

TEST_F(StandingObservationsTest, WhatHasNoRoomIsNotAsked) {
  std::vector<Clouds::Interest> interests;
  for (const char* server : {"1", "2"}) interests.push_back(*clouds().follow({server}));
  clouds().want({"3"});
  EXPECT_FALSE(clouds().follow(kCloud));
  clouds().want(kCloud);
  time.settle();
  EXPECT_EQ(times_asked(kCloud), 0);
  const auto state = clouds().state(kCloud, loop->wall_now());
  EXPECT_EQ(state.kind, ObservationKind::pending);
  EXPECT_EQ(state.why, "not asked, 3 other sources are, which is the most at once");
  // One more interest in what is known needs no room.
  EXPECT_TRUE(clouds().follow({"3"}));
  interests.pop_back();
  time.run_for(minutes{3});
  EXPECT_TRUE(clouds().follow(kCloud));
}

TEST_F(StandingObservationsTest, ManySourcesThatComeAndGoLeaveNothingBehind) {
  for (int round = 0; round < 100; ++round) {
    std::vector<Clouds::Interest> interests;
    for (int i = 0; i < 3; ++i) {
      auto interest = clouds().follow({std::to_string(round), std::to_string(i)});
      ASSERT_TRUE(interest) << round;
      interests.push_back(std::move(*interest));
    }
    time.run_for(seconds{1});
    interests.clear();
    time.run_for(minutes{3});
  }
  EXPECT_EQ(time.next_timer(), std::nullopt);
}

TEST_F(StandingObservationsTest, WhatIsFollowedCanBeWantedAndUsedUp) {
  const auto interest = clouds().follow(kCloud);
  time.settle();
  EXPECT_EQ(clouds().state(kCloud, loop->wall_now()).kind, ObservationKind::usable);
  clouds().use_up(kCloud, "n");
  clouds().want(kCloud);
  // It is asked as ever, but of what came during the write nothing counts.
  time.run_for(seconds{61});
  EXPECT_THAT(asked, SizeIs(2));
  EXPECT_EQ(clouds().state(kCloud, loop->wall_now()).why, "used by node n, waiting for its write");
  clouds().settled("n", true);
  time.settle();
  EXPECT_THAT(asked, SizeIs(3));
  EXPECT_EQ(clouds().state(kCloud, loop->wall_now()).kind, ObservationKind::usable);
}

TEST_F(StandingObservationsTest, ALongStandingIntervalKeepsNoDecisionWaiting) {
  Clouds slow_pace(
      *loop, metrics,
      {.interval = seconds{30},
       .standing = StandingPace{.random = random, .interval = io::hours{1}, .jitter = 0, .longest_pause = {}}},
      [this](Cloud cloud) { return answer(std::move(cloud)); }, [](const Cloud&) {});
  const auto interest = slow_pace.follow(kCloud);
  time.run_for(seconds{10});
  slow_pace.want(kCloud);
  time.run_for(seconds{20});
  EXPECT_THAT(asked, SizeIs(2));
  time.run_for(minutes{30});
  EXPECT_THAT(asked, SizeIs(2));
  slow_pace.want(kCloud);
  time.settle();
  EXPECT_THAT(asked, SizeIs(3));
}

TEST_F(StandingObservationsTest, WhoHearsOfAChangeMayEndHisInterest) {
  std::optional<Clouds::Interest> interest = clouds().follow(kCloud);
  on_change = [&](const Cloud&) { interest.reset(); };
  time.run_for(io::hours{1});
  EXPECT_THAT(asked, SizeIs(1));
  EXPECT_EQ(clouds().latest(kCloud), std::nullopt);
}

TEST_F(StandingObservationsTest, NoIntervalMakesATightLoop) {
  Clouds hasty(
      *loop, metrics, {.standing = StandingPace{.random = random, .interval = {}, .jitter = 1, .longest_pause = {}}},
      [this](Cloud cloud) { return answer(std::move(cloud)); }, [](const Cloud&) {});
  const auto interest = hasty.follow(kCloud);
  time.run_for(seconds{1});
  EXPECT_LE(asked.size(), 11u);
}

}  // namespace
}  // namespace careen::observe
