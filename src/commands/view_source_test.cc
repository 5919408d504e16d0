#include "commands/view_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "cli/command_set.h"
#include "io/test_http.h"
#include "io/virtual_time.h"
#include "kube/scripted_transport.h"
#include "replica/controllers.h"

namespace careen::app {
namespace {

using io::Task;
using kube::Json;

constexpr const char* kLeases = R"({"items": [
  {"metadata": {"namespace": "old"},
     "spec": {"holderIdentity": "gone_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T08:00:00.000000Z"}},
  {"metadata": {"namespace": "careen-system"},
   "spec": {"holderIdentity": "careen-7c9d_5f0a", "leaseDurationSeconds": 15,
            "renewTime": "2026-03-02T10:00:00.000000Z"}},
  {"metadata": {"namespace": "free"},
     "spec": {"holderIdentity": "", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T11:00:00.000000Z"}}]})";

class ViewSourceTest : public testing::Test {
 protected:
  template <class T>
  T run(Task<T> task) {
    std::optional<T> out;
    io::Scope scope(*loop);
    scope.spawn(keep(std::move(task), out));
    time.run_for(io::minutes{5});
    EXPECT_TRUE(out.has_value());
    return std::move(*out);
  }
  LeaderAccess access(std::string ns = {}) {
    return {.api = transport,
            .proxied = transport,
            .now = *io::parse_rfc3339("2026-03-02T10:00:05Z"),
            .ns = std::move(ns),
            .show_token = [this](std::string token) { shown = std::move(token); }};
  }
  // A list for each lock that is a Lease, of which the first has some, and that the old one's pod is gone.
  void answer_locks(const char* leases = kLeases) {
    transport.answer(200, leases);
    for (size_t i = 1; i < lease_locks(); ++i) transport.answer(200, R"({"items": []})");
    if (leases == kLeases) transport.answer(404, R"({"kind": "Status", "message": "gone", "reason": "NotFound"})");
  }
  static size_t lease_locks() {
    const auto locks = replica::leader_locks();
    return static_cast<size_t>(std::ranges::count(locks, kube::LockKind::lease, &replica::HomeObject::kind));
  }
  // Nobody holds any of them, Leases or not.
  void answer_no_locks() {
    for (size_t i = 0; i < replica::leader_locks().size(); ++i) transport.answer(200, R"({"items": []})");
  }
  std::string error_of(const char* leases) {
    answer_locks(leases);
    const auto source = run(view_of_leader(access()));
    return source ? "no error" : source.error().message;
  }
  template <class T>
  static Task<void> keep(Task<T> task, std::optional<T>& out) {
    out.emplace(co_await std::move(task));
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  kube::ScriptedTransport transport{*loop};
  io::ScriptedHttp http{*loop};
  std::string shown;  // the token
};

TEST_F(ViewSourceTest, TheLeaderIsFoundByItsLeaseAndAskedThroughTheApiServer) {
  answer_locks();
  transport.answer(200, R"({"spec": {"containers": [{"ports": [{"name": "metrics", "containerPort": 9090}]}]}})");
  transport.answer(403, "{}");
  transport.answer(200, R"({"node": "node-1"})");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), "the leader careen-7c9d in namespace careen-system, through the API server");
  const auto story = run((*source)->get("nodes/node-1"));
  ASSERT_TRUE(story) << story.error().message;
  EXPECT_EQ((*story)["node"].text(), "node-1");
  ASSERT_EQ(transport.requests.size(), 4 + lease_locks());
  EXPECT_EQ(transport.requests[0].path,
            "/apis/coordination.k8s.io/v1/"
            "leases?fieldSelector=metadata.name%3Dmaintenance-controller-leader-election.cloud.sap");
  EXPECT_EQ(transport.requests[3 + lease_locks()].path,
            "/api/v1/namespaces/careen-system/pods/careen-7c9d:9090/proxy/careen/v1/nodes/node-1");
}

TEST_F(ViewSourceTest, WithoutProfilesTheOtherLockCounts) {
  transport.answer(200, R"({"items": []})");
  transport.answer(200, kLeases);
  for (size_t i = 2; i < lease_locks(); ++i) transport.answer(200, R"({"items": []})");
  transport.answer(404, R"({"kind": "Status", "message": "gone", "reason": "NotFound"})");
  transport.answer(200, "{}");
  ASSERT_TRUE(run(view_of_leader(access())));
  EXPECT_NE(transport.requests[0].path, transport.requests[1].path);
}

TEST_F(ViewSourceTest, WhatWasTriedIsTold) {
  answer_no_locks();
  auto source = run(view_of_leader(access()));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("nobody holds the Lease"), std::string::npos) << source.error().message;

  answer_locks();
  transport.answer(404, R"({"kind": "Status", "message": "pods \"careen-7c9d\" not found", "reason": "NotFound"})");
  source = run(view_of_leader(access()));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("careen-system"), std::string::npos) << source.error().message;
  EXPECT_NE(source.error().message.find("pods \"careen-7c9d\" not found"), std::string::npos);
}

