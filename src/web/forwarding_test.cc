// Two replicas over TLS and real sockets: one leads, the other passes on what it is asked.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/http.h"
#include "io/metrics.h"
#include "io/random.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/base64.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"
#include "web/replica_key.h"
#include "web/server.h"
#include "web/site.h"

namespace careen::web {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kLeadersPod = "/api/v1/namespaces/careen/pods/leader";

io::Task<void> store(io::Task<io::Result<io::HttpResponse>> task, std::optional<io::Result<io::HttpResponse>>& out) {
  out = co_await std::move(task);
}

io::Task<std::string> no_token() { co_return std::string(); }

Pieces whole(std::string text) {
  return [text = std::move(text), done = false](std::string& into) mutable {
    if (std::exchange(done, true)) return false;
    into += text;
    return true;
  };
}

class ForwardingTest : public testing::Test {
 protected:
  struct Replica {
    Replica(ForwardingTest& t, bool leads)
        : leader(
              t.loop, t.client, *t.between_replicas, [&t] { return t.holder; }, "careen", true),
          info(t.loop, leader, {[leads] { return leads; }, [] { return whole("[\"info\"]"); }}),
          auth(t.client),
          view(t.loop, leader, source(leads), ViewGuard(ViewPolicy::token, &auth), no_token) {
      leader.set_port(t.leaders_port);
    }
    static ViewAnswers source(bool leads) {
      ViewAnswers from;
      from.leading = [leads] { return leads; };
      from.unknown = [] { return std::string(); };
      from.node = [](std::string_view name) { return "{\"node\":\"" + std::string(name) + "\"}"; };
      return from;
    }
    Leader leader;
    InfoApi info;
    TokenAuth auth;
    ViewApi view;
    std::unique_ptr<io::HttpServer> server;
  };

  ForwardingTest() {
    api.put(kLeadersPod, *kube::Json::parse(R"({"apiVersion":"v1","kind":"Pod","status":{"podIP":"127.0.0.1"}})"));
    api.treat = [this](const kube::Request& request) { return review(request); };
  }
  // Ana may read everything, Ben all but the information.
  sim::Treatment review(const kube::Request& request) {
    sim::Treatment treatment;
    if (request.method == "GET") return treatment;
    const auto asked = *kube::Json::parse(request.body);
    if (request.path.find("tokenreviews") != std::string::npos) {
      const std::string token(asked.at("/spec/token").text().value_or(""));
      ++reviewed[token];
      const bool known = token == "ana" || token == "ben";
      treatment.refuse = kube::Response{
          201, known ? R"({"status":{"authenticated":true,"user":{"username":")" + token + "\"}}}" : R"({"status":{}})",
          std::nullopt};
    } else {
      const bool ben = asked.at("/spec/user").text() == "ben";
      const bool info = asked.at("/spec/nonResourceAttributes/path").text() == InfoApi::kPath;
      treatment.refuse =
          kube::Response{201, ben && info ? R"({"status":{}})" : R"({"status":{"allowed":true}})", std::nullopt};
    }
    return treatment;
  }

  void serve(Replica& replica, const ReplicaKey& key) {
    auto routes = site_routes(metrics, {}, {.info = &replica.info, .view = &replica.view}, replica.auth.access());
    auto server = serve_metrics(loop, "127.0.0.1:0", {{}, std::move(routes)}, SiteTls{usual, key.pair});
    ASSERT_TRUE(server) << server.error().message;
    replica.server = std::move(*server);
  }
  // By somebody who trusts the certificate that everybody is shown.
  io::HttpResponse get(const Replica& from, const std::string& path, const std::string& token) {
    io::HttpClientOptions options;
    options.tls.ca_pem = usual.pair()->certificate;
    const auto user = io::make_http_client(loop, options);
    io::HttpRequest request;
    request.url = "https://127.0.0.1:" + std::to_string(from.server->port()) + path;
    request.headers = {{"Authorization", "Bearer " + token}};
    std::optional<io::Result<io::HttpResponse>> out;
    io::Scope scope(loop);
    scope.spawn(store(user->send(std::move(request)), out));
    loop.run_until([&] { return out.has_value(); });
    EXPECT_TRUE(*out) << out->error().message;
    return *out ? std::move(**out) : io::HttpResponse{};
  }
  static io::HttpClientOptions replicas_options() {
    io::HttpClientOptions options;
    options.tls.server_name = kReplicaHost;
    options.direct = true;
    return options;
  }

  io::RealLoop loop;
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api{loop};
  std::unique_ptr<kube::Transport> transport = api.connect(loop);
  kube::Client client{loop, *transport, metrics, random};
  std::unique_ptr<io::HttpClient> between_replicas = io::make_http_client(loop, replicas_options());
  ServingTls usual = self_signed_tls(loop, {"127.0.0.1"});
  ReplicaKey leaders_key = *make_replica_key(loop.wall_now());
  ReplicaKey followers_key = *make_replica_key(loop.wall_now());
  std::string holder = "leader_" + leaders_key.digest;
  int leaders_port = 0;
  std::map<std::string, int> reviewed;
};

