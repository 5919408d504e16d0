#include "observe/prometheus_observations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "observe/test_http.h"

namespace careen::observe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using Kind = ObservationKind;
using State = PrometheusObservations::State;

const PrometheusQuery kSource{"http://me:secret@prom:9090", "up"};

class PrometheusObservationsTest : public testing::Test {
 protected:
  State state(const PrometheusQuery& source = kSource) const { return observations.state(source, loop->wall_now()); }
  Kind kind(const PrometheusQuery& source = kSource) const { return state(source).kind; }
  std::string why(const PrometheusQuery& source = kSource) const { return state(source).why; }
  void acknowledge(const char* node) { observations.settled(node, true); }
  void did_not_happen(const char* node) { observations.settled(node, false); }
  // Wanted, asked and answered.
  void observe(const PrometheusQuery& source = kSource) {
    observations.want(source);
    time.settle();
    ASSERT_EQ(kind(source), Kind::usable);
  }
  // From now on every change of the source makes somebody want it again.
  void keep_wanting() {
    still_wanted = true;
    observations.want(kSource);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ScriptedPrometheus http{*loop};
  io::Metrics metrics;
  std::vector<std::string> changes;  // queries
  bool still_wanted = false;
  PrometheusObservations observations{*loop,
                                      http,
                                      metrics,
                                      {.interval = io::seconds{30}, .in_flight_per_endpoint = 4},
                                      [this](const PrometheusQuery& source) {
                                        changes.push_back(source.query);
                                        if (still_wanted) observations.want(source);
                                      }};
};

TEST_F(PrometheusObservationsTest, NothingIsAskedThatNobodyWants) {
  time.run_for(io::hours{1});
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(why(), "not asked yet");
  EXPECT_EQ(observations.latest(kSource), std::nullopt);
  EXPECT_THAT(http.requests, IsEmpty());
}

TEST_F(PrometheusObservationsTest, AWantedSourceIsAskedAtOnce) {
  http.answers.push_back(vector_answer("7", io::seconds{2}));
  const io::Wall begin = loop->wall_now();
  observations.want(kSource);
  EXPECT_EQ(why(), "being asked");
  time.run_for(io::seconds{1});
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(why(), "being asked since 1s ago");
  EXPECT_THAT(changes, IsEmpty());
  time.run_for(io::seconds{1});
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 7);
  EXPECT_EQ(state().observation->asked_at, begin);
  EXPECT_EQ(state().observation->answered_at, begin + io::seconds{2});
  EXPECT_EQ(state().usable_until, begin + io::seconds{32});
  EXPECT_THAT(changes, ElementsAre("up"));
}

TEST_F(PrometheusObservationsTest, ManyWantsAreOneRequest) {
  for (int i = 0; i < 100; ++i) observations.want(kSource);
  time.settle();
  for (int i = 0; i < 100; ++i) observations.want(kSource);
  time.settle();
  EXPECT_THAT(http.requests, SizeIs(1));
}

TEST_F(PrometheusObservationsTest, IsAskedOnceAnIntervalWhileWanted) {
  keep_wanting();
  time.run_for(io::minutes{5});
  EXPECT_THAT(http.requests, SizeIs(11));
  still_wanted = false;
  time.run_for(io::minutes{5});
  EXPECT_THAT(http.requests, SizeIs(12));  // what was wanted before is asked for a last time
  EXPECT_EQ(observations.latest(kSource), std::nullopt);
}

TEST_F(PrometheusObservationsTest, TheIntervalCountsFromTheAnswer) {
  http.otherwise = [](const io::HttpRequest&) { return vector_answer("1", io::seconds{5}); };
  keep_wanting();
  time.run_for(io::seconds{36});
  ASSERT_THAT(http.sent_at, SizeIs(2));
  EXPECT_EQ(http.sent_at[1] - http.sent_at[0], io::seconds{35});
}

TEST_F(PrometheusObservationsTest, IsUsableUntilItIsOlderThanTheInterval) {
  observe();
  EXPECT_EQ(state().usable_until, loop->wall_now() + io::seconds{30});
  observations.use_up(kSource, "n");
  time.run_for(io::seconds{30});
  did_not_happen("n");
  EXPECT_EQ(kind(), Kind::usable);
  observations.use_up(kSource, "n");
  time.run_for(io::Duration{1});
  did_not_happen("n");
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(why(), "older than 30s");
}

TEST_F(PrometheusObservationsTest, NobodyMakesItYoungerByTheClock) {
  observe();
  observations.use_up(kSource, "n");
  time.run_for(io::seconds{31});
  time.step_clock(*loop, -io::seconds{20});
  did_not_happen("n");
  EXPECT_EQ(why(), "older than 30s");
}

TEST_F(PrometheusObservationsTest, NorOlder) {
  observe();
  time.run_for(io::seconds{10});
  time.step_clock(*loop, io::hours{1});
  EXPECT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().usable_until, loop->wall_now() + io::seconds{20});
}

TEST_F(PrometheusObservationsTest, AskedAgainAtOnceWhenWantedLate) {
  observe();
  time.run_for(io::minutes{10});
  observations.want(kSource);
  time.settle();
  EXPECT_THAT(http.requests, SizeIs(2));
  EXPECT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->serial, 2u);
}

