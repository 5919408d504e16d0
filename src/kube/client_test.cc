#include "kube/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/random.h"
#include "io/sync.h"
#include "io/virtual_time.h"
#include "kube/scripted_transport.h"

namespace careen::kube {
namespace {

using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr const char* kPatchTestFailed =
    R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
    R"("message":"the server rejected our request due to an error in our request","reason":"Invalid","details":{},"code":422})";

// Of the API server's own flow control.
constexpr const char* kFlowControlBody = "Too many requests, please try again later.\n";

class ClientTest : public ::testing::Test {
 protected:
  // Runs the call to its end; virtual time passes as it needs.
  template <class T>
  T run(io::Task<T> task) {
    std::optional<T> result;
    io::Scope scope(*loop_);
    scope.spawn(store(std::move(task), &result));
    begun_ = time_.now();
    EXPECT_TRUE(time_.run_until([&] { return result.has_value(); }, io::hours{1}));
    return std::move(result).value();
  }
  io::Duration elapsed() const { return time_.now() - begun_; }
  template <class T>
  static io::Task<void> store(io::Task<T> task, std::optional<T>* into) {
    into->emplace(co_await std::move(task));
  }
  static io::Result<Response> asking(int status, io::Duration retry_after, std::string body = {}) {
    return Response{status, std::move(body), retry_after};
  }
  static CallOptions repeatable() {
    CallOptions options;
    options.repeatable = true;
    return options;
  }
  const Request& last() const { return transport_.requests.back(); }
  size_t sent() const { return transport_.requests.size(); }
  io::Task<Result<std::string>> patch_node(CallOptions options = {}) {
    return client_.patch(resources::nodes, "", "n1", PatchType::merge, "{}", "", std::move(options));
  }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  ScriptedTransport transport_{*loop_};
  io::Metrics metrics_;
  io::Random random_{7};
  Client client_{*loop_, transport_, metrics_, random_};
  io::Steady begun_{};
};

TEST(ResourceTest, PathsOfAllShapes) {
  EXPECT_EQ(resources::nodes.path(), "/api/v1/nodes");
  EXPECT_EQ(resources::nodes.path("ignored", "n1", "status"), "/api/v1/nodes/n1/status");
  EXPECT_EQ(resources::pods.path(), "/api/v1/pods");
  EXPECT_EQ(resources::pods.path("a", "p", "eviction"), "/api/v1/namespaces/a/pods/p/eviction");
  EXPECT_EQ(resources::leases.path("kube-system", "x"), "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/x");
  EXPECT_EQ(resources::events.path("a"), "/apis/events.k8s.io/v1/namespaces/a/events");
  EXPECT_EQ(resources::nodes.path("", "a/../b?c"), "/api/v1/nodes/a%2F..%2Fb%3Fc");
}

TEST_F(ClientTest, GetAndListReadWithTheirQuery) {
  transport_.answer(200, "{}");
  EXPECT_EQ(run(client_.get(resources::leases, "ns", "x")).value(), "{}");
  EXPECT_EQ(last().method, "GET");
  EXPECT_EQ(last().path, "/apis/coordination.k8s.io/v1/namespaces/ns/leases/x");
  EXPECT_EQ(last().timeout, io::seconds{10});

  transport_.answer(200, "[]");
  CallOptions options;
  options.query = "limit=500&resourceVersion=0";
  EXPECT_EQ(run(client_.list(resources::nodes, "", options)).value(), "[]");
  EXPECT_EQ(last().path, "/api/v1/nodes?limit=500&resourceVersion=0");
}

TEST_F(ClientTest, WritesNameTheFieldManagerAndTheirContentType) {
  transport_.on_send([](Request) -> io::Task<io::Result<Response>> { co_return Response{201, "{}", std::nullopt}; });

  ASSERT_TRUE(run(client_.create(resources::core_events, "a", "{\"x\":1}")));
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().path, "/api/v1/namespaces/a/events?fieldManager=careen");
  EXPECT_EQ(last().content_type, "application/json");
  EXPECT_EQ(last().body, "{\"x\":1}");

  CallOptions options;
  options.field_manager = "me & you";
  ASSERT_TRUE(run(client_.update(resources::nodes, "", "n", "{}", "status", options)));
  EXPECT_EQ(last().method, "PUT");
  EXPECT_EQ(last().path, "/api/v1/nodes/n/status?fieldManager=me%20%26%20you");

