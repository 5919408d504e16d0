#include "web/token_auth.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "io/metrics.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "sim/test_api.h"
#include "web/test_routes.h"

namespace careen::web {
namespace {

using kube::Json;
using testing::HasSubstr;

class TokenAuthTest : public testing::Test {
 protected:
  // The API server knows "good" and lets it read /metrics.
  TokenAuthTest() {
    api.treat = [this](const kube::Request& request) {
      sim::Treatment treatment;
      const Json review = *Json::parse(request.body);
      if (request.path.starts_with("/apis/authentication.k8s.io/v1/tokenreviews?")) {
        ++token_reviews;
        const bool known = review.at("/spec/token").text().value_or("").starts_with("good");
        treatment.refuse = kube::Response{
            201,
            known ? R"({"status":{"authenticated":true,"user":{"username":"prometheus","uid":"7","groups":["g"],
                        "extra":{"k":["v"]}}}})"
                  : R"({"status":{"authenticated":false,"error":"invalid bearer token"}})",
            std::nullopt};
      } else {
        ++access_reviews;
        last_access = review;
        const bool allowed = review.at("/spec/nonResourceAttributes/path").text() == "/metrics";
        treatment.refuse = kube::Response{201, fmt::format(R"({{"status":{{"allowed":{}}}}})", allowed), std::nullopt};
      }
      if (broken) treatment.refuse = sim::ApiServer::refusal(403, "Forbidden");
      treatment.after = takes;
      return treatment;
    };
  }

  static io::Task<void> keep(io::Task<io::ServerResponse> task, std::optional<io::ServerResponse>& out) {
    out = co_await std::move(task);
  }
  static io::Task<io::ServerResponse> secret_page() {
    io::ServerResponse response;
    response.body = "the metrics";
    co_return response;
  }
  io::ServerResponse get(const std::string& authorization, const std::string& path = "/metrics",
                         const std::string& method = "GET") {
    io::ServerRequest request{method, path, "", {}, {}};
    if (!authorization.empty()) request.headers.emplace_back("Authorization", authorization);
    std::optional<io::ServerResponse> out;
    io::Scope scope(*loop);
    scope.spawn(keep(routes.answer(std::move(request)), out));
    EXPECT_TRUE(time.run_until([&] { return out.has_value(); }, io::minutes{1}));
    return std::move(*out);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Random random{1};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  TokenAuth auth{client, {.most_remembered = 3, .most_asked_at_once = 2}};
  Routes routes{{},
                one_route({.path = everything_else(),
                           .methods = Methods::any(),
                           .access = auth.access(),
                           .answer = [](io::ServerRequest) { return secret_page(); }})};
  bool broken = false;
  io::Duration takes{};
  int token_reviews = 0;
  int access_reviews = 0;
  Json last_access;
};

TEST_F(TokenAuthTest, AKnownUserWithTheRightPasses) {
  EXPECT_EQ(get("Bearer good").body, "the metrics");
  EXPECT_EQ(last_access["spec"], Json::parse(R"({"user":"prometheus","uid":"7","groups":["g"],"extra":{"k":["v"]},
      "nonResourceAttributes":{"path":"/metrics","verb":"get"}})")
                                     ->view());
  EXPECT_EQ(get("bearer  good").status, 200);
}

TEST_F(TokenAuthTest, NobodyIsUnauthorized) {
  for (const char* header : {"", "Bearer", "Bearer ", "Basic good", "good", "Bearer bad"}) {
    const auto answer = get(header);
    EXPECT_EQ(answer.status, 401) << header;
    EXPECT_EQ(answer.body, "Unauthorized\n");
  }
  EXPECT_EQ(access_reviews, 0);
  EXPECT_EQ(token_reviews, 1);
}

TEST_F(TokenAuthTest, AUserWithoutTheRightIsForbidden) {
  const auto answer = get("Bearer good", "/api/v1/info");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.body, "Authorization denied for user prometheus\n");
}

TEST_F(TokenAuthTest, AnswersAreRememberedForAWhile) {
  for (int i = 0; i < 3; ++i) get("Bearer good");
  EXPECT_EQ(token_reviews, 1);
  EXPECT_EQ(access_reviews, 1);
  time.run_for(io::seconds{61});
  get("Bearer good");
  EXPECT_EQ(token_reviews, 2);
  EXPECT_EQ(access_reviews, 1) << "a permission lasts five minutes";
  time.run_for(io::minutes{4});
  get("Bearer good");
  EXPECT_EQ(access_reviews, 2);

  get("Bearer good", "/other");
  get("Bearer good", "/other");
  EXPECT_EQ(access_reviews, 3);
  time.run_for(io::seconds{31});
  get("Bearer good", "/other");
  EXPECT_EQ(access_reviews, 4) << "a refusal lasts half a minute";
}

