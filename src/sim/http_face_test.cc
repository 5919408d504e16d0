// The model cluster as HTTP clients see it.
#include "sim/http_face.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/http.h"
#include "io/test_support.h"
#include "sim/cluster.h"

namespace careen::sim {
namespace {

using io::HttpRequest;
using testing::HasSubstr;

class HttpFaceTest : public testing::Test {
 protected:
  void SetUp() override {
    auto server = serve_model(loop_, cluster_.network, "127.0.0.1:0");
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    put("a", "1");
  }
  void put(const std::string& name, const char* label) {
    auto node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "name"}, name).set({"metadata", "labels", "x"}, label);
    cluster_.api.put("/api/v1/nodes/" + name, std::move(node));
  }
  HttpRequest request(const std::string& path, const std::string& method = "GET", const std::string& body = "") const {
    HttpRequest out;
    out.method = method;
    out.url = "http://127.0.0.1:" + std::to_string(server_->port()) + path;
    out.headers = {{"User-Agent", "someone/1.0 (linux)"}, {"Content-Type", "application/merge-patch+json"}};
    out.body = body;
    return out;
  }
  io::Result<io::HttpResponse> send(HttpRequest r) { return io::run_task(loop_, client_->send(std::move(r))); }

  io::RealLoop loop_;
  Cluster cluster_{loop_};
  std::unique_ptr<io::HttpServer> server_;
  std::unique_ptr<io::HttpClient> client_ = io::make_http_client(loop_, {});
};

TEST_F(HttpFaceTest, RequestsReachTheServerWithTheirSender) {
  std::string by;
  cluster_.api.observe([&](const Change& change) { by = change.by; });
  const auto patched = send(request("/api/v1/nodes/a", "PATCH", R"({"metadata":{"labels":{"x":"2"}}})"));
  ASSERT_TRUE(patched) << patched.error().message;
  EXPECT_EQ(patched->status, 200);
  EXPECT_EQ(io::header(patched->headers, "Content-Type"), "application/json");
  EXPECT_THAT(patched->body, HasSubstr(R"("x":"2")"));
  EXPECT_EQ(by, "someone");
  EXPECT_EQ(send(request("/api/v1/nodes/absent"))->status, 404);
  EXPECT_EQ(send(request("/readyz"))->body, "ok");
}

TEST_F(HttpFaceTest, RefusalsKeepTheirRetryAfter) {
  cluster_.network.treat = [](const Sending&) {
    Treatment treatment;
    treatment.refuse = ApiServer::refusal(429, "TooManyRequests");
    treatment.refuse->retry_after = io::milliseconds{1500};
    return treatment;
  };
  const auto refused = send(request("/api/v1/nodes/a"));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(io::header(refused->headers, "Retry-After"), "2");
}

TEST_F(HttpFaceTest, AnAnswerThatIsLostBreaksTheConnection) {
  cluster_.network.treat = [](const Sending&) { return Treatment{.cut = true}; };
  EXPECT_FALSE(send(request("/api/v1/nodes/a", "PATCH", R"({"metadata":{"labels":{"x":"2"}}})")));
  EXPECT_THAT(cluster_.api.object("/api/v1/nodes/a").dump(), HasSubstr(R"("x":"2")"));
}

TEST_F(HttpFaceTest, AWatchStreamsUntilTheServerEndsIt) {
  std::string seen;
  bool ended = false;
  io::Scope scope(loop_);
  const auto follow = [&]() -> io::Task<void> {
    auto opened = co_await client_->open(request("/api/v1/nodes?watch=1"));
    if (!opened) co_return;
    for (;;) {
      const auto more = co_await (*opened)->read(seen);
      if (!more || !*more) break;
    }
    ended = true;
  };
  scope.spawn(follow());
  loop_.run_until([&] { return seen.find(R"("ADDED")") != std::string::npos; });
  put("a", "2");
  loop_.run_until([&] { return seen.find(R"("MODIFIED")") != std::string::npos; });
  EXPECT_EQ(cluster_.network.open_streams(), 1u);
  cluster_.network.end_streams();
  loop_.run_until([&] { return ended; });
}

// On a cluster whose clock runs faster, a watch does not end earlier for it.
TEST_F(HttpFaceTest, AWatchLastsByTheClientsClock) {
  server_ = *serve_model(loop_, cluster_.network, "127.0.0.1:0", 60);
  std::vector<std::string> paths;
  cluster_.network.treat = [&](const Sending& sending) {
    paths.push_back(sending.request.path);
    Treatment treatment;
    treatment.refuse = ApiServer::refusal(429, "TooManyRequests");
    return treatment;
  };
  EXPECT_EQ(send(request("/api/v1/nodes?watch=1&timeoutSeconds=10"))->status, 429);
  EXPECT_EQ(send(request("/api/v1/nodes?watch=1"))->status, 429);
  EXPECT_EQ(send(request("/api/v1/nodes"))->status, 429);
  EXPECT_THAT(paths, testing::ElementsAre("/api/v1/nodes?timeoutSeconds=600&watch=1&timeoutSeconds=10",
                                          "/api/v1/nodes?timeoutSeconds=108000&watch=1", "/api/v1/nodes"));
}

TEST_F(HttpFaceTest, OnlyCollectionsAreWatched) {
  const auto one = send(request("/api/v1/nodes/a?watch=1"));
  ASSERT_TRUE(one);
  EXPECT_THAT(one->body, HasSubstr(R"("kind":"Node")"));
  EXPECT_EQ(cluster_.network.open_streams(), 0u);
}

}  // namespace
}  // namespace careen::sim