  for (const auto& [type, content] : std::initializer_list<std::pair<PatchType, const char*>>{
           {PatchType::merge, "application/merge-patch+json"},
           {PatchType::json, "application/json-patch+json"},
           {PatchType::strategic, "application/strategic-merge-patch+json"},
           {PatchType::apply, "application/apply-patch+yaml"}}) {
    ASSERT_TRUE(run(client_.patch(resources::nodes, "", "n", type, "[]")));
    EXPECT_EQ(last().method, "PATCH");
    EXPECT_EQ(last().path, "/api/v1/nodes/n?fieldManager=careen");
    EXPECT_EQ(last().content_type, content);
  }
  options = {};
  options.force = true;
  ASSERT_TRUE(run(client_.patch(resources::nodes, "", "n", PatchType::apply, "{}", "", options)));
  EXPECT_EQ(last().path, "/api/v1/nodes/n?fieldManager=careen&force=true");
}

TEST_F(ClientTest, DeleteCarriesItsPreconditions) {
  transport_.answer(200, "{}");
  DeleteOptions what;
  what.preconditions = {"u-1", "42"};
  what.grace_period_seconds = 0;
  what.propagation = "Background";
  ASSERT_TRUE(run(client_.remove(resources::pods, "a", "p", what)));
  EXPECT_EQ(last().method, "DELETE");
  EXPECT_EQ(last().path, "/api/v1/namespaces/a/pods/p");
  EXPECT_EQ(last().body,
            R"({"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":0,"propagationPolicy":"Background",)"
            R"("preconditions":{"uid":"u-1","resourceVersion":"42"}})");
}

TEST_F(ClientTest, EvictionNamesThePodAndItsUid) {
  transport_.answer(201, "{}");
  DeleteOptions what;
  what.preconditions.uid = "u-1";
  what.grace_period_seconds = 30;
  ASSERT_TRUE(run(client_.evict("a", "p", what)));
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().path, "/api/v1/namespaces/a/pods/p/eviction?fieldManager=careen");
  EXPECT_EQ(last().body, R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"a"},)"
                         R"("deleteOptions":{"apiVersion":"v1","kind":"DeleteOptions","gracePeriodSeconds":30,)"
                         R"("preconditions":{"uid":"u-1"}}})");
}

TEST_F(ClientTest, AStatusBodyIsDecoded) {
  const std::string body =
      R"({"kind":"Status","status":"Failure","message":"nodes \"n1\" not found","reason":"NotFound","code":404})";
  transport_.answer(404, body);
  const auto result = run(client_.get(resources::nodes, "", "n1"));
  ASSERT_FALSE(result);
  EXPECT_TRUE(result.error().not_found());
  EXPECT_EQ(result.error().reason, "NotFound");
  EXPECT_EQ(result.error().message, "nodes \"n1\" not found");
  EXPECT_EQ(result.error().body, body);
  EXPECT_EQ(sent(), 1u);
}

TEST(ErrorTest, OtherBodiesAreShortened) {
  EXPECT_EQ(to_api_error(418, "").message, "the server answered 418");
  EXPECT_EQ(to_api_error(400, "<html>\r\n\t<b>no</b>\n").message, "the server answered 400: <html> <b>no</b>");
  const ApiError error = to_api_error(403, std::string(199, 'x') + "äöü");
  EXPECT_EQ(error.message, "the server answered 403: " + std::string(199, 'x') + "…");
  EXPECT_EQ(error.body.size(), 205u);
  EXPECT_EQ(to_api_error(403, "[1,2]").message, "the server answered 403: [1,2]");
  EXPECT_EQ(to_api_error(403, R"({"kind":"Status","message":7})").message,
            R"(the server answered 403: {"kind":"Status","message":7})");
}

TEST(ErrorTest, WhatCountsAsConflict) {
  EXPECT_TRUE(to_api_error(409, R"({"kind":"Status","reason":"Conflict"})").conflict());
  EXPECT_FALSE(to_api_error(409, R"({"kind":"Status","reason":"AlreadyExists"})").conflict());
  EXPECT_TRUE(to_api_error(409, R"({"kind":"Status","reason":"AlreadyExists"})").already_exists());
  EXPECT_TRUE(to_api_error(422, kPatchTestFailed).conflict());
  EXPECT_FALSE(
      to_api_error(422, R"({"kind":"Status","reason":"Invalid","message":"Node \"x\" is invalid: spec"})").conflict());
  EXPECT_FALSE(to_api_error(404, kPatchTestFailed).conflict());
}

