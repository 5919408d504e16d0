#include "web/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/http.h"
#include "io/real_loop.h"
#include "io/sync.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"
#include "web/admission.h"
#include "web/probes.h"
#include "web/site.h"
#include "web/test_routes.h"
#include "web/token_auth.h"

namespace careen::web {
namespace {

using testing::HasSubstr;

Routes metrics_page(io::Metrics& metrics, std::function<void()> on_scrape = {}) {
  return {{}, one_route(metrics_route(metrics, std::move(on_scrape), Access::anybody()))};
}

io::Task<void> fetch(io::HttpClient& client, std::string url, std::optional<io::Result<io::HttpResponse>>& out) {
  io::HttpRequest request;
  request.url = std::move(url);
  out = co_await client.send(std::move(request));
}

io::Task<void> send_to(io::HttpClient& client, io::HttpRequest request,
                       std::optional<io::Result<io::HttpResponse>>& out) {
  out = co_await client.send(std::move(request));
}

io::Task<kube::AdmissionVerdict> denied() { co_return kube::AdmissionVerdict::deny("no"); }

// Through real sockets, once: the handlers themselves are tested without.
TEST(ServerTest, AnswersOverTheNetwork) {
  io::RealLoop loop;
  io::Metrics metrics;
  io::Problems problems{io::Log()};
  Probes probes(problems);
  bool scraped = false;
  const auto metrics_server = serve_metrics(loop, "127.0.0.1:0", metrics_page(metrics, [&] { scraped = true; }));
  const auto probe_server = serve_probes(loop, "127.0.0.1:0", {{}, probes.routes()});
  ASSERT_TRUE(metrics_server) << metrics_server.error().message;
  ASSERT_TRUE(probe_server) << probe_server.error().message;

  const auto client = io::make_http_client(loop, {});
  const auto get = [&](const io::HttpServer& server, const std::string& path) {
    std::optional<io::Result<io::HttpResponse>> out;
    io::Scope scope(loop);
    scope.spawn(fetch(*client, "http://127.0.0.1:" + std::to_string(server.port()) + path, out));
    loop.run_until([&] { return out.has_value(); });
    EXPECT_TRUE(out->has_value()) << out->error().message;
    return out->has_value() ? **out : io::HttpResponse{};
  };
  EXPECT_EQ(get(**probe_server, "/healthz").body, "ok");
  EXPECT_EQ(get(**probe_server, "/readyz?verbose&exclude=caches").status, 503);
  EXPECT_EQ(get(**probe_server, "/metrics").status, 404);
  const auto page = get(**metrics_server, "/metrics");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(io::header(page.headers, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_TRUE(scraped);
}

// A follower asks the leader on the port that both serve on: here, itself.
TEST(ServerTest, TheInfoDocumentPassesThroughAFollower) {
  io::RealLoop loop;
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api(loop);
  api.put("/api/v1/namespaces/kube-system/pods/leader",
          *kube::Json::parse(R"({"apiVersion":"v1","kind":"Pod","status":{"podIP":"127.0.0.1"}})"));
  const auto transport = api.connect(loop);
  kube::Client kube_client(loop, *transport, metrics, random);
  const auto http = io::make_http_client(loop, {});
  std::string large(3 << 20, 'x');
  int asked = 0;
  // Leads only for the request that was sent on.
  Leader leader(loop, kube_client, *http, [] { return "leader_1"; }, "kube-system");
  InfoApi info(loop, leader,
               {[&] { return ++asked == 2; },
                [&]() -> Pieces {
                  return [&, at = size_t{0}](std::string& into) mutable {
                    if (at == large.size()) return false;
                    into += large.substr(at, 1 << 16);
                    at += 1 << 16;
                    return true;
                  };
                }});
  const auto server =
      serve_metrics(loop, "127.0.0.1:0", {{}, site_routes(metrics, {}, {.info = &info}, Access::anybody())});
  ASSERT_TRUE(server) << server.error().message;
  leader.set_port((*server)->port());
  const auto client = io::make_http_client(loop, {});
  std::optional<io::Result<io::HttpResponse>> out;
  io::Scope scope(loop);
  scope.spawn(fetch(*client, "http://127.0.0.1:" + std::to_string((*server)->port()) + "/api/v1/info", out));
  loop.run_until([&] { return out.has_value(); });
  ASSERT_TRUE(*out) << out->error().message;
  EXPECT_EQ((**out).status, 200) << (**out).body;
  EXPECT_EQ(io::header((**out).headers, "content-type"), "application/json");
  EXPECT_EQ((**out).body, large);
  EXPECT_EQ(asked, 2);
}

// Metrics that only a known user may read, over TLS; and a webhook as the API server calls it.
TEST(ServerTest, SecuredMetricsAndWebhooks) {
  io::RealLoop loop;
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api(loop);
  api.treat = [](const kube::Request& request) {
    sim::Treatment treatment;
    const bool good = request.body.find("\"good\"") != std::string::npos;
    const bool review = request.path.find("tokenreviews") != std::string::npos;
    treatment.refuse = kube::Response{201,
                                      !review ? R"({"status":{"allowed":true}})"
                                      : good  ? R"({"status":{"authenticated":true,"user":{"username":"u"}}})"
                                              : R"({"status":{}})",
                                      std::nullopt};
    return treatment;
  };
  const auto transport = api.connect(loop);
  kube::Client kube_client(loop, *transport, metrics, random);
  TokenAuth auth(kube_client);
  const ServingTls tls = self_signed_tls(loop, {"127.0.0.1"});
  const auto server =
      serve_metrics(loop, "127.0.0.1:0", {{}, site_routes(metrics, {}, {}, auth.access())}, SiteTls{.usual = tls});
  ASSERT_TRUE(server) << server.error().message;
  std::string operation;
  const auto judge = [&](const kube::AdmissionRequest& request) -> io::Task<kube::AdmissionVerdict> {
    operation = request.operation;
    return denied();
  };
  const auto webhooks =
      serve_webhooks(loop, "127.0.0.1:0", tls,
                     {{}, one_route(webhook_route({loop, kube_client, metrics, io::Log()}, "/validate", judge))});
  ASSERT_TRUE(webhooks) << webhooks.error().message;

  io::HttpClientOptions trusting;
  trusting.tls.ca_pem = tls.pair()->certificate;
  const auto client = io::make_http_client(loop, trusting);
  const auto send = [&](const io::HttpServer& to, io::HttpRequest request, const std::string& path) {
    request.url = "https://127.0.0.1:" + std::to_string(to.port()) + path;
    std::optional<io::Result<io::HttpResponse>> out;
    io::Scope scope(loop);
    scope.spawn(send_to(*client, std::move(request), out));
    loop.run_until([&] { return out.has_value(); });
    EXPECT_TRUE(out->has_value()) << out->error().message;
    return out->has_value() ? **out : io::HttpResponse{};
  };
  io::HttpRequest known, unknown, review;
  known.headers = {{"Authorization", "Bearer good"}};
  unknown.headers = {{"Authorization", "Bearer bad"}};
  for (const char* path : {"/metrics", "/static/"}) {
    EXPECT_EQ(send(**server, known, path).status, 200) << path;
    EXPECT_EQ(send(**server, unknown, path).status, 401) << path;
    EXPECT_EQ(send(**server, {}, path).status, 401) << path;
  }
  review.method = "POST";
  review.headers = {{"Content-Type", "application/json"}};
  review.body = R"({"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
                    "request":{"uid":"7","operation":"CREATE","object":{}}})";
  const auto answer = send(**webhooks, review, "/validate?timeout=15s");
  EXPECT_EQ(operation, "CREATE");
  ASSERT_EQ(answer.status, 200);
  EXPECT_EQ(kube::Json::parse(answer.body)->at("/response/status/message").text(), "no") << answer.body;
  EXPECT_EQ(send(**webhooks, review, "/other").status, 404);
  review.body.assign(kLongestReview + 10, ' ');
  EXPECT_EQ(kube::Json::parse(send(**webhooks, review, "/validate").body)->at("/response/status/code").integer(), 413);
  review.body.assign(6 << 20, ' ');
  EXPECT_EQ(send(**webhooks, review, "/validate").status, 413);
}

TEST(ServerTest, NoAddressMeansNoServer) {
  io::RealLoop loop;
  io::Metrics metrics;
  for (const char* address : {"", "0"}) {
    const auto server = serve_metrics(loop, address, metrics_page(metrics));
    ASSERT_TRUE(server);
    EXPECT_EQ(*server, nullptr);
  }
}

TEST(ServerTest, AnAddressInUseIsAnError) {
  io::RealLoop loop;
  io::Metrics metrics;
  const auto first = serve_metrics(loop, "127.0.0.1:0", metrics_page(metrics));
  ASSERT_TRUE(first);
  const auto second = serve_metrics(loop, "127.0.0.1:" + std::to_string((*first)->port()), metrics_page(metrics));
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("127.0.0.1:"));
}

}  // namespace
}  // namespace careen::web