TEST_F(ForwardingTest, TheLeaderAnswersWhoAsksAFollower) {
  Replica leading(*this, true);
  serve(leading, leaders_key);
  leaders_port = leading.server->port();
  Replica following(*this, false);
  serve(following, followers_key);

  const auto node = get(following, "/careen/v1/nodes/a%20b?x=%40", "ana");
  EXPECT_EQ(node.status, 200) << node.body;
  EXPECT_EQ(node.body, "{\"node\":\"a b\"}");
  EXPECT_EQ(reviewed["ana"], 2) << "the leader has seen the token, too";
  EXPECT_EQ(get(following, InfoApi::kPath, "ana").body, "[\"info\"]");
  // A client gets no more through a follower than it may read there itself.
  EXPECT_EQ(get(following, InfoApi::kPath, "ben").status, 403);
  EXPECT_EQ(get(following, InfoApi::kPath, "stranger").status, 401);
  EXPECT_EQ(get(following, "/careen/v1/nodes/x", "ben").status, 200);
}

// Somebody else has got the leader's address, and even the certificate that is served to everybody.
TEST_F(ForwardingTest, AnImpostorGetsNothing) {
  Replica impostor(*this, true);
  serve(impostor, followers_key);
  leaders_port = impostor.server->port();
  Replica following(*this, false);
  serve(following, followers_key);
  for (const char* path : {"/careen/v1/nodes/x", InfoApi::kPath}) {
    const auto refused = get(following, path, "ana");
    EXPECT_EQ(refused.status, 502) << path;
    EXPECT_THAT(refused.body, AllOf(HasSubstr("does not answer"), HasSubstr("TLS failed")));
  }
  EXPECT_EQ(reviewed["ana"], 1) << "the follower alone has seen the token";
}

TEST_F(ForwardingTest, ALeaderWithoutAKeyGetsNothing) {
  Replica leading(*this, true);
  serve(leading, leaders_key);
  leaders_port = leading.server->port();
  holder = "leader_3f0c8a50-0000-4000-8000-000000000000";
  Replica following(*this, false);
  serve(following, followers_key);
  const auto refused = get(following, InfoApi::kPath, "ana");
  EXPECT_EQ(refused.status, 502);
  EXPECT_THAT(refused.body, HasSubstr("kubectl -n careen port-forward pod/leader"));
  EXPECT_EQ(reviewed["ana"], 1);
}

io::Task<void> keep_text(io::Task<io::Result<std::string>> task, std::optional<io::Result<std::string>>& out) {
  out = co_await std::move(task);
}

TEST_F(ForwardingTest, WhatIsPostedGoesToWhoHasTheCertificateThatAllServe) {
  Route echo{.path = exactly("/review"),
             .methods = Methods::any(),
             .access = Access::api_server(),
             .answer = at_once([](const io::ServerRequest& request) {
               return io::ServerResponse{.body = request.method + " " + request.body +
                                                 (Leader::was_passed_on(request) ? ", passed on" : "")};
             })};
  std::vector<Route> routes;
  routes.push_back(std::move(echo));
  auto server = serve_webhooks(loop, "127.0.0.1:0", usual, {{}, std::move(routes)});
  ASSERT_TRUE(server) << server.error().message;
  leaders_port = (*server)->port();
  Replica following(*this, false);
  const auto post = [&](const std::string& path, const std::string& certificate) {
    const std::string key = "sha256//" + kube::base64_encode(io::read_certificate(certificate)->key_digest);
    std::optional<io::Result<std::string>> out;
    io::Scope scope(loop);
    scope.spawn(keep_text(following.leader.post(path, "a review", key, io::seconds{5}), out));
    loop.run_until([&] { return out.has_value(); });
    return std::move(*out);
  };
  EXPECT_EQ(post("/review", usual.pair()->certificate).value_or("-"), "POST a review, passed on");
  EXPECT_THAT(post("/elsewhere", usual.pair()->certificate).error().message, HasSubstr("status 404"));
  EXPECT_FALSE(post("/review", followers_key.pair->certificate)) << "somebody at the leader's address";
  holder.clear();
  EXPECT_THAT(post("/review", usual.pair()->certificate).error().message, HasSubstr("no replica leads"));
}

TEST(ReplicaKeyTest, TheIdentityNamesIt) {
  const auto key = make_replica_key(io::Wall{});
  ASSERT_TRUE(key) << key.error().message;
  EXPECT_EQ(key->digest.size(), 64u);
  EXPECT_THAT(*pinned_key_of("careen-1_" + key->digest), testing::StartsWith("sha256//"));
  EXPECT_NE(make_replica_key(io::Wall{})->digest, key->digest);
  for (const std::string& other : {std::string("careen-1"), std::string("careen-1_"), key->digest,
                                   "careen-1_" + key->digest + "0", "careen-1_" + std::string(64, 'g')}) {
    EXPECT_FALSE(pinned_key_of(other)) << other;
  }
}

}  // namespace
}  // namespace careen::web