TEST(ErrorTest, WhatMayHaveTakenEffect) {
  using enum io::ErrorKind;
  for (const auto kind : {timeout, closed, protocol}) EXPECT_TRUE(to_api_error(io::Error{kind, ""}).ambiguous());
  for (const auto kind : {connect, tls, file, process, invalid}) {
    EXPECT_FALSE(to_api_error(io::Error{kind, ""}).ambiguous());
  }
  for (const int code : {429, 500, 502, 503, 504, 507, 520, 524, 530, 599})
    EXPECT_TRUE(to_api_error(code, "").ambiguous()) << code;
  for (const int code : {400, 401, 403, 404, 409, 422, 501}) {
    EXPECT_FALSE(to_api_error(code, "").ambiguous()) << code;
  }
}

TEST(ErrorTest, WhatProvesThatNothingWasStored) {
  EXPECT_FALSE(to_api_error(429, "Too many requests, please try again later.\n").ambiguous());
  EXPECT_FALSE(to_api_error(429, R"({"kind":"Status","reason":"TooManyRequests"})").ambiguous());
  const auto internal = [](std::string message) {
    return to_api_error(500, R"({"kind":"Status","reason":"InternalError","message":")" + message + R"("})");
  };
  EXPECT_FALSE(internal(R"(Internal error occurred: failed calling webhook \"w.example.com\": failed to call webhook: )"
                        R"(Post \"https://w.ns.svc:443/\": context deadline exceeded)")
                   .ambiguous());
  EXPECT_FALSE(internal(R"(admission webhook \"w.example.com\" denied the request: broken)").ambiguous());
  EXPECT_TRUE(internal("etcdserver: request timed out").ambiguous());
}

TEST_F(ClientTest, ConflictsAreNotRetried) {
  for (const auto& [code, body] :
       std::initializer_list<std::pair<int, const char*>>{{409, ""}, {422, kPatchTestFailed}, {403, ""}, {410, ""}}) {
    transport_.requests.clear();
    transport_.answer(code, body);
    EXPECT_EQ(run(patch_node(repeatable())).error().code, code);
    EXPECT_EQ(sent(), 1u);
  }
}

TEST_F(ClientTest, TooManyRequestsWaitsAsAsked) {
  transport_.answer(asking(429, io::seconds{7}, kFlowControlBody));
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(patch_node()));
  EXPECT_EQ(sent(), 2u);
  EXPECT_THAT(elapsed(), AllOf(Ge(io::seconds{7}), Le(io::milliseconds{7700})));
}

TEST_F(ClientTest, AnAbsurdRetryAfterIsCapped) {
  transport_.answer(asking(429, io::hours{5}, kFlowControlBody));
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(patch_node()));
  EXPECT_THAT(elapsed(), AllOf(Ge(io::seconds{60}), Le(io::seconds{66})));
}

TEST_F(ClientTest, TheStatusMayAskForTheDelayToo) {
  transport_.answer(500, R"({"kind":"Status","reason":"ServerTimeout","details":{"retryAfterSeconds":2}})");
  transport_.answer(200, "{}");
  EXPECT_TRUE(run(patch_node(repeatable())));
  EXPECT_THAT(elapsed(), AllOf(Ge(io::seconds{2}), Le(io::milliseconds{2200})));
}

TEST_F(ClientTest, BackoffDoublesWithJitterAndEnds) {
  std::vector<io::Steady> at;
  transport_.on_send([&](Request) -> io::Task<io::Result<Response>> {
    at.push_back(loop_->now());
    co_return io::fail(io::ErrorKind::connect, "refused");
  });
  CallOptions options;
  options.attempts = 10;
  const auto result = run(patch_node(options));
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().network, io::ErrorKind::connect);
  EXPECT_FALSE(result.error().ambiguous());
  ASSERT_EQ(at.size(), 10u);
  io::Duration full = io::milliseconds{250};
  for (size_t i = 1; i < at.size(); ++i, full = std::min(full * 2, io::Duration{io::seconds{10}})) {
    EXPECT_THAT(at[i] - at[i - 1], AllOf(Ge(full / 2), Le(full))) << i;
  }
  EXPECT_NE((at[2] - at[1]) * 2, at[3] - at[2]);
}

