#include "kube/fake_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "kube/client.h"

namespace careen::kube {
namespace {

using io::seconds;
using testing::HasSubstr;

class FakeApiTest : public testing::Test {
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
  FakeApi api{*loop};
  std::unique_ptr<Transport> transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{1};
  Client client{*loop, *transport, metrics, random};
};

TEST_F(FakeApiTest, CreatesReadsListsAndDeletes) {
  const auto created = run(client.create(resources::nodes, "", R"({"metadata":{"name":"a"}})"));
  ASSERT_TRUE(created);
  EXPECT_THAT(*created, HasSubstr("\"uid\":\"uid-1\""));
  EXPECT_TRUE(run(client.create(resources::nodes, "", R"({"metadata":{"name":"a"}})")).error().already_exists());
  EXPECT_EQ(run(client.get(resources::nodes, "", "a")), *created);
  EXPECT_TRUE(run(client.get(resources::nodes, "", "b")).error().not_found());
  EXPECT_EQ((*Json::parse(*run(client.list(resources::nodes, ""))))["items"].size(), 1u);
  DeleteOptions another;
  another.preconditions.uid = "other";
  EXPECT_TRUE(run(client.remove(resources::nodes, "", "a", another)).error().conflict());
  EXPECT_TRUE(run(client.remove(resources::nodes, "", "a")));
  EXPECT_TRUE(run(client.remove(resources::nodes, "", "a")).error().not_found());
}

TEST_F(FakeApiTest, MergesAsRfc7386Says) {
  api.put("/api/v1/nodes/a", *Json::parse(R"({"metadata":{"labels":{"x":"1","y":"2"}},"list":[1,2]})"));
  ASSERT_TRUE(patch(R"({"metadata":{"labels":{"x":null,"z":"3"}},"list":[3]})"));
  EXPECT_EQ(api.object("/api/v1/nodes/a")["metadata"]["labels"].dump(), R"({"y":"2","z":"3"})");
  EXPECT_EQ(api.object("/api/v1/nodes/a")["list"].dump(), "[3]");
}

TEST_F(FakeApiTest, AVersionThatIsNotTheCurrentOneConflicts) {
  api.put("/api/v1/nodes/a", Json::object());
  const std::string old = version();
  ASSERT_TRUE(patch(R"({"metadata":{"labels":{"x":"1"},"resourceVersion":")" + old + "\"}}"));
  const auto late = patch(R"({"metadata":{"labels":{"x":"2"},"resourceVersion":")" + old + "\"}}");
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().conflict());
  EXPECT_EQ(late.error().reason, "Conflict");
  const auto update =
      run(client.update(resources::nodes, "", "a", R"({"metadata":{"resourceVersion":")" + old + "\"}}"));
  EXPECT_TRUE(update.error().conflict());
}

TEST_F(FakeApiTest, APatchThatChangesNothingMakesNoNewVersion) {
  api.put("/api/v1/nodes/a", *Json::parse(R"({"metadata":{"labels":{"x":"1"}}})"));
  const std::string old = version();
  ASSERT_TRUE(patch(R"({"metadata":{"labels":{"x":"1","none":null}}})"));
  EXPECT_EQ(version(), old);
  EXPECT_EQ(api.count("PATCH nodes"), 1);
  EXPECT_EQ(api.count("PATCH nodes changed"), 0);
}

TEST_F(FakeApiTest, WatchesTellEveryChangeAfterAVersion) {
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

TEST_F(FakeApiTest, WhatWasSentArrivesThoughTheClientHasGone) {
  api.put("/api/v1/nodes/a", Json::object());
  api.treat = [](const Request&) { return FakeApi::Treatment{.before = seconds{3}}; };
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

TEST_F(FakeApiTest, TreatsRequestsAsTold) {
  api.put("/api/v1/nodes/a", Json::object());
  const std::string body = R"({"metadata":{"labels":{"x":"1"}}})";
  api.treat = [](const Request&) { return FakeApi::Treatment{.lost = true}; };
  EXPECT_TRUE(patch(body).error().ambiguous());
  EXPECT_EQ(api.count("PATCH nodes"), 0);
  api.treat = [](const Request&) { return FakeApi::Treatment{.refuse = FakeApi::refusal(403, "Forbidden")}; };
  EXPECT_TRUE(patch(body).error().forbidden());
  EXPECT_FALSE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.treat = [](const Request&) { return FakeApi::Treatment{.held = true}; };
  EXPECT_TRUE(patch(body).error().ambiguous());
  EXPECT_EQ(api.held(), 1u);
  EXPECT_FALSE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.release_held();
  EXPECT_TRUE(api.object("/api/v1/nodes/a")["metadata"]["labels"]);
  api.treat = [](const Request&) { return FakeApi::Treatment{.mask = FakeApi::refusal(500, "InternalError")}; };
  EXPECT_EQ(patch(R"({"metadata":{"labels":{"x":"2"}}})").error().code, 500);
  EXPECT_EQ(api.object("/api/v1/nodes/a")["metadata"]["labels"]["x"].text(), "2");
}

}  // namespace
}  // namespace careen::kube
