#include "web/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <type_traits>

#include "web/json_answer.h"
#include "web/test_routes.h"

namespace careen::web {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Who may ask has to be said.
static_assert(!std::is_default_constructible_v<Access>);
template <class R>
concept AddedWithPolicy =
    requires(io::ServerHandler answer) { R{.path = exactly("/a"), .access = Access::anybody(), .answer = answer}; };
template <class R>
concept AddedWithoutPolicy = requires(io::ServerHandler answer) { R{.path = exactly("/a"), .answer = answer}; };
static_assert(AddedWithPolicy<Route> && !AddedWithoutPolicy<Route>);

class RoutesTest : public testing::Test {
 protected:
  io::ServerHandler says(std::string text) {
    return at_once([this, text = std::move(text)](const io::ServerRequest& request) {
      asked.push_back(text);
      seen = request;
      io::ServerResponse response;
      response.body = text;
      return response;
    });
  }
  Route open(Path path, std::string text) {
    return {.path = std::move(path), .access = Access::anybody(), .answer = says(std::move(text))};
  }
  Access only_with_a_key(Access::WrongMethod wrong_method = Access::WrongMethod::told_to_who_may_ask) {
    return Access(
        "who has a key",
        [this](io::ServerRequest& request) -> io::Task<std::optional<io::ServerResponse>> {
          asked.push_back("policy");
          if (!io::header(request.headers, "Key").empty()) {
            request.headers.emplace_back("User", "ana");
            co_return std::nullopt;
          }
          co_return json_error(401, "no key");
        },
        wrong_method);
  }
  io::ServerResponse ask(const std::string& method, const std::string& path, io::Headers headers = {},
                         std::string body = {}) {
    return answer_of(routes, {method, path, "", std::move(headers), std::move(body)});
  }
  std::string get(const std::string& path) { return ask("GET", path).body; }