// A write that may have taken effect is not sent again unless the caller allowed it.
TEST_F(ClientTest, AmbiguousWritesReturnAtOnce) {
  for (const auto kind : {io::ErrorKind::timeout, io::ErrorKind::closed, io::ErrorKind::protocol}) {
    transport_.requests.clear();
    transport_.fail(kind);
    const auto result = run(patch_node());
    EXPECT_TRUE(result.error().ambiguous());
    EXPECT_EQ(sent(), 1u);
  }
  for (const int code : {429, 500, 502, 503, 504}) {
    transport_.requests.clear();
    transport_.answer(code, "");
    EXPECT_TRUE(run(patch_node()).error().ambiguous());
    EXPECT_EQ(sent(), 1u);
  }
}

TEST_F(ClientTest, ReadsAndRepeatableWritesAreRetriedAfterATimeout) {
  transport_.fail(io::ErrorKind::timeout);
  transport_.answer(200, "a");
  EXPECT_EQ(run(client_.get(resources::nodes, "", "n")).value(), "a");
  transport_.fail(io::ErrorKind::closed);
  transport_.answer(504, "");
  transport_.answer(200, "b");
  EXPECT_EQ(run(patch_node(repeatable())).value(), "b");
  EXPECT_EQ(sent(), 5u);
}

// A first attempt that may have worked makes a later refusal no proof of failure.
TEST_F(ClientTest, AnEarlierAmbiguousAttemptIsRemembered) {
  transport_.fail(io::ErrorKind::timeout);
  transport_.answer(409, R"({"kind":"Status","reason":"Conflict"})");
  const auto result = run(patch_node(repeatable()));
  EXPECT_TRUE(result.error().conflict());
  EXPECT_TRUE(result.error().ambiguous());

  transport_.fail(io::ErrorKind::connect);
  transport_.answer(409, R"({"kind":"Status","reason":"Conflict"})");
  EXPECT_FALSE(run(patch_node(repeatable())).error().ambiguous());
}

TEST_F(ClientTest, AttemptsAreBounded) {
  for (int i = 0; i < 9; ++i) transport_.answer(429, kFlowControlBody);
  EXPECT_EQ(run(patch_node()).error().code, 429);
  EXPECT_EQ(sent(), 4u);
}

// How long to wait for a budget is for whoever drains to decide.
TEST_F(ClientTest, ABlockedEvictionIsNotRetried) {
  transport_.answer(asking(429, io::seconds{10},
                           R"({"kind":"Status","reason":"TooManyRequests","details":{"causes":[)"
                           R"({"reason":"DisruptionBudget","message":"The disruption budget x needs 2"}]}})"));
  const auto result = run(client_.evict("a", "p", {}));
  EXPECT_TRUE(result.error().blocked_by_budget());
  EXPECT_EQ(result.error().retry_after, io::seconds{10});
  EXPECT_EQ(sent(), 1u);

  transport_.answer(asking(429, io::seconds{1}, R"({"kind":"Status","reason":"TooManyRequests"})"));
  transport_.answer(201, "{}");
  EXPECT_TRUE(run(client_.evict("a", "p", {})));
}

TEST_F(ClientTest, TheGuardBoundsEveryAttemptOfAWrite) {
  std::vector<std::optional<io::Duration>> answers{io::seconds{8}, io::seconds{3}, std::nullopt};
  size_t asked = 0;
  client_.set_write_guard([&] { return answers.at(asked++); });
  transport_.answer(429, kFlowControlBody);
  transport_.answer(429, kFlowControlBody);
  transport_.answer(200, "");
  const auto result = run(patch_node());
  EXPECT_TRUE(result.error().not_leader());
  EXPECT_FALSE(result.error().ambiguous());
  ASSERT_EQ(sent(), 2u);
  EXPECT_EQ(transport_.requests[0].timeout, io::seconds{8});
  EXPECT_EQ(transport_.requests[1].timeout, io::seconds{3});

  // Reads do not ask; a guard that leaves no time refuses.
  EXPECT_TRUE(run(client_.get(resources::nodes, "", "n")));
  EXPECT_EQ(asked, 3u);
  answers.push_back(io::seconds{0});
  EXPECT_TRUE(run(client_.create(resources::nodes, "", "{}")).error().not_leader());
  EXPECT_EQ(sent(), 3u);

  // The caller's own limit stays when it is the shorter one.
  answers.push_back(io::hours{1});
  transport_.answer(200, "");
  EXPECT_TRUE(run(client_.remove(resources::pods, "a", "p")));
  EXPECT_EQ(last().timeout, io::seconds{10});
}

