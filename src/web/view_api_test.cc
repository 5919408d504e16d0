#include "web/view_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/sync.h"
#include "io/test_http.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"
#include "web/test_routes.h"

namespace careen::web {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

class Endless final : public io::BodyStream {
 public:
  explicit Endless(io::Loop& loop) : loop_(loop) {}
  io::Task<io::Result<bool>> read(std::string& into) override {
    co_await io::sleep_for(loop_, io::seconds{1});
    into += "data: {}\n\n";
    co_return true;
  }

 private:
  io::Loop& loop_;
};

class ViewApiTest : public testing::Test {
 protected:
  ViewApiTest() {
    leader.set_port(9123);
    auto pod = kube::Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}});
    pod.set({"status", "podIP"}, "10.0.0.7");
    server.put("/api/v1/namespaces/kube-system/pods/careen-1", std::move(pod));
  }
  ViewAnswers source() {
    ViewAnswers from;
    from.leading = [this] { return leading; };
    from.unknown = [this] { return unknown; };
    from.fleet = []() -> Pieces {
      return [done = false](std::string& into) mutable {
        into += "{}";
        return !std::exchange(done, true);
      };
    };
    from.stream = [this] { return std::make_unique<Endless>(*loop); };
    from.node = [](std::string_view name) {
      return name == "n 1" ? std::optional<std::string>("{\"node\":1}") : std::nullopt;
    };
    from.objects["nodemaintenances"] = {
        "NodeMaintenance",
        [](std::string_view name) { return name == "m" ? std::optional<std::string>("{\"node\":2}") : std::nullopt; }};
    from.of_cluster = [this](std::string_view cluster) { return of_cluster(cluster); };
    from.timeline = [](std::string_view node) { return "{\"of\":\"" + std::string(node) + "\"}"; };
    return from;
  }
  // Of one workload cluster, whose node has the same name.
  std::shared_ptr<const ViewAnswers> of_cluster(std::string_view cluster) {
    if (cluster != "fleet/eu-1") return nullptr;
    auto far = std::make_shared<ViewAnswers>(source());
    far->unknown = [this] { return far_unknown; };
    far->node = [](std::string_view) { return std::optional<std::string>("{\"node\":3}"); };
    return far;
  }
  ViewApi& api(ViewPolicy policy = ViewPolicy::open) {
    if (!api_) api_.emplace(*loop, leader, source(), ViewGuard(policy, nullptr), [this] { return own_token(); });
    return *api_;
  }
  io::Task<std::string> own_token() { co_return own; }

  static io::Task<void> drink(io::BodyStream& stream, std::string& body, bool& done) {
    for (;;) {
      const auto more = co_await stream.read(body);
      if (!more || !*more) break;
    }
    done = true;
  }
  io::ServerResponse get(std::string path, std::string query = "", io::Headers headers = {}, bool local = true) {
    io::ServerRequest request{"GET", "/careen/v1/" + path, query, std::move(headers), {}};
    request.local = local;
    request.peer = peer;
    const Routes routes({}, api().routes());
    std::optional<io::ServerResponse> out;
    io::Scope scope(*loop);
    scope.spawn(keep_answer(routes, std::move(request), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    io::ServerResponse response = out ? std::move(*out) : io::ServerResponse{};
    if (response.stream && path != "stream") {
      bool done = false;
      scope.spawn(drink(*response.stream, response.body, done));
      EXPECT_TRUE(time.run_until([&] { return done; }, io::minutes{1}));
    }
    return response;
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi server{*loop};
  std::unique_ptr<kube::Transport> transport = server.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  io::ScriptedHttp http{*loop};
  std::string holder = "careen-1_0b1c";
  Leader leader{*loop, client, http, [this] { return holder; }, "kube-system"};
  bool leading = true;
  std::string unknown, far_unknown;
  std::string peer = "10.0.0.1";
  std::string own = "Bearer own";
  std::optional<ViewApi> api_;
};

TEST_F(ViewApiTest, ServesItsDocuments) {
  EXPECT_EQ(get("fleet").body, "{}{}");
  EXPECT_EQ(get("fleet").content_type, "application/json");
  EXPECT_EQ(io::header(get("fleet").headers, "Cache-Control"), "no-store");
  EXPECT_EQ(get("nodes/n 1").body, "{\"node\":1}");
  EXPECT_EQ(get("nodemaintenances/m").body, "{\"node\":2}");
  EXPECT_EQ(get("timeline").body, "{\"of\":\"\"}");
  EXPECT_EQ(get("timeline", "node=a%2Fb").body, "{\"of\":\"a/b\"}");
}

TEST_F(ViewApiTest, WhatIsNotThere) {
  for (const char* path : {"nodes/other", "nodemaintenances/other", "nodes/", "other", ""}) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_TRUE((*kube::Json::parse(answer.body))["error"].text()) << answer.body;
  }
  unknown = "the nodes have not been listed yet";
  EXPECT_EQ(get("fleet").status, 503);
  EXPECT_THAT(get("stream").body, HasSubstr(unknown));
}

io::Task<std::string> plan_for(int hours) { co_return hours == 24 ? "" : "{\"hours\":" + std::to_string(hours) + "}"; }

TEST_F(ViewApiTest, PlansIfThereIsSomebodyWhoDoes) {
  EXPECT_EQ(get("plan").status, 503);
  ViewAnswers planning = source();
  planning.plan = plan_for;
  api_.emplace(*loop, leader, std::move(planning), ViewGuard(ViewPolicy::open, nullptr));
  EXPECT_EQ(get("plan", "hours=48").body, "{\"hours\":48}");
  // The usual 24; that plan is not made yet.
  EXPECT_EQ(get("plan").status, 503);
  for (const char* query : {"hours=0", "hours=-1", "hours=x", "hours=24h", "hours=99999"}) {
    EXPECT_EQ(get("plan", query).status, 400) << query;
  }
}

TEST_F(ViewApiTest, StreamsAreCounted) {
  std::vector<io::ServerResponse> open;
  for (int i = 0; i < ViewApi::kMostStreams; ++i) {
    peer = i < ViewApi::kMostStreams / 2 ? "10.0.0.1" : "10.0.0.2";
    open.push_back(get("stream"));
    EXPECT_EQ(open.back().content_type, "text/event-stream");
    EXPECT_TRUE(open.back().stream);
  }
  EXPECT_EQ(get("stream").status, 503);
  EXPECT_EQ(get("fleet").status, 200);
  open.pop_back();
  EXPECT_EQ(get("stream").status, 200);
}

TEST_F(ViewApiTest, NobodyTakesAllStreams) {
  std::vector<io::ServerResponse> open;
  for (int i = 0; i < ViewApi::kMostStreamsOfAPeer; ++i) open.push_back(get("stream"));
  EXPECT_EQ(get("stream").status, 503);
  EXPECT_EQ(get("fleet").status, 200);
  peer = "10.0.0.2";
  EXPECT_EQ(get("stream").status, 200);
  peer = "10.0.0.1";
  open.pop_back();
  EXPECT_EQ(get("stream").status, 200);
  open.clear();
  EXPECT_EQ(api().streams(), 0);
}

TEST_F(ViewApiTest, WhoDoesNotLeadPassesOn) {
  leading = false;
  http.streams.push_back({200, {"{\"from\":", "\"leader\"}"}});
  EXPECT_EQ(get("nodes/x", "a=b").body, "{\"from\":\"leader\"}");
  ASSERT_EQ(http.requests.size(), 1u);
  EXPECT_EQ(http.requests[0].url, "http://10.0.0.7:9123/careen/v1/nodes/x?a=b");
  EXPECT_THAT(http.requests[0].headers, Contains(Pair("X-Careen-Forwarded", "true")));
  // Everybody may look there too: no token has to travel.
  EXPECT_THAT(http.requests[0].headers, Not(Contains(Pair("Authorization", testing::_))));

  http.streams.push_back({404, {"{\"error\":\"there is no node x\"}"}});
  const auto missing = get("nodes/x");
  EXPECT_EQ(missing.status, 404);
  EXPECT_THAT(missing.body, HasSubstr("there is no node x"));
  EXPECT_EQ(get("nodes/x").status, 502);
  holder.clear();
  EXPECT_EQ(get("nodes/x").status, 503);
}

TEST_F(ViewApiTest, StreamsArePassedOnToo) {
  leading = false;
  http.streams.push_back({200, {"event: fleet\n"}});
  http.streams.back().headers = {{"Content-Type", "text/event-stream"}};
  const auto stream = get("stream");
  EXPECT_EQ(stream.content_type, "text/event-stream");
  EXPECT_TRUE(stream.stream);
  EXPECT_EQ(api().streams(), 1);
  // A sign of life comes every 15 s.
  EXPECT_GT(http.requests[0].idle_timeout, io::seconds{15});
}

TEST_F(ViewApiTest, ARequestIsPassedOnOnce) {
  leading = false;
  EXPECT_EQ(get("fleet", "", {{"X-Careen-Forwarded", "true"}}).status, 503);
  EXPECT_THAT(http.requests, IsEmpty());
}

// Everybody on the way could read along, so this replica itself asks, on behalf of those it has let in.
TEST_F(ViewApiTest, NobodysTokenTravelsInClearText) {
  leading = false;
  api(ViewPolicy::loopback);
  for (int i = 0; i < 3; ++i) http.streams.push_back({200, {"{}"}});
  for (const io::Headers& headers :
       {io::Headers{{"Host", "localhost"}, {"Authorization", "Bearer ana's"}}, io::Headers{{"Host", "localhost"}},
        io::Headers{{"Host", "localhost"}, {"X-Careen-Token", "ben's"}}}) {
    EXPECT_EQ(get("fleet", "", headers).status, 200);
    EXPECT_THAT(http.requests.back().headers, Contains(Pair("Authorization", "Bearer own")));
    for (const auto& [name, value] : http.requests.back().headers) EXPECT_THAT(value, Not(HasSubstr("'s"))) << name;
  }
  // A client that is not let in here gets no help from us.
  EXPECT_EQ(get("fleet", "", {}, false).status, 403);
  EXPECT_EQ(http.requests.size(), 3u);
  own.clear();
  const auto refused = get("fleet", "", {{"Host", "localhost"}, {"Authorization", "Bearer ana's"}});
  EXPECT_EQ(refused.status, 502);
  EXPECT_THAT(refused.body, HasSubstr("kubectl port-forward"));
  EXPECT_EQ(http.requests.size(), 3u);
}

// What is asked of a workload cluster is answered by it alone.
TEST_F(ViewApiTest, AClusterIsNamedInTheQuery) {
  EXPECT_EQ(get("nodes/n%201", "cluster=fleet%2Feu-1").body, "{\"node\":3}");
  EXPECT_EQ(get("nodes/n%201", "cluster=fleet/eu-1").body, "{\"node\":3}");
  EXPECT_EQ(get("fleet", "cluster=fleet/eu-1").status, 200);
  const io::ServerResponse none = get("fleet", "cluster=fleet/us-1");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, testing::HasSubstr("fleet/us-1 are not looked after"));
  far_unknown = "its nodes have not been listed yet";
  EXPECT_EQ(get("fleet", "cluster=fleet/eu-1").status, 503);
  EXPECT_EQ(get("fleet").status, 200);
}