  Routes routes;
  std::vector<std::string> asked;  // in this order
  io::ServerRequest seen;
};

TEST_F(RoutesTest, ExactlyBeforeWhatLiesBelow) {
  routes.add(open(below("/a/"), "below"));
  routes.add(open(exactly("/a/b"), "exactly"));
  routes.add(open(exactly("/a/"), "the folder"));
  EXPECT_EQ(get("/a/b"), "exactly");
  EXPECT_EQ(get("/a/"), "the folder");
  EXPECT_EQ(get("/a/b/"), "below");
  EXPECT_EQ(get("/a/bc"), "below");
  EXPECT_EQ(ask("GET", "/a").status, 404);
}

TEST_F(RoutesTest, TheLongestPathDecides) {
  routes.add(open(below("/a/b/"), "longest"));
  routes.add(open(everything_else(), "rest"));
  routes.add(open(below("/a/"), "shorter"));
  EXPECT_EQ(get("/a/b/c"), "longest");
  EXPECT_EQ(get("/a/c"), "shorter");
  EXPECT_EQ(get("/b/a/b/"), "rest");
  EXPECT_EQ(get(""), "rest");
}

TEST_F(RoutesTest, AnUnknownPathIsToldWhatThereIs) {
  for (const char* name : {"/a", "/b", "/c"}) {
    Route route = open(exactly(name), name);
    route.listing = {.name = name};
    routes.add(std::move(route));
  }
  Route again = open(below("/c/"), "again");
  again.listing = {.name = "/c"};
  routes.add(std::move(again));
  routes.add(open(exactly("/unlisted"), "unlisted"));
  const auto missing = ask("POST", "/d");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(missing.body, "not found; this address serves /a, /b and /c\n");
}

TEST_F(RoutesTest, OtherMethodsAreToldWhichAreAnswered) {
  routes.add(open(exactly("/read"), "read"));
  Route writes = open(exactly("/write"), "write");
  writes.methods = Methods({"POST", "PUT", "DELETE"});
  routes.add(std::move(writes));
  const auto read = ask("POST", "/read");
  EXPECT_EQ(read.status, 405);
  EXPECT_EQ(io::header(read.headers, "Allow"), "GET, HEAD");
  EXPECT_EQ(read.body, "only GET and HEAD are answered here\n");
  const auto write = ask("GET", "/write");
  EXPECT_EQ(write.status, 405);
  EXPECT_EQ(io::header(write.headers, "Allow"), "POST, PUT, DELETE");
  EXPECT_EQ(write.body, "only POST, PUT and DELETE are answered here\n");
  EXPECT_THAT(asked, IsEmpty());
  EXPECT_EQ(ask("PUT", "/write").body, "write");
}

TEST_F(RoutesTest, HeadIsAnsweredByWhoAnswersGet) {
  routes.add(open(exactly("/a"), "a"));
  EXPECT_EQ(ask("HEAD", "/a").status, 200);
  EXPECT_EQ(seen.method, "HEAD");
}

TEST_F(RoutesTest, AnyMethodMayBeWanted) {
  Route any = open(exactly("/a"), "a");
  any.methods = Methods::any();
  routes.add(std::move(any));
  for (const char* method : {"GET", "POST", "BREW"}) EXPECT_EQ(ask(method, "/a").status, 200) << method;
}

TEST_F(RoutesTest, ThePolicyIsAskedBeforeTheHandler) {
  routes.add({.path = exactly("/a"), .access = only_with_a_key(), .answer = says("handler")});
  EXPECT_EQ(ask("GET", "/a").status, 401);
  EXPECT_THAT(asked, ElementsAre("policy"));
  asked.clear();
  EXPECT_EQ(ask("GET", "/a", {{"Key", "k"}}).body, "handler");
  EXPECT_THAT(asked, ElementsAre("policy", "handler"));
  EXPECT_EQ(io::header(seen.headers, "User"), "ana") << "the handler sees what the policy has found out";
}

// Who may not ask learns nothing, unless it is no secret.
TEST_F(RoutesTest, WrongMethodsOfStrangers) {
  routes.add({.path = exactly("/hidden"), .access = only_with_a_key(), .answer = says("hidden")});
  routes.add({.path = exactly("/known"),
              .access = only_with_a_key(Access::WrongMethod::told_to_everybody),
              .answer = says("known")});
  EXPECT_EQ(ask("POST", "/hidden").status, 401);
  EXPECT_EQ(ask("POST", "/hidden", {{"Key", "k"}}).status, 405);
  EXPECT_EQ(ask("POST", "/known").status, 405);
  EXPECT_EQ(ask("GET", "/known").status, 401);
}

io::Task<io::ServerResponse> breaks_later() {
  throw std::runtime_error("later");
  co_return io::ServerResponse{};
}

TEST_F(RoutesTest, AHandlerThatThrowsIsAnError) {
  routes.add({.path = exactly("/now"),
              .access = Access::anybody(),
              .answer = [](io::ServerRequest) -> io::Task<io::ServerResponse> { throw std::runtime_error("now"); }});
  routes.add({.path = exactly("/later"), .access = Access::anybody(), .answer = [](const io::ServerRequest&) {
                return breaks_later();
              }});
  routes.add(open(exactly("/good"), "good"));
  for (const char* path : {"/now", "/later"}) {
    const auto broken = ask("GET", path);
    EXPECT_EQ(broken.status, 500) << path;
    EXPECT_THAT(broken.body, HasSubstr("log")) << "what went wrong is nothing for strangers";
  }
  EXPECT_EQ(get("/good"), "good");
}

TEST_F(RoutesTest, APolicyThatThrowsLetsNobodyPass) {
  const Guard breaks = [](io::ServerRequest&) -> io::Task<std::optional<io::ServerResponse>> {
    throw std::runtime_error("no");
  };
  routes.add({.path = exactly("/a"), .access = Access("nobody", breaks), .answer = says("handler")});
  EXPECT_EQ(ask("GET", "/a").status, 500);
  EXPECT_THAT(asked, IsEmpty());
}

TEST_F(RoutesTest, ALongBodyIsRefusedWhereShortOnesAreExpected) {
  Route longer = open(exactly("/long"), "long");
  longer.methods = Methods::any();
  longer.max_body = 1 << 20;
  Route shorter = open(exactly("/short"), "short");
  shorter.methods = Methods::any();
  EXPECT_EQ(routes.max_body(), kShortBody);
  routes.add(std::move(longer));
  routes.add(std::move(shorter));
  EXPECT_EQ(routes.max_body(), size_t{1} << 20);
  const std::string body(kShortBody + 1, 'x');
  EXPECT_EQ(ask("POST", "/long", {}, body).status, 200);
  EXPECT_EQ(ask("POST", "/short", {}, body).status, 413);
  EXPECT_EQ(ask("POST", "/short", {}, body.substr(1)).status, 200);
}

TEST_F(RoutesTest, WhatOnlyTheLeaderKnowsIsPassedOnOnce) {
  bool leading = true;
  routes.add({.path = exactly("/a"),
              .access = only_with_a_key(),
              .answer = says("own"),
              .by_leader = ByLeader{[&] { return leading; }, says("passed on"), "not any more"}});
  const io::Headers key{{"Key", "k"}}, passed_on{{"Key", "k"}, {"X-Careen-Forwarded", "true"}};
  EXPECT_EQ(ask("GET", "/a", key).body, "own");
  EXPECT_EQ(ask("GET", "/a", passed_on).body, "own");
  leading = false;
  EXPECT_EQ(ask("GET", "/a", key).body, "passed on");
  const auto refused = ask("GET", "/a", passed_on);
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.body, R"({"error":"not any more"})");
  EXPECT_EQ(ask("GET", "/a").status, 401) << "nobody gets another replica to answer who may not ask this one";
}

TEST_F(RoutesTest, TwoHandlersForOnePathAreAMistake) {
  routes.add(open(exactly("/a"), "one"));
  routes.add(open(below("/a"), "below"));
  EXPECT_DEATH(routes.add(open(exactly("/a"), "two")), "");
}

}  // namespace
}  // namespace careen::web