TEST_F(ClientTest, ARefusalAfterAnAmbiguousAttemptStaysAmbiguous) {
  bool leads = true;
  client_.set_write_guard(
      [&] { return std::exchange(leads, false) ? std::optional(io::Duration{io::seconds{5}}) : std::nullopt; });
  transport_.fail(io::ErrorKind::timeout);
  const auto result = run(patch_node(repeatable()));
  EXPECT_TRUE(result.error().not_leader());
  EXPECT_TRUE(result.error().ambiguous());
}

TEST_F(ClientTest, ACancelledCallEndsWhereItWaits) {
  transport_.answer(asking(429, io::minutes{1}, kFlowControlBody));
  std::optional<Result<std::string>> result;
  {
    io::Scope scope(*loop_);
    scope.spawn(store(patch_node(), &result));
    time_.run_for(io::seconds{5});
  }
  time_.run_for(io::minutes{5});
  EXPECT_FALSE(result);
  EXPECT_EQ(sent(), 1u);
}

TEST_F(ClientTest, WatchOpensAStream) {
  auto stream = run(client_.watch(resources::pods, "a", "allowWatchBookmarks=true&resourceVersion=5"));
  ASSERT_TRUE(stream);
  EXPECT_EQ(last().path, "/api/v1/namespaces/a/pods?allowWatchBookmarks=true&resourceVersion=5&watch=true");
  transport_.streams.at(0)->push("{}\n");
  std::string into;
  EXPECT_TRUE(run((*stream)->read(into)).value());
  EXPECT_EQ(into, "{}\n");
  stream->reset();
  EXPECT_FALSE(transport_.streams[0]->open());

  transport_.refuse_open(Response{410, R"({"kind":"Status","reason":"Expired"})", std::nullopt});
  const auto gone = run(client_.watch(resources::pods, "", "watch=1"));
  EXPECT_TRUE(gone.error().gone());
  EXPECT_EQ(last().path, "/api/v1/pods?watch=1");
}

TEST_F(ClientTest, RequestsAndRetriesAreCounted) {
  transport_.answer(asking(429, io::seconds{1}, kFlowControlBody));
  transport_.fail(io::ErrorKind::connect);
  transport_.answer(200, "", io::milliseconds{30});
  ASSERT_TRUE(run(client_.patch(resources::nodes, "", "n1", PatchType::merge, "{}", "status")));
  const auto count = [&](const char* name, const io::Labels& labels) {
    return metrics_.counter(name, "", labels).value();
  };
  EXPECT_EQ(count("careen_api_requests_total", {{"verb", "patch"}, {"resource", "nodes/status"}, {"code", "429"}}), 1);
  EXPECT_EQ(count("careen_api_requests_total", {{"verb", "patch"}, {"resource", "nodes/status"}, {"code", "200"}}), 1);
  EXPECT_EQ(count("careen_api_requests_total", {{"verb", "patch"}, {"resource", "nodes/status"}, {"code", "connect"}}),
            1);
  EXPECT_EQ(count("rest_client_requests_total", {{"method", "PATCH"}, {"host", ""}, {"code", "<error>"}}), 1);
  EXPECT_EQ(count("rest_client_requests_total", {{"method", "PATCH"}, {"host", ""}, {"code", "200"}}), 1);
  EXPECT_EQ(count("careen_api_retries_total", {{"verb", "patch"}, {"resource", "nodes/status"}, {"cause", "429"}}), 1);
  EXPECT_EQ(count("careen_api_retries_total", {{"verb", "patch"}, {"resource", "nodes/status"}, {"cause", "connect"}}),
            1);
  EXPECT_THAT(metrics_.expose(),
              HasSubstr("careen_api_request_duration_seconds_count{resource=\"nodes/status\",verb=\"patch\"} 3"));
}

}  // namespace
}  // namespace careen::kube