TEST_F(PrometheusObservationsTest, ErrorsAreStatesToo) {
  http.otherwise = [](const io::HttpRequest&) { return http_answer(404); };
  keep_wanting();
  time.settle();
  ASSERT_EQ(kind(), Kind::failed);
  EXPECT_EQ(state().observation->error, "http://***@prom:9090: HTTP status 404");
  // Once an interval, so that failures count once an interval.
  time.run_for(io::minutes{2});
  EXPECT_THAT(http.requests, SizeIs(5));
  EXPECT_THAT(changes, SizeIs(5));
  EXPECT_EQ(state().observation->serial, 5u);
}

TEST_F(PrometheusObservationsTest, AnErrorEndsWithTheNextGoodAnswer) {
  http.answers = {http_answer(500), vector_answer("3")};
  keep_wanting();
  time.run_for(io::seconds{29});
  EXPECT_EQ(kind(), Kind::failed);
  time.run_for(io::seconds{1});
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 3);
  EXPECT_THAT(state().observation->error, IsEmpty());
}

TEST_F(PrometheusObservationsTest, UsedUpWhileTheWriteIsPending) {
  observe();
  observations.use_up(kSource, "a");
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(why(), "used by node a, waiting for its write");
  // Nobody asks before the write is settled: the answer could not be used.
  observations.want(kSource);
  time.run_for(io::minutes{5});
  EXPECT_THAT(http.requests, SizeIs(1));
}

TEST_F(PrometheusObservationsTest, AfterAnAcknowledgedWriteItIsAskedAnew) {
  observe();
  observations.use_up(kSource, "a");
  observations.want(kSource);
  time.run_for(io::seconds{1});
  http.answers.push_back(vector_answer("5", io::seconds{1}));
  changes.clear();
  acknowledge("a");
  EXPECT_THAT(changes, ElementsAre("up"));
  EXPECT_EQ(kind(), Kind::pending);
  time.run_for(io::seconds{1});
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 5);
}

TEST_F(PrometheusObservationsTest, AfterAnAcknowledgedWriteNothingIsAskedThatNobodyWants) {
  observe();
  observations.use_up(kSource, "a");
  acknowledge("a");
  EXPECT_EQ(why(), "used up by another node");
  time.run_for(io::minutes{5});
  EXPECT_THAT(http.requests, SizeIs(1));
  observe();
  EXPECT_THAT(http.requests, SizeIs(2));
}

TEST_F(PrometheusObservationsTest, AWriteThatDidNotHappenGivesItBack) {
  observe();
  observations.use_up(kSource, "a");
  changes.clear();
  did_not_happen("a");
  EXPECT_EQ(kind(), Kind::usable);
  EXPECT_THAT(changes, ElementsAre("up"));
  EXPECT_THAT(http.requests, SizeIs(1));
}

TEST_F(PrometheusObservationsTest, GivenBackTooLateItIsAskedAnew) {
  observe();
  observations.use_up(kSource, "a");
  observations.want(kSource);
  time.run_for(io::seconds{31});
  did_not_happen("a");
  EXPECT_EQ(why(), "being asked");
  time.settle();
  EXPECT_EQ(kind(), Kind::usable);
  EXPECT_THAT(http.requests, SizeIs(2));
}

TEST_F(PrometheusObservationsTest, EveryUserHasToSettle) {
  observe();
  observations.use_up(kSource, "a");
  observations.use_up(kSource, "b");
  did_not_happen("a");
  EXPECT_EQ(why(), "used by node b, waiting for its write");
  did_not_happen("c");
  EXPECT_EQ(kind(), Kind::pending);
  did_not_happen("b");
  EXPECT_EQ(kind(), Kind::usable);
}

TEST_F(PrometheusObservationsTest, OneAcknowledgedUserIsEnoughToUseItUp) {
  observe();
  observations.use_up(kSource, "a");
  observations.use_up(kSource, "b");
  acknowledge("a");
  did_not_happen("b");
  EXPECT_EQ(why(), "used up by another node");
}

TEST_F(PrometheusObservationsTest, OneNodeMayUseUpSeveralSources) {
  const PrometheusQuery other{"http://other", "down"};
  observe();
  observe(other);
  observations.use_up(kSource, "a");
  observations.use_up(other, "a");
  changes.clear();
  acknowledge("a");
  EXPECT_THAT(changes, testing::UnorderedElementsAre("up", "down"));
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(kind(other), Kind::pending);
}

// The request under way was sent before the write was acknowledged: its answer may not know of the admission.
TEST_F(PrometheusObservationsTest, AnAnswerToAnEarlierRequestDoesNotCount) {
  observe();
  observations.want(kSource);
  http.answers = {vector_answer("2", io::seconds{5}), vector_answer("3")};
  time.run_for(io::seconds{30});  // asked again, and still usable at this very moment
  ASSERT_EQ(kind(), Kind::usable);
  observations.use_up(kSource, "a");
  observations.want(kSource);
  time.run_for(io::seconds{1});
  acknowledge("a");
  time.run_for(io::seconds{4});
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 3);
  EXPECT_THAT(http.requests, SizeIs(3));
}