TEST_F(ViewSourceTest, ALeaderThatWantsATokenIsReachedAnotherWay) {
  answer_locks();
  transport.answer(200, "{}");
  transport.answer(403, "{}");
  transport.answer(401, R"({"error": "a bearer token is needed"})");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source);
  const auto story = run((*source)->get("nodes/x"));
  ASSERT_FALSE(story);
  EXPECT_EQ(story.error().status, 401);
  EXPECT_NE(story.error().message.find("kubectl -n careen-system port-forward pod/careen-7c9d 8080"), std::string::npos)
      << story.error().message;
  EXPECT_NE(story.error().message.find("create token SERVICEACCOUNT --audience careen.dev/view"), std::string::npos);
}

// The holder of the lock gets to see it, even if a stranger made the lock.
TEST_F(ViewSourceTest, ATokenForTheViewAloneIsMade) {
  answer_locks();
  transport.answer(200, R"({"metadata": {"uid": "u-1"}, "spec": {"serviceAccountName": "careen"}})");
  transport.answer(201, R"({"status": {"token": "made"}})");
  ASSERT_TRUE(run(view_of_leader(access())));
  EXPECT_EQ(shown, "made");
  const kube::Request& made = transport.requests.back();
  EXPECT_EQ(made.method, "POST");
  EXPECT_EQ(made.path, "/api/v1/namespaces/careen-system/serviceaccounts/careen/token");
  EXPECT_EQ(made.body, R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest",)"
                       R"("spec":{"audiences":["careen.dev/view"],"expirationSeconds":600,)"
                       R"("boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"careen-7c9d","uid":"u-1"}}})");
}

TEST_F(ViewSourceTest, NoneIsMadeWhenOneIsGiven) {
  answer_locks();
  transport.answer(200, "{}");
  LeaderAccess with = access();
  with.view_token = "given";
  ASSERT_TRUE(run(view_of_leader(std::move(with))));
  EXPECT_EQ(shown, "given");
  EXPECT_EQ(transport.requests.back().method, "GET");
}

TEST_F(ViewSourceTest, WhoMayNotMakeATokenAsksWithout) {
  answer_locks();
  transport.answer(200, "{}");
  transport.answer(403, R"({"kind": "Status", "message": "no", "reason": "Forbidden"})");
  transport.answer(200, R"({"node": "x"})");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source);
  EXPECT_EQ(shown, "");
  EXPECT_TRUE(run((*source)->get("nodes/x")));
}

TEST_F(ViewSourceTest, LocksInTwoNamespacesAreForAPersonToDecideOn) {
  const std::string error = error_of(R"({"items": [
    {"metadata": {"namespace": "tenant"},
     "spec": {"holderIdentity": "evil_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T10:00:05.0Z"}},
    {"metadata": {"namespace": "careen-system"},
     "spec": {"holderIdentity": "careen-0_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T10:00:00.0Z"}}]})");
  EXPECT_EQ(
      error,
      "careen, or what it replaces, has leases in several namespaces: careen-system, tenant; name the one that is "
      "meant with --namespace");
  EXPECT_EQ(transport.requests.size(), lease_locks());
}

