#include "web/view_guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "io/metrics.h"
#include "io/sync.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/json.h"
#include "sim/test_api.h"

namespace careen::web {
namespace {

using testing::HasSubstr;

io::ServerRequest request(bool local, io::Headers headers = {{"Host", "localhost:8080"}}) {
  io::ServerRequest made{"GET", "/careen/v1/fleet", "", std::move(headers), {}};
  made.local = local;
  return made;
}

TEST(ViewPolicyTest, Names) {
  EXPECT_EQ(parse_view_policy("loopback"), ViewPolicy::loopback);
  EXPECT_EQ(parse_view_policy("token"), ViewPolicy::token);
  EXPECT_EQ(parse_view_policy("none"), ViewPolicy::open);
  EXPECT_FALSE(parse_view_policy("open"));
  EXPECT_FALSE(parse_view_policy(""));
}

TEST(IsLocalTest, OnlyFromALoopbackAddressAndToOne) {
  for (const char* host : {"localhost", "localhost:8080", "127.0.0.1:8080", "127.8.9.10", "[::1]", "[::1]:8080"}) {
    EXPECT_TRUE(is_local(request(true, {{"Host", host}}))) << host;
    EXPECT_FALSE(is_local(request(false, {{"Host", host}}))) << host;
  }
  // A name that somebody made lead here: their page must not read what we answer. Another machine's address: a client
  // that asks for it does not mean this machine, but a side-car brought it here.
  for (const char* host : {"evil.example:8080",
                           "localhost.evil.example",
                           "127.0.0.1.evil.example",
                           "10.0.0.1",
                           "10.0.0.1:8080",
                           "0.0.0.0",
                           "128.0.0.1",
                           "127.1",
                           "2130706433",
                           "[fd00::7]:8080",
                           "[::]",
                           "[::1].evil.example",
                           "[::1]x80",
                           "[::1",
                           "::1",
                           "[127.0.0.1]",
                           "127.0.0.1:",
                           "127.0.0.1:x",
                           "127.0.0.1:80:80",
                           "localhost:@evil",
                           "127.0.0.1@evil",
                           "",
                           ":8080"}) {
    EXPECT_FALSE(is_local(request(true, {{"Host", host}}))) << host;
  }
}

TEST(IsLocalTest, AProxyOnThisMachineSpeaksForOthers) {
  for (const char* header : {"X-Forwarded-For", "x-forwarded-proto", "Forwarded", "X-Real-IP", "Via",
                             "X-Envoy-Decorator-Operation", "l5d-client-id"}) {
    EXPECT_FALSE(is_local(request(true, {{"Host", "localhost"}, {header, "1.2.3.4"}}))) << header;
  }
}

class ViewGuardTest : public testing::Test {
 protected:
  ViewGuardTest() {
    api.treat = [this](const kube::Request& asked) {
      sim::Treatment treatment;
      const bool good = asked.body.find("\"good\"") != std::string::npos;
      if (asked.path.find("tokenreviews") != std::string::npos) {
        const char* known = R"({"status":{"authenticated":true,"user":{"username":"ana"}}})";
        treatment.refuse = kube::Response{201, good ? known : R"({"status":{}})", std::nullopt};
      } else {
        paths.push_back(
            std::string(kube::Json::parse(asked.body)->at("/spec/nonResourceAttributes/path").text().value_or("")));
        treatment.refuse =
            kube::Response{201, allowed ? R"({"status":{"allowed":true}})" : R"({"status":{}})", std::nullopt};
      }
      return treatment;
    };
  }
  static io::Task<void> ask(ViewGuard guard, io::ServerRequest of, std::optional<int>& status, std::string& body) {
    const auto refused = co_await guard.refusal(of);
    status = refused ? refused->status : 200;
    body = refused ? refused->body : "";
  }
  int status(ViewPolicy policy, io::ServerRequest of, bool with_auth = true) {
    std::optional<int> out;
    io::Scope scope(*loop);
    scope.spawn(ask(ViewGuard(policy, with_auth ? &auth : nullptr), std::move(of), out, body));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    return out.value_or(0);
  }
  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  TokenAuth auth{client, {.audience = "careen.dev/view"}};
  bool allowed = true;
  std::vector<std::string> paths;
  std::string body;
};

TEST_F(ViewGuardTest, LoopbackNeedsNoTokenAndOthersDo) {
  EXPECT_EQ(status(ViewPolicy::loopback, request(true)), 200);
  EXPECT_TRUE(paths.empty());
  EXPECT_EQ(status(ViewPolicy::loopback, request(false)), 401);
  EXPECT_TRUE(kube::Json::parse(body)) << body;
  EXPECT_THAT(body, HasSubstr("\"error\""));
  EXPECT_EQ(status(ViewPolicy::loopback, request(false, {{"Authorization", "Bearer bad"}})), 401);
  EXPECT_EQ(status(ViewPolicy::loopback, request(false, {{"Authorization", "Bearer good"}})), 200);
  EXPECT_THAT(paths, testing::ElementsAre("/careen/v1/fleet"));
}

// The API server has to say that it has looked at the audience.
TEST_F(ViewGuardTest, ATokenForThisAudienceIsGoodToo) {
  std::string audiences = R"(["careen.dev/view"])";
  api.treat = [&](const kube::Request& asked) {
    const bool tokens = asked.path.find("tokenreviews") != std::string::npos;
    const bool known = asked.body.find(R"("audiences":["careen.dev/view"])") != std::string::npos;
    sim::Treatment treatment;
    treatment.refuse = kube::Response{201, R"({"status":{"allowed":true}})", std::nullopt};
    if (tokens && !known) treatment.refuse->body = R"({"status":{}})";
    if (tokens && known) {
      treatment.refuse->body =
          R"({"status":{"authenticated":true,"user":{"username":"careen"},"audiences":)" + audiences + "}}";
    }
    return treatment;
  };
  EXPECT_EQ(status(ViewPolicy::token, request(false, {{"Authorization", "Bearer bound"}})), 200);
  audiences = R"(["https://kubernetes.default.svc"])";
  EXPECT_EQ(status(ViewPolicy::token, request(false, {{"Authorization", "Bearer other"}})), 401);
}

TEST_F(ViewGuardTest, TokenMeansEverybody) {
  EXPECT_EQ(status(ViewPolicy::token, request(true)), 401);
  EXPECT_EQ(status(ViewPolicy::token, request(true, {{"Authorization", "Bearer good"}})), 200);
}

TEST_F(ViewGuardTest, WhoIsKnownMayStillNotLook) {
  allowed = false;
  EXPECT_EQ(status(ViewPolicy::token, request(false, {{"Authorization", "Bearer good"}})), 403);
  EXPECT_THAT(body, HasSubstr("ana"));
}

TEST_F(ViewGuardTest, OpenAsksNobody) {
  EXPECT_EQ(status(ViewPolicy::open, request(false)), 200);
  EXPECT_TRUE(paths.empty());
}

TEST_F(ViewGuardTest, WithoutReviewsNoTokenIsAnyGood) {
  EXPECT_EQ(status(ViewPolicy::loopback, request(true), false), 200);
  EXPECT_EQ(status(ViewPolicy::loopback, request(false, {{"Authorization", "Bearer good"}}), false), 403);
}

}  // namespace
}  // namespace careen::web
