#include "sim/network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "sim/test_api.h"

namespace careen::sim {
namespace {

using io::seconds;
using kube::Client;
using kube::Json;
using kube::PatchType;
using kube::Request;
using kube::Result;
using kube::Transport;
namespace resources = kube::resources;
using testing::HasSubstr;

class NetworkTest : public testing::Test {
 protected:
  template <class T>
  static io::Task<void> into(io::Task<T> task, std::optional<T>& out) {
    out.emplace(co_await std::move(task));
  }
  template <class T>
  T run(io::Task<T> task) {
    std::optional<T> out;
    io::Scope scope(*loop);
    scope.spawn(into(std::move(task), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{10}));
    return std::move(*out);
  }
  Result<std::string> patch(std::string body) {
    return run(client.patch(resources::nodes, "", "a", PatchType::merge, std::move(body)));
  }
  std::string version() {
    return std::string(api.object("/api/v1/nodes/a")["metadata"]["resourceVersion"].text().value());
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  TestApi api{*loop};
  std::unique_ptr<Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{1};
  Client client{*loop, *transport, metrics, random};
};

TEST_F(NetworkTest, WatchesTellEveryChangeAfterAVersion) {
  api.put("/api/v1/nodes/a", Json::object());
  const std::string from = version();
  api.put("/api/v1/nodes/b", Json::object());
  api.put("/apis/coordination.k8s.io/v1/namespaces/x/leases/l", Json::object());
  auto stream = run(client.watch(resources::nodes, "", "resourceVersion=" + from));
  ASSERT_TRUE(stream);
  api.delay_watches(seconds{5});
  api.erase("/api/v1/nodes/a");
  std::string text;
  EXPECT_EQ(run((*stream)->read(text)), true);
  EXPECT_THAT(text, HasSubstr("ADDED"));
  EXPECT_THAT(text, testing::Not(HasSubstr("DELETED")));
  EXPECT_EQ(run((*stream)->read(text)), true);
  EXPECT_THAT(text, HasSubstr("DELETED"));
  EXPECT_EQ(time.now().time_since_epoch(), seconds{5});
  api.break_watches();
  EXPECT_EQ(run((*stream)->read(text)), false);
}

TEST_F(NetworkTest, StreamsFreezeAndBreak) {
  auto stream = run(client.watch(resources::nodes, "", "resourceVersion=" + std::to_string(api.server.version())));
  ASSERT_TRUE(stream);
  EXPECT_EQ(api.network.open_streams(), 1u);
  api.freeze_watches(true);
  api.put("/api/v1/nodes/a", Json::object());
  std::optional<io::Result<bool>> more;
  std::string text;
  io::Scope scope(*loop);
  scope.spawn(into((*stream)->read(text), more));
  time.run_for(seconds{10});
  EXPECT_FALSE(more);
  api.freeze_watches(false);
  time.run_for(seconds{1});
  ASSERT_TRUE(more);
  EXPECT_THAT(text, HasSubstr("ADDED"));
  api.network.end_streams("/api/v1/pods", true);
  EXPECT_EQ(api.network.open_streams(), 1u);
  api.network.end_streams("/api/v1/nodes", true);
  EXPECT_EQ(run((*stream)->read(text)).error().kind, io::ErrorKind::closed);
}

// A replica of the server that lags answers what may be stale, and nothing else.
TEST_F(NetworkTest, StaleAnswersAreForThoseWhoAllowThem) {
  api.put("/api/v1/nodes/a", Json::object());
  time.run_for(seconds{10});
  api.put("/api/v1/nodes/b", Json::object());
  api.treat = [](const Request&) { return Treatment{.stale = seconds{5}}; };
  const auto listed = [&](std::string query) {
    kube::CallOptions options;
    options.query = std::move(query);
    return (*Json::parse(*run(client.list(resources::nodes, "", options))))["items"].size();
  };
  EXPECT_EQ(listed("resourceVersion=0"), 1u);
  EXPECT_EQ(listed(""), 2u);
}

TEST_F(NetworkTest, WhatWasSentArrivesThoughTheClientHasGone) {
  api.put("/api/v1/nodes/a", Json::object());
  api.treat = [](const Request&) { return Treatment{.before = seconds{3}}; };
  {
    io::Scope scope(*loop);
    std::optional<Result<std::string>> out;
    scope.spawn(
        into(client.patch(resources::nodes, "", "a", PatchType::merge, R"({"metadata":{"labels":{"x":"1"}}})"), out));
    time.run_for(seconds{1});
  }
  EXPECT_FALSE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  time.run_for(seconds{3});
  EXPECT_EQ(api.object("/api/v1/nodes/a")["metadata"]["labels"]["x"].text(), "1");
}

TEST_F(NetworkTest, TreatsRequestsAsTold) {
  api.put("/api/v1/nodes/a", Json::object());
  const std::string body = R"({"metadata":{"labels":{"x":"1"}}})";
  api.treat = [](const Request&) { return Treatment{.lost = true}; };
  EXPECT_TRUE(patch(body).error().ambiguous());
  EXPECT_EQ(api.count("PATCH nodes"), 0);
  api.treat = [](const Request&) { return Treatment{.refuse = ApiServer::refusal(403, "Forbidden")}; };
  EXPECT_TRUE(patch(body).error().forbidden());
  EXPECT_FALSE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.treat = [](const Request&) { return Treatment{.held = true}; };
  EXPECT_TRUE(patch(body).error().ambiguous());
  EXPECT_EQ(api.held(), 1u);
  EXPECT_FALSE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.release_held();
  EXPECT_TRUE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.treat = [](const Request&) { return Treatment{.cut = true}; };
  EXPECT_TRUE(patch(R"({"metadata":{"labels":{"x":"cut"}}})").error().ambiguous());
  EXPECT_EQ(api.object("/api/v1/nodes/a")["metadata"]["labels"]["x"].text(), "cut");
  api.treat = [](const Request&) { return Treatment{.mask = ApiServer::refusal(500, "InternalError")}; };
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"x":"2"}}})").error().code, 500);
  EXPECT_EQ(api.object("/api/v1/nodes/a")["metadata"]["labels"]["x"].text(), "2");
}

}  // namespace
}  // namespace careen::sim