TEST_F(ViewSourceTest, ALockOfTheOtherNameCountsAsWell) {
  transport.answer(200, R"({"items": [
    {"metadata": {"namespace": "tenant"},
     "spec": {"holderIdentity": "evil_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T10:00:05.0Z"}}]})");
  transport.answer(200, R"({"items": [{"metadata": {"namespace": "careen-system"},
    "spec": {"holderIdentity": "careen-0_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T10:00:00.0Z"}}]})");
  for (size_t i = 2; i < lease_locks(); ++i) transport.answer(200, R"({"items": []})");
  const auto source = run(view_of_leader(access()));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("careen-system, tenant"), std::string::npos) << source.error().message;
}

// Old programs of all sorts lock with a ConfigMap of that name, so it has to say that it is careen's.
TEST_F(ViewSourceTest, ALockInAConfigMapCountsWhereNoLeaseIsHeld) {
  for (const replica::HomeObject& lock : replica::leader_locks()) {
    if (lock.kind == kube::LockKind::lease) transport.answer(200, R"({"items": []})");
  }
  const std::string record = R"("control-plane.alpha.kubernetes.io/leader": "{\"holderIdentity\":\"manager-0_1\",)"
                             R"(\"leaseDurationSeconds\":15,\"renewTime\":\"2026-03-02T10:00:00Z\"}")";
  transport.answer(200, R"({"items": [
    {"metadata": {"namespace": "tenant", "annotations": {)" +
                            record + R"(}}},
    {"metadata": {"namespace": "repairman-system", "annotations": {"careen.dev/holder": "manager-0_1", )" +
                            record + "}}}]}");
  transport.answer(200, "{}");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), "the leader manager-0 in namespace repairman-system, through the API server");
}

// careen is down, and its pod still there: a stranger's lock does not take its place.
TEST_F(ViewSourceTest, ALockThatHasRunOutCountsAsLongAsItsPodExists) {
  transport.answer(200, kLeases);
  for (size_t i = 1; i < lease_locks(); ++i) transport.answer(200, R"({"items": []})");
  transport.answer(200, "{}");
  const auto source = run(view_of_leader(access()));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("careen-system, old;"), std::string::npos) << source.error().message;
}

TEST_F(ViewSourceTest, ALockOfTheFutureDoesNotWin) {
  answer_locks(R"({"items": [
    {"metadata": {"namespace": "careen-system"},
     "spec": {"holderIdentity": "careen-0_1", "leaseDurationSeconds": 15, "renewTime": "2026-03-02T10:00:00.0Z"}},
    {"metadata": {"namespace": "tenant"},
     "spec": {"holderIdentity": "evil_1", "leaseDurationSeconds": 15, "renewTime": "2099-01-01T00:00:00.0Z"}}]})");
  transport.answer(200, "{}");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->name(), "the leader careen-0 in namespace careen-system, through the API server");
}

TEST_F(ViewSourceTest, ANamespaceThatIsNamedIsTheOnlyOne) {
  answer_no_locks();
  const auto source = run(view_of_leader(access("careen-system")));
  ASSERT_FALSE(source);
  EXPECT_NE(source.error().message.find("in namespace careen-system"), std::string::npos) << source.error().message;
  for (const kube::Request& request : transport.requests) {
    EXPECT_TRUE(request.path.starts_with("/apis/coordination.k8s.io/v1/namespaces/careen-system/leases?") ||
                request.path.starts_with("/api/v1/namespaces/careen-system/configmaps?"))
        << request.path;
  }
}

TEST_F(ViewSourceTest, AHolderThatNamesNoPodIsNotAsked) {
  const std::string error = error_of(R"({"items": [{"metadata": {"namespace": "careen-system"},
    "spec": {"holderIdentity": "../../secrets/x_1", "leaseDurationSeconds": 15,
            "renewTime": "2026-03-02T10:00:00.0Z"}}]})");
  EXPECT_NE(error.find("is held by \"../../secrets/x_1\", which names no pod"), std::string::npos) << error;
  EXPECT_EQ(transport.requests.size(), lease_locks());
}