TEST_F(PrometheusObservationsTest, AnAnswerDuringTheWriteCountsIfTheWriteDidNotHappen) {
  observe();
  observations.want(kSource);
  http.answers = {vector_answer("2", io::seconds{5})};
  time.run_for(io::seconds{30});
  observations.use_up(kSource, "a");
  time.run_for(io::seconds{5});
  EXPECT_EQ(why(), "used by node a, waiting for its write");
  did_not_happen("a");
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 2);
}

TEST_F(PrometheusObservationsTest, AnAnswerDuringTheWriteDoesNotCountOnceItIsAcknowledged) {
  observe();
  observations.want(kSource);
  http.answers = {vector_answer("2", io::seconds{5}), vector_answer("3")};
  time.run_for(io::seconds{30});
  observations.use_up(kSource, "a");
  time.run_for(io::seconds{5});
  acknowledge("a");
  EXPECT_EQ(kind(), Kind::pending);
  time.settle();
  ASSERT_EQ(kind(), Kind::usable);
  EXPECT_EQ(state().observation->value->number, 3);
}

TEST_F(PrometheusObservationsTest, AHangingEndpointBlocksNothingElse) {
  const PrometheusQuery other{"http://other:9090", "up"};
  http.otherwise = [](const io::HttpRequest& request) {
    return vector_answer("1", request.url.starts_with("http://prom") ? io::hours{1} : io::Duration{});
  };
  observations.want(kSource);
  observations.want(other);
  time.settle();
  EXPECT_EQ(kind(), Kind::pending);
  EXPECT_EQ(kind(other), Kind::usable);
  time.run_for(io::seconds{10});
  ASSERT_EQ(kind(), Kind::failed);
  EXPECT_THAT(state().observation->error, HasSubstr("no answer"));
  EXPECT_EQ(http.in_flight, 0);
}

TEST_F(PrometheusObservationsTest, AtMostFourRequestsAtOnceToOneEndpoint) {
  http.otherwise = [](const io::HttpRequest&) { return vector_answer("1", io::seconds{1}); };
  std::vector<PrometheusQuery> sources;
  // Path and credentials make no other endpoint.
  for (int i = 0; i < 10; ++i) sources.push_back({"http://u" + std::to_string(i) + "@prom/" + std::to_string(i), "up"});
  for (const PrometheusQuery& source : sources) observations.want(source);
  time.run_for(io::milliseconds{500});
  EXPECT_EQ(http.in_flight, 4);
  EXPECT_EQ(why(sources[9]), "waiting for its turn, 4 requests to http://prom:80 are under way");
  time.run_for(io::milliseconds{2500});
  EXPECT_EQ(http.most_in_flight, 4);
  for (const PrometheusQuery& source : sources) EXPECT_EQ(kind(source), Kind::usable);
  // The time of asking is that of the request, not that of the wish.
  EXPECT_EQ(observations.latest(sources[9])->asked_at - observations.latest(sources[0])->asked_at, io::seconds{2});
}

TEST_F(PrometheusObservationsTest, ANewIntervalCountsAtOnce) {
  keep_wanting();
  time.settle();
  observations.set_interval(io::seconds{10});
  time.run_for(io::seconds{11});
  EXPECT_THAT(http.requests, SizeIs(2));
  observations.set_interval(io::minutes{10});
  time.run_for(io::minutes{9});
  EXPECT_THAT(http.requests, SizeIs(2));
}

TEST_F(PrometheusObservationsTest, NoIntervalMakesATightLoop) {
  observations.set_interval(io::Duration{0});
  keep_wanting();
  time.run_for(io::seconds{1});
  EXPECT_THAT(http.requests, SizeIs(11));
}

TEST_F(PrometheusObservationsTest, MetricsCountWithoutCredentials) {
  http.answers = {vector_answer("1"), http_answer(500), vector_answer("1", io::hours{1})};
  keep_wanting();
  time.run_for(io::minutes{2});
  const std::string text = metrics.expose();
  EXPECT_THAT(text, HasSubstr(R"(careen_observations_total{endpoint="http://prom:9090",result="success"} 2)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_observations_total{endpoint="http://prom:9090",result="error"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_observations_total{endpoint="http://prom:9090",result="timeout"} 1)"));
  EXPECT_THAT(text, HasSubstr(R"(careen_observation_duration_seconds_count{endpoint="http://prom:9090"} 4)"));
  EXPECT_THAT(text, testing::Not(HasSubstr("secret")));
}

TEST_F(PrometheusObservationsTest, RequestsEndWithTheirOwner) {
  http.otherwise = [](const io::HttpRequest&) { return vector_answer("1", io::seconds{1}); };
  {
    PrometheusObservations own(*loop, http, metrics, {}, [](const PrometheusQuery&) { FAIL(); });
    own.want(kSource);
    time.settle();
    EXPECT_EQ(http.in_flight, 1);
  }
  EXPECT_EQ(http.in_flight, 0);
  time.run_for(io::minutes{5});
}

}  // namespace
}  // namespace careen::observe