class SecureViewApiTest : public ViewApiTest {
 protected:
  SecureViewApiTest() {
    holder = "careen-1_" + std::string(64, 'a');
    leading = false;
    secure.set_port(9123);
    api_.emplace(*loop, secure, source(), ViewGuard(ViewPolicy::loopback, nullptr), [this] { return own_token(); });
  }
  Leader secure{*loop, client, http, [this] { return holder; }, "kube-system", true};
};

TEST_F(SecureViewApiTest, TheLeaderSeesWhoAsks) {
  for (int i = 0; i < 3; ++i) http.streams.push_back({200, {"{}"}});
  get("fleet", "", {{"Host", "localhost"}, {"Authorization", "Bearer ana's"}});
  EXPECT_THAT(http.requests.at(0).headers, Contains(Pair("Authorization", "Bearer ana's")));
  EXPECT_EQ(http.requests[0].url, "https://10.0.0.7:9123/careen/v1/fleet");
  EXPECT_EQ(http.requests[0].pinned_key, "sha256//qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo=");
  get("fleet", "", {{"Host", "localhost"}});
  EXPECT_THAT(http.requests.at(1).headers, Contains(Pair("Authorization", "Bearer own")));
  // Through the API server's proxy.
  get("fleet", "", {{"Host", "localhost"}, {"X-Careen-Token", "ben's"}});
  EXPECT_THAT(http.requests.at(2).headers, Contains(Pair("Authorization", "Bearer ben's")));
}

// As another program's, or that of a careen without --metrics-secure.
TEST_F(SecureViewApiTest, ALeaderThatNamesNoKeyGetsNothing) {
  for (const char* random : {"0b1c", "", "3f0c8a50-0000-4000-8000-000000000000"}) {
    holder = std::string("careen-1_") + random;
    const auto refused = get("fleet", "", {{"Host", "localhost"}, {"Authorization", "Bearer ana's"}});
    EXPECT_EQ(refused.status, 502);
    EXPECT_THAT(refused.body, HasSubstr("kubectl -n kube-system port-forward pod/careen-1 9123"));
  }
  EXPECT_THAT(http.requests, IsEmpty());
}

TEST(EncodedTargetTest, EachPartIsEncodedAnew) {
  EXPECT_EQ(encoded_target("/careen/v1/nodes/a b@c:1?#%", "x=%20/&y&&z=a+b=c#@"),
            "/careen/v1/nodes/a%20b%40c%3A1%3F%23%25?x=%20%2F&y&z=a%20b%3Dc%23%40");
  EXPECT_EQ(encoded_target("@evil:1/x", ""), "/%40evil%3A1/x");
  EXPECT_EQ(encoded_target("", "&&"), "/");
}

}  // namespace
}  // namespace careen::web