TEST_F(ViewSourceTest, AnAddressIsAskedWithTheToken) {
  http.answers.push_back(io::http_answer(200, R"({"node": "x"})"));
  const auto source = view_at(http, "http://127.0.0.1:8080", "secret");
  EXPECT_EQ(source->name(), "careen at http://127.0.0.1:8080");
  ASSERT_TRUE(run(source->get("nodes/x")));
  ASSERT_EQ(http.requests.size(), 1u);
  EXPECT_EQ(http.requests[0].url, "http://127.0.0.1:8080/careen/v1/nodes/x");
  EXPECT_EQ(io::header(http.requests[0].headers, "authorization"), "Bearer secret");
}

TEST_F(ViewSourceTest, WhatAnAddressRefuses) {
  http.answers.push_back(io::http_answer(404, R"({"error": "there is no node \"x\""})"));
  http.answers.push_back(io::http_answer(401, R"({"error": "who are you?"})"));
  http.answers.push_back(io::http_answer(200, "<html>"));
  http.answers.push_back(io::http_answer(500, "oops"));
  const auto source = view_at(http, "http://h", "");
  EXPECT_EQ(run(source->get("nodes/x")).error().message, "there is no node \"x\"");
  EXPECT_EQ(run(source->get("fleet")).error().message,
            "http://h: who are you?; give a token with --token or CAREEN_TOKEN");
  EXPECT_NE(run(source->get("fleet")).error().message.find("something else than a careen would"), std::string::npos);
  EXPECT_EQ(run(source->get("fleet")).error().message, "http://h: it answered with status 500");
}

TEST_F(ViewSourceTest, AnAddressThatNobodyTypedSaysWhereItComesFrom) {
  http.answers.push_back(io::http_answer(500, "oops"));
  const auto source = view_at(http, "http://h", "", "CAREEN_SERVER");
  EXPECT_EQ(source->name(), "careen at http://h (CAREEN_SERVER)");
  EXPECT_EQ(run(source->get("fleet")).error().message, "http://h (CAREEN_SERVER): it answered with status 500");
  EXPECT_EQ(http.requests[0].url, "http://h/careen/v1/fleet");
}

TEST(ServerUrl, AsPeopleWriteIt) {
  EXPECT_EQ(server_url("127.0.0.1:8080").value(), "http://127.0.0.1:8080");
  EXPECT_EQ(server_url("http://127.0.0.1:8080/").value(), "http://127.0.0.1:8080");
  EXPECT_EQ(server_url("https://careen.example.org").value(), "https://careen.example.org");
  EXPECT_EQ(server_url("localhost:8080").value(), "http://localhost:8080");
  EXPECT_EQ(server_url("[::1]:8080").value(), "http://[::1]:8080");
  EXPECT_EQ(server_url("http://proxy/to/careen//").value(), "http://proxy/to/careen");
}

TEST(ServerUrl, WhatIsNoneIsRefusedWithTheReason) {
  for (const auto& [text, reason] : std::initializer_list<std::pair<const char*, const char*>>{
           {"ftp://h", "is neither an http nor an https address"},
           {"http://", "names no host"},
           {":8080", "names no host"},
           {"8080", "is a port without a host"},
           {"h:port", "has no port from 1 to 65535"},
           {"h:", "has no port from 1 to 65535"},
           {"h:65536", "has no port from 1 to 65535"},
           {"h:-1", "has no port from 1 to 65535"},
           {"[::1", "half a pair of brackets"},
           {"http://user:word@h", "has a \"@\" in it"},
           {"http://h/?a=b", "has a \"?\" in it"},
           {"two words", "has a blank"},
           {"h\n", "has a blank"}}) {
    const auto url = server_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(reason), std::string::npos) << url.error().message;
    EXPECT_NE(url.error().message.find("http://127.0.0.1:8080, or auto"), std::string::npos) << url.error().message;
  }
}