TEST_F(TokenAuthTest, VerbAndPathAreDecidedEach) {
  get("Bearer good", "/metrics", "GET");
  get("Bearer good", "/metrics", "HEAD");
  EXPECT_EQ(access_reviews, 2);
  EXPECT_EQ(last_access.at("/spec/nonResourceAttributes/verb").text(), "head");
}

TEST_F(TokenAuthTest, WhatCannotBeAskedIsAnErrorAndNotRemembered) {
  broken = true;
  EXPECT_EQ(get("Bearer good").status, 500);
  EXPECT_EQ(get("Bearer good").body, "Authentication failed\n");
  broken = false;
  EXPECT_EQ(get("Bearer good").status, 200);
  broken = true;
  EXPECT_EQ(get("Bearer good", "/other").status, 500);
  EXPECT_EQ(get("Bearer good", "/other").body, "Authorization for user prometheus failed\n");
}

TEST_F(TokenAuthTest, ManyAtOnceAskOnce) {
  takes = io::seconds{1};
  std::vector<std::optional<io::ServerResponse>> out(5);
  io::Scope scope(*loop);
  for (auto& one : out)
    scope.spawn(keep(routes.answer({"GET", "/metrics", "", {{"Authorization", "Bearer good"}}, {}}), one));
  time.run_for(io::seconds{30});
  for (const auto& one : out) EXPECT_EQ(one->status, 200);
  EXPECT_LE(token_reviews, 2) << "no more than are asked at once";
}

// Each token that nobody knows costs a question.
TEST_F(TokenAuthTest, WhoShowsManyTokensKeepsNobodyElseOut) {
  EXPECT_EQ(get("Bearer good").status, 200);
  takes = io::seconds{1};
  std::vector<std::optional<io::ServerResponse>> out(100);
  io::Scope scope(*loop);
  for (size_t i = 0; i < out.size(); ++i) {
    io::ServerRequest guess{"GET", "/metrics", "", {{"Authorization", "Bearer guess" + std::to_string(i)}}, {}};
    guess.peer = "10.0.0.66";
    scope.spawn(keep(routes.answer(std::move(guess)), out[i]));
  }
  time.run_for(io::milliseconds{100});
  EXPECT_EQ(std::count_if(out.begin(), out.end(), [](const auto& one) { return one && one->status == 429; }), 84);
  // A client that is known already, and one that comes from elsewhere.
  io::ServerRequest same{"GET", "/metrics", "", {{"Authorization", "Bearer good"}}, {}};
  same.peer = "10.0.0.66";
  std::optional<io::ServerResponse> known;
  scope.spawn(keep(routes.answer(std::move(same)), known));
  time.run_for(io::milliseconds{100});
  ASSERT_TRUE(known);
  EXPECT_EQ(known->status, 200);
  EXPECT_EQ(get("Bearer bad").status, 401);
  // The strangers have displaced nobody.
  const int before = token_reviews;
  EXPECT_EQ(get("Bearer good").status, 200);
  EXPECT_EQ(token_reviews, before);
}

TEST(ExpiringMapTest, HoldsNoMoreThanItMay) {
  ExpiringMap<int> map(3);
  const io::Steady now{};
  map.put("a", 1, now, io::seconds{10});
  map.put("b", 2, now, io::seconds{5});
  map.put("c", 3, now, io::seconds{20});
  map.put("d", 4, now, io::seconds{1});
  EXPECT_EQ(map.size(), 3u);
  EXPECT_EQ(map.find("b", now), nullptr) << "it would have ended first";
  EXPECT_EQ(*map.find("a", now), 1);
  map.put("d", 5, now, io::seconds{2});
  EXPECT_EQ(*map.find("d", now), 5);
  EXPECT_EQ(map.find("d", now + io::seconds{2}), nullptr);
  map.put("e", 6, now + io::seconds{10}, io::seconds{1});
  EXPECT_EQ(map.size(), 2u) << "what has ended is gone";
}

}  // namespace
}  // namespace careen::web
