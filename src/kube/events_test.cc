#include "kube/events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/scripted_transport.h"

namespace careen::kube {
namespace {

namespace json = boost::json;
using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;
using testing::MatchesRegex;
using testing::SizeIs;
using testing::StartsWith;

EventRecord node_event(std::string node = "n1", std::string note = "The node is now in the operational state") {
  EventRecord event;
  event.regarding.kind = "Node";
  event.regarding.name = std::move(node);
  event.regarding.uid = "uid-1";
  event.regarding.resource_version = "42";
  event.reason = "ChangedMaintenanceState";
  event.action = "ChangeMaintenanceState";
  event.note = std::move(note);
  event.controller = "maintenance";
  return event;
}

Response event_refusal(int code, std::string reason, std::string message = "no") {
  return {code, json::serialize(json::object{{"kind", "Status"}, {"reason", reason}, {"message", message}}), {}};
}

class EventsTest : public testing::Test {
 protected:
  EventsTest() {
    transport.on_send([this](Request request) { return answer(std::move(request)); });
    scope.spawn(recorder.run());
  }
  io::Task<io::Result<Response>> answer(Request request) {
    most_in_flight = std::max(most_in_flight, transport.in_flight);
    const Response given = respond ? respond(request) : Response{request.method == "POST" ? 201 : 200, "{}", {}};
    co_await io::sleep_for(*loop, latency);
    co_return given;
  }
  json::object body(size_t i) const { return json::parse(transport.requests.at(i).body).as_object(); }
  std::vector<std::string> methods() const {
    std::vector<std::string> out;
    for (const auto& request : transport.requests) out.push_back(request.method);
    return out;
  }
  double dropped() { return metrics.counter("careen_events_dropped_total", "").value(); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ScriptedTransport transport{*loop};
  std::function<Response(const Request&)> respond;
  io::Duration latency = milliseconds{10};
  int most_in_flight = 0;
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log()};
  Client client{*loop, transport, metrics, random};
  EventRecorder recorder{*loop, client, metrics, problems, "host-7"};
  io::Scope scope{*loop};
};

TEST_F(EventsTest, WritesTheNewApi) {
  EventRecord event = node_event();
  event.related = ObjectReference{"v1", "Pod", "ns", "p", "uid-p", ""};
  recorder.record(event);
  EXPECT_EQ(recorder.pending(), 1u);
  time.run_for(seconds{1});
  EXPECT_EQ(recorder.pending(), 0u);
  ASSERT_THAT(transport.requests, SizeIs(1));
  EXPECT_EQ(transport.requests[0].method, "POST");
  EXPECT_THAT(transport.requests[0].path, StartsWith("/apis/events.k8s.io/v1/namespaces/default/events"));
  json::object sent = body(0);
  EXPECT_THAT(std::string(sent["metadata"].at("name").as_string()), MatchesRegex("n1\\.[0-9a-f]{16}"));
  sent["metadata"].as_object().erase("name");
  EXPECT_EQ(json::value(sent), json::parse(R"({
    "apiVersion": "events.k8s.io/v1", "kind": "Event",
    "metadata": {"namespace": "default"},
    "eventTime": "2025-12-18T00:00:00.000000Z",
    "reportingController": "maintenance", "reportingInstance": "maintenance-host-7",
    "action": "ChangeMaintenanceState", "reason": "ChangedMaintenanceState", "type": "Normal",
    "regarding": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1", "resourceVersion": "42"},
    "related": {"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "p", "uid": "uid-p"},
    "note": "The node is now in the operational state"})"));
}

TEST_F(EventsTest, WritesTheCoreApi) {
  EventRecord event = node_event();
  event.api = EventRecord::Api::core_v1;
  event.regarding = {"coordination.k8s.io/v1", "Lease", "kube-system", "lock", "uid-l", "7"};
  event.reason = "LeaderElection";
  event.action = "";
  event.note = "a_1 became leader";
  event.controller = "a_1";
  time.run_for(milliseconds{1500});
  recorder.record(event);
  time.run_for(seconds{1});
  ASSERT_THAT(transport.requests, SizeIs(1));
  EXPECT_THAT(transport.requests[0].path, StartsWith("/api/v1/namespaces/kube-system/events"));
  json::object sent = body(0);
  EXPECT_THAT(std::string(sent["metadata"].at("name").as_string()), StartsWith("lock."));
  sent["metadata"].as_object().erase("name");
  EXPECT_EQ(json::value(sent), json::parse(R"({
    "apiVersion": "v1", "kind": "Event",
    "metadata": {"namespace": "kube-system"},
    "involvedObject": {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "namespace": "kube-system",
                       "name": "lock", "uid": "uid-l", "resourceVersion": "7"},
    "reason": "LeaderElection", "message": "a_1 became leader", "type": "Normal",
    "source": {"component": "a_1", "host": "host-7"},
    "reportingComponent": "a_1", "reportingInstance": "a_1-host-7",
    "count": 1, "firstTimestamp": "2025-12-18T00:00:01Z", "lastTimestamp": "2025-12-18T00:00:01Z"})"));
}

TEST_F(EventsTest, TheFirstRepetitionMakesASeries) {
  recorder.record(node_event());
  time.run_for(minutes{2});
  EventRecord again = node_event();
  again.regarding.resource_version = "43";
  recorder.record(again);
  time.run_for(seconds{1});
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH"));
  EXPECT_EQ(transport.requests[1].content_type, "application/merge-patch+json");
  const std::string name(body(0)["metadata"].at("name").as_string());
  EXPECT_THAT(transport.requests[1].path, StartsWith("/apis/events.k8s.io/v1/namespaces/default/events/" + name));
  EXPECT_EQ(json::value(body(1)),
            json::parse(R"({"series": {"count": 2, "lastObservedTime": "2025-12-18T00:02:00.000000Z"}})"));
}

// Forty minutes of a failure every five seconds: a handful of writes, and when it has been over for six minutes the
// server knows the whole count, long before the next write would have been due.
TEST_F(EventsTest, LaterRepetitionsAreCountedAndWrittenNowAndThen) {
  for (int i = 0; i < 480; ++i) {
    recorder.record(node_event());
    time.run_for(seconds{5});
  }
  EXPECT_THAT(transport.requests.size(), AllOf(Ge(6u), Le(9u)));
  time.run_for(minutes{7});
  EXPECT_EQ(body(transport.requests.size() - 1).at("series").at("count").as_int64(), 480);
  EXPECT_EQ(body(transport.requests.size() - 1).at("series").at("lastObservedTime").as_string(),
            "2025-12-18T00:39:55.000000Z");
  EXPECT_EQ(recorder.remembered(), 0u);
  const size_t before = transport.requests.size();
  time.run_for(minutes{60});
  EXPECT_THAT(transport.requests, SizeIs(before));
}

TEST_F(EventsTest, AfterSixMinutesItIsANewEvent) {
  recorder.record(node_event());
  time.run_for(minutes{6});
  recorder.record(node_event());
  time.run_for(seconds{1});
  EXPECT_THAT(methods(), ElementsAre("POST", "POST"));
}

TEST_F(EventsTest, OnlyEqualEventsAreFolded) {
  recorder.record(node_event());
  recorder.record(node_event("n2"));
  recorder.record(node_event("n1", "another note"));
  EventRecord event = node_event();
  event.regarding.uid = "uid-2";
  recorder.record(event);
  event = node_event();
  event.reason = "Other";
  recorder.record(event);
  event = node_event();
  event.type = "Warning";
  recorder.record(event);
  event = node_event();
  event.api = EventRecord::Api::core_v1;
  recorder.record(event);
  event = node_event();
  event.related = ObjectReference{};
  recorder.record(event);
  event = node_event();
  event.controller = "esx-maintenance";
  recorder.record(event);
  event = node_event();
  event.action = "Drain";
  recorder.record(event);
  time.run_for(seconds{1});
  EXPECT_THAT(transport.requests, SizeIs(10));
  EXPECT_THAT(methods(), testing::Each("POST"));
}

// Repeated while the first is still on its way: the patch follows its creation, never overtakes it.
TEST_F(EventsTest, RepetitionsWaitForTheCreation) {
  latency = seconds{1};
  recorder.record(node_event());
  time.run_for(milliseconds{500});
  recorder.record(node_event());
  recorder.record(node_event());
  time.run_for(milliseconds{400});
  EXPECT_THAT(methods(), ElementsAre("POST"));
  time.run_for(seconds{2});
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH"));
  EXPECT_EQ(body(1).at("series").at("count").as_int64(), 3);
}

TEST_F(EventsTest, CoreEventsCountUp) {
  EventRecord event = node_event();
  event.api = EventRecord::Api::core_v1;
  for (int i = 0; i < 4; ++i) {
    recorder.record(event);
    time.run_for(seconds{2});
  }
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH", "PATCH", "PATCH"));
  EXPECT_EQ(json::value(body(3)), json::parse(R"({"count": 4, "lastTimestamp": "2025-12-18T00:00:06Z"})"));
}

// Two in the same second: the count is written a moment later, not dropped.
TEST_F(EventsTest, QuickCoreRepetitionsAreWrittenTogether) {
  EventRecord event = node_event();
  event.api = EventRecord::Api::core_v1;
  for (int i = 0; i < 10; ++i) {
    recorder.record(event);
    time.run_for(milliseconds{100});
  }
  time.run_for(seconds{3});
  EXPECT_THAT(transport.requests.size(), Le(4u));
  EXPECT_EQ(body(transport.requests.size() - 1).at("count").as_int64(), 10);
}

// Many in one instant of virtual time, for the same object.
TEST_F(EventsTest, NamesAreUnique) {
  for (int i = 0; i < 500; ++i) recorder.record(node_event("n1", "note " + std::to_string(i)));
  time.run_for(minutes{1});
  std::set<std::string> names;
  for (size_t i = 0; i < transport.requests.size(); ++i) names.emplace(body(i)["metadata"].at("name").as_string());
  EXPECT_THAT(names, SizeIs(500));
}

TEST_F(EventsTest, LongNamesAreCut) {
  recorder.record(node_event(std::string(253, 'x')));
  time.run_for(seconds{1});
  EXPECT_EQ(body(0)["metadata"].at("name").as_string().size(), 253u);
}

TEST_F(EventsTest, NotesAreCutBetweenCharacters) {
  recorder.record(node_event("n1", std::string(1023, 'x') + "é and more"));
  time.run_for(seconds{1});
  EXPECT_EQ(body(0)["note"].as_string(), std::string(1023, 'x'));
  EXPECT_EQ(cut_text("aé", 3), "aé");
  EXPECT_EQ(cut_text("aé", 2), "a");
  EXPECT_EQ(cut_text("a😀", 4), "a");
  EXPECT_EQ(cut_text("\x80\x80\x80", 2), "");
  EXPECT_EQ(cut_text("", 0), "");
}

TEST_F(EventsTest, SendsSixteenAtOnce) {
  latency = milliseconds{20};
  for (int i = 0; i < 400; ++i) recorder.record(node_event("n" + std::to_string(i)));
  time.run_for(milliseconds{1100});
  EXPECT_EQ(most_in_flight, 16);
  EXPECT_THAT(transport.requests, SizeIs(400));
}

// 500 a second, after a thousand at once.
TEST_F(EventsTest, TheRateIsBound) {
  latency = milliseconds{1};
  int made = 0;
  for (int step = 0; step < 40; ++step) {
    for (int i = 0; i < 200; ++i) recorder.record(node_event("n" + std::to_string(made++)));
    time.run_for(milliseconds{100});
  }
  EXPECT_THAT(transport.requests.size(), AllOf(Ge(2900u), Le(3010u)));
  EXPECT_GT(dropped(), 0);
}

TEST_F(EventsTest, TooManyWaitingAreDroppedAndCounted) {
  latency = minutes{1};
  for (int i = 0; i < 4200; ++i) recorder.record(node_event("n" + std::to_string(i)));
  EXPECT_EQ(recorder.pending(), 4000u);
  EXPECT_EQ(dropped(), 200);
  EXPECT_EQ(recorder.remembered(), 1024u);
}

TEST_F(EventsTest, MemoryIsBound) {
  latency = milliseconds{1};
  for (int i = 0; i < 20'000; ++i) {
    recorder.record(node_event("n" + std::to_string(i)));
    if (i % 100 == 0) time.run_for(milliseconds{220});
  }
  EXPECT_EQ(recorder.remembered(), 1024u);
  EXPECT_EQ(dropped(), 0);
  time.run_for(minutes{7});
  EXPECT_EQ(recorder.remembered(), 0u);
}

// The roles of older programs have the right on core events alone.
TEST_F(EventsTest, FallsBackToTheOldApiWhereTheNewOneIsForbidden) {
  bool allowed = false;
  respond = [&](const Request& request) {
    const bool refused = !allowed && request.path.starts_with("/apis/events.k8s.io/");
    return refused ? event_refusal(403, "Forbidden") : Response{request.method == "POST" ? 201 : 200, "{}", {}};
  };
  recorder.record(node_event("n1"));
  time.run_for(seconds{1});
  recorder.record(node_event("n2"));
  time.run_for(seconds{1});
  recorder.record(node_event("n2"));
  time.run_for(seconds{2});
  ASSERT_THAT(methods(), ElementsAre("POST", "POST", "POST", "PATCH"));
  EXPECT_THAT(transport.requests[1].path, StartsWith("/api/v1/namespaces/default/events"));
  EXPECT_EQ(body(1).at("involvedObject").at("name"), "n1");
  EXPECT_EQ(body(1).at("action"), "ChangeMaintenanceState");
  EXPECT_THAT(transport.requests[2].path, StartsWith("/api/v1/namespaces/default/events"));
  EXPECT_EQ(body(3).at("count"), 2);
  EXPECT_EQ(dropped(), 0);
  EXPECT_THAT(problems.open(), IsEmpty());
  // The right may be granted later.
  allowed = true;
  time.run_for(minutes{11});
  recorder.record(node_event("n3"));
  time.run_for(seconds{1});
  EXPECT_THAT(transport.requests.back().path, StartsWith("/apis/events.k8s.io/"));
}

// A server that starts forbids everything for a moment; where the old API stays forbidden, the new one is tried again.
TEST_F(EventsTest, FallsBackOnlyWhereTheOldApiIsAllowed) {
  bool allowed = false;
  respond = [&](const Request& request) {
    const bool taken = allowed && request.path.starts_with("/apis/events.k8s.io/");
    return taken ? Response{201, "{}", {}} : event_refusal(403, "Forbidden");
  };
  recorder.record(node_event("n1"));
  time.run_for(seconds{1});
  EXPECT_EQ(dropped(), 1);
  allowed = true;
  recorder.record(node_event("n2"));
  time.run_for(seconds{1});
  EXPECT_EQ(dropped(), 1);
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(EventsTest, MissingRightsAreOneProblem) {
  bool allowed = false;
  respond = [&](const Request&) {
    return allowed ? Response{201, "{}", {}} : event_refusal(403, "Forbidden", "not allowed");
  };
  for (int i = 0; i < 20; ++i) recorder.record(node_event("n" + std::to_string(i)));
  time.run_for(seconds{5});
  ASSERT_THAT(problems.open(), SizeIs(1));
  EXPECT_THAT(problems.open().at("events"), AllOf(HasSubstr("default"), HasSubstr("not allowed")));
  EXPECT_EQ(dropped(), 20);
  EXPECT_EQ(recorder.pending(), 0u);
  allowed = true;
  recorder.record(node_event("n1"));
  time.run_for(seconds{1});
  EXPECT_THAT(problems.open(), IsEmpty());
}

struct CountLines final : io::LogSink {
  bool enabled(io::LogLevel) const override { return true; }
  void write(io::LogLevel, std::string_view, std::string_view, const io::LogFields&) override { ++lines; }
  int lines = 0;
};

// One namespace is being deleted while others work: no line for each event.
TEST_F(EventsTest, AFailingNamespaceDoesNotFlap) {
  auto lines = std::make_shared<CountLines>();
  io::Problems told{io::Log(lines, "test")};
  EventRecorder other(*loop, client, metrics, told, "host-7");
  io::Scope running(*loop);
  running.spawn(other.run());
  respond = [](const Request& request) {
    return request.path.find("/namespaces/ending/") != std::string::npos
               ? event_refusal(403, "Forbidden", "terminating")
               : Response{201, "{}", {}};
  };
  for (int i = 0; i < 50; ++i) {
    EventRecord event = node_event("n" + std::to_string(i));
    if (i % 2 == 0) event.regarding.ns = "ending";
    other.record(event);
    time.run_for(seconds{1});
  }
  EXPECT_EQ(lines->lines, 1);
  EXPECT_THAT(told.open(), SizeIs(1));
}

io::Task<io::Result<Response>> no_connection(io::Loop& loop) {
  co_await io::sleep_for(loop, milliseconds{1});
  co_return io::fail(io::ErrorKind::connect, "connection refused");
}

TEST_F(EventsTest, AnUnreachableServerCostsEventsButNothingElse) {
  transport.on_send([this](Request) { return no_connection(*loop); });
  for (int i = 0; i < 10; ++i) recorder.record(node_event("n" + std::to_string(i)));
  time.run_for(minutes{2});
  EXPECT_EQ(recorder.pending(), 0u);
  EXPECT_EQ(dropped(), 10);
  EXPECT_THAT(problems.open(), SizeIs(1));
  transport.on_send([this](Request request) { return answer(std::move(request)); });
  recorder.record(node_event("n1"));
  time.run_for(seconds{1});
  EXPECT_THAT(problems.open(), IsEmpty());
}

// Nothing more is to be written that could show that the server is well again.
TEST_F(EventsTest, ATroubleThatIsLongOverIsNoProblem) {
  transport.on_send([this](Request) { return no_connection(*loop); });
  recorder.record(node_event("n1"));
  time.run_for(minutes{5});
  ASSERT_THAT(problems.open(), SizeIs(1));
  recorder.record(node_event("n2"));
  time.run_for(minutes{8});
  EXPECT_THAT(problems.open(), SizeIs(1));
  time.run_for(minutes{3});
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(EventsTest, MissingRightsStayAProblem) {
  respond = [](const Request&) { return event_refusal(403, "Forbidden"); };
  recorder.record(node_event());
  time.run_for(io::hours{1});
  EXPECT_THAT(problems.open(), SizeIs(1));
}

// While keys rotate everybody is a stranger for a moment.
TEST_F(EventsTest, BeingTakenForAStrangerPasses) {
  respond = [](const Request&) { return event_refusal(401, "Unauthorized"); };
  recorder.record(node_event());
  time.run_for(minutes{1});
  EXPECT_THAT(problems.open(), SizeIs(1));
  time.run_for(minutes{11});
  EXPECT_THAT(problems.open(), IsEmpty());
}

// The answer to a creation got lost; the second try finds its own event there.
TEST_F(EventsTest, AnEventThatExistsAlreadyIsOurs) {
  transport.fail(io::ErrorKind::timeout);
  transport.answer(409, event_refusal(409, "AlreadyExists").body);
  recorder.record(node_event());
  time.run_for(minutes{1});
  EXPECT_EQ(dropped(), 0);
  EXPECT_THAT(problems.open(), IsEmpty());
  recorder.record(node_event());
  time.run_for(seconds{1});
  EXPECT_THAT(methods(), ElementsAre("POST", "POST", "PATCH"));
  EXPECT_EQ(body(0), body(1)) << "the same name";
}

TEST_F(EventsTest, ASeriesWhoseEventIsGoneIsWrittenAnew) {
  recorder.record(node_event());
  time.run_for(seconds{1});
  transport.answer(404, event_refusal(404, "NotFound").body);
  recorder.record(node_event());
  time.run_for(seconds{1});
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH", "POST"));
  EXPECT_EQ(body(2).at("series").at("count").as_int64(), 2);
  EXPECT_NE(body(2)["metadata"].at("name"), body(0)["metadata"].at("name"));
  EXPECT_EQ(dropped(), 0);
}

io::Task<void> flush(EventRecorder& recorder, io::Duration limit, io::Loop& loop, io::Steady& ended) {
  co_await recorder.flush(limit);
  ended = loop.now();
}

TEST_F(EventsTest, FlushWaitsForEverythingCountsIncluded) {
  for (int i = 0; i < 5; ++i) {
    recorder.record(node_event());
    time.run_for(seconds{1});
  }
  EXPECT_THAT(methods(), ElementsAre("POST", "PATCH"));
  latency = milliseconds{100};
  recorder.record(node_event("n2"));
  const auto begun = loop->now();
  io::Steady ended{};
  scope.spawn(flush(recorder, seconds{5}, *loop, ended));
  time.run_for(milliseconds{50});
  recorder.record(node_event());  // while its count is being written
  time.run_for(seconds{5});
  EXPECT_EQ(ended - begun, milliseconds{200});
  ASSERT_THAT(methods(), ElementsAre("POST", "PATCH", "POST", "PATCH", "PATCH"));
  EXPECT_EQ(body(4).at("series").at("count").as_int64(), 6);
}

TEST_F(EventsTest, FlushGivesUpAtItsLimit) {
  latency = minutes{1};
  recorder.record(node_event());
  const auto begun = loop->now();
  io::Steady ended{};
  scope.spawn(flush(recorder, seconds{2}, *loop, ended));
  time.run_for(seconds{10});
  EXPECT_EQ(ended - begun, seconds{2});
}

TEST_F(EventsTest, CancelledInTheMiddleItLeavesNothingBehind) {
  for (int i = 0; i < 30; ++i) recorder.record(node_event("n" + std::to_string(i)));
  time.run_for(milliseconds{15});
  scope.cancel();
  EXPECT_EQ(transport.in_flight, 0);
  recorder.record(node_event("later"));
  time.run_for(minutes{10});
  scope.spawn(recorder.run());
  time.run_for(minutes{1});
  EXPECT_EQ(recorder.pending(), 0u);
}

}  // namespace
}  // namespace careen::kube