class ViewOptionsTest : public testing::Test {
 protected:
  // The message of a UsageError, or nothing.
  std::string complete(ViewOptions& options) {
    try {
      complete_view_options(options, [this](std::string_view name) -> std::optional<std::string> {
        const auto found = variables.find(name);
        if (found == variables.end()) return std::nullopt;
        return found->second;
      });
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }
  std::map<std::string, std::string, std::less<>> variables;
};

TEST_F(ViewOptionsTest, TheVariableNamesTheServer) {
  variables = {{"CAREEN_SERVER", "127.0.0.1:8080"}, {"CAREEN_TOKEN", "t"}};
  ViewOptions options;
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.server, "http://127.0.0.1:8080");
  EXPECT_EQ(options.server_from, "CAREEN_SERVER");
  EXPECT_EQ(options.token, "t");
}

TEST_F(ViewOptionsTest, AFlagSaysMore) {
  variables = {{"CAREEN_SERVER", "no address"}, {"CAREEN_TOKEN", "t"}};
  ViewOptions options{.server = "auto", .token = "mine"};
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.server, "auto");
  EXPECT_EQ(options.server_from, "--server");
  EXPECT_EQ(options.token, "mine");
  options = {.config = "maintenance.yaml"};
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.server, "");
}

TEST_F(ViewOptionsTest, WithoutEitherNobodyIsNamed) {
  variables = {{"CAREEN_SERVER", ""}};
  ViewOptions options;
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.server, "");
}

TEST_F(ViewOptionsTest, TheLeaderGetsATokenForTheViewAlone) {
  const std::string for_view = "e30.eyJhdWQiOlsiY2FyZWVuLmRldi92aWV3Il19.c2ln";  // {"aud":["careen.dev/view"]}
  variables = {{"CAREEN_TOKEN", "t"}};
  ViewOptions options;
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.token, "");
  options.token = "t";
  EXPECT_NE(complete(options).find("--audience careen.dev/view"), std::string::npos) << complete(options);
  options.token = for_view;
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.token, for_view);
  variables = {{"CAREEN_TOKEN", for_view}};
  options = {};
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.token, for_view);
}

TEST_F(ViewOptionsTest, ANamespaceMeansTheLeader) {
  variables = {{"CAREEN_SERVER", "127.0.0.1:8080"}};
  ViewOptions options{.ns = "careen-system"};
  EXPECT_EQ(complete(options), "");
  EXPECT_EQ(options.server, "");
  options.server = "http://h";
  EXPECT_NE(complete(options).find("--namespace"), std::string::npos);
}

TEST_F(ViewOptionsTest, WhoNamedABadAddressIsTold) {
  variables = {{"CAREEN_SERVER", "ftp://h"}};
  ViewOptions options;
  EXPECT_TRUE(complete(options).starts_with("CAREEN_SERVER: \"ftp://h\" is neither")) << complete(options);
  options = {.server = "8080"};
  EXPECT_TRUE(complete(options).starts_with("--server: \"8080\" is a port")) << complete(options);
  options = {.server = "http://h", .config = "f"};
  EXPECT_NE(complete(options), "");
}

TEST_F(ViewSourceTest, TheLeadersStream) {
  answer_locks();
  transport.answer(200, "{}");
  transport.answer(403, "{}");
  const auto source = run(view_of_leader(access()));
  ASSERT_TRUE(source);
  std::vector<std::string> heard;
  std::optional<ViewError> ended;
  io::Scope scope(*loop);
  scope.spawn(keep((*source)->follow([&](std::string_view event, const Json& document) {
    heard.push_back(std::string(event) + " " + document.dump());
  }),
                   ended));
  time.run_for(io::seconds{1});
  ASSERT_EQ(transport.streams.size(), 1u);
  EXPECT_TRUE(transport.streams[0]->request.path.ends_with("/proxy/careen/v1/stream"));
  transport.streams[0]->push("event: fleet\ndata: {\"a\":1}\n\nevent: cha");
  time.run_for(io::seconds{1});
  transport.streams[0]->push("nge\ndata: {}\n\n");
  time.run_for(io::seconds{1});
  EXPECT_EQ(heard, (std::vector<std::string>{"fleet {\"a\":1}", "change {}"}));
  EXPECT_FALSE(ended);
  transport.streams[0]->close();
  time.run_for(io::seconds{1});
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->message, "the leader ended the stream");
}

}  // namespace
}  // namespace careen::app
