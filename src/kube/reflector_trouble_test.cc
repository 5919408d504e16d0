// A server that refuses, fails, restarts or does not know the kind: one problem that heals by itself.
#include "kube/reflector_fixture.h"

namespace careen::kube {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Le;

TEST_F(ReflectorTest, ForbiddenIsOneProblemAndHealsByItself) {
  bool allowed = false;
  transport.on_send([&](Request) -> io::Task<io::Result<Response>> {
    if (!allowed) co_return Response{403, status_text(403, "Forbidden", "nodes is forbidden: User x cannot list"), {}};
    co_return Response{200, page(100, {node("a", 10)}), {}};
  });
  start();
  time.run_for(io::seconds{2});
  ASSERT_EQ(problems.open().count("watch nodes"), 1u);
  EXPECT_THAT(problems.open().begin()->second, HasSubstr("forbidden: needs list and watch on nodes"));
  EXPECT_THAT(problems.open().begin()->second, HasSubstr("User x cannot list"));
  time.run_for(io::minutes{10});
  EXPECT_LE(lists().size(), 48u);
  EXPECT_GE(lists().size(), 20u);
  EXPECT_EQ(lines->errors.size(), 1u);
  EXPECT_FALSE(reflector->synced());
  allowed = true;
  time.run_for(io::seconds{35});
  EXPECT_TRUE(reflector->synced());
  EXPECT_THAT(problems.open(), IsEmpty());
}

// A server that starts answers 403 until it has read its rules.
TEST_F(ReflectorTest, ForbiddenForAMomentCostsAMoment) {
  start_watching();
  push(bookmark(101));
  transport.refuse_open(io::fail(io::ErrorKind::connect, "refused"));
  transport.refuse_open(Response{403, status_text(403, "Forbidden", "not yet"), std::nullopt});
  stream().fail({io::ErrorKind::closed, "reset"});
  time.run_for(io::seconds{2});
  EXPECT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(lines->errors, IsEmpty());
}

TEST_F(ReflectorTest, ForbiddenToWatchKeepsTheListAndHeals) {
  start_watching();
  push(bookmark(101));
  bool allowed = false;
  transport.on_open([&](Request) -> io::Task<io::Result<Response>> {
    co_return Response{allowed ? 200 : 403, allowed ? "" : status_text(403, "Forbidden", "no watch"), {}};
  });
  stream().close();
  time.run_for(io::minutes{2});
  EXPECT_EQ(problems.open().size(), 1u);
  EXPECT_EQ(lines->errors.size(), 1u);
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_TRUE(reflector->synced());
  EXPECT_GE(reflector->silent_for(), io::minutes{2});
  allowed = true;
  time.run_for(io::seconds{35});
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_EQ(lists().size(), 1u);
  push(watch_event("ADDED", node("c", 110)));
  EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
}

TEST_F(ReflectorTest, WhereWatchesAreRefusedListsHaveToDo) {
  start_watching();
  bool allowed = false;
  transport.on_open([&](Request) -> io::Task<io::Result<Response>> {
    co_return Response{allowed ? 200 : 503, allowed ? "" : status_text(503, "ServiceUnavailable", "no watch"), {}};
  });
  transport.on_send([](Request) -> io::Task<io::Result<Response>> {
    co_return Response{200, page(200, {node("a", 10), node("b", 20), node("c", 150)}), {}};
  });
  stream().close();
  time.run_for(io::minutes{3});
  EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
  EXPECT_LE(reflector->blind_for(), io::minutes{3});
  time.run_for(io::minutes{27});
  EXPECT_THAT(lists().size(), AllOf(Ge(8u), Le(16u)));
  EXPECT_EQ(lines->errors.size(), 1u);
  EXPECT_EQ(problems.open().size(), 1u);
  allowed = true;
  time.run_for(io::minutes{1});
  push(watch_event("ADDED", node("d", 210)));
  EXPECT_EQ(reflector->blind_for(), io::Duration{0});
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, AMissingDefinitionIsOneProblem) {
  make({.resource = {"example.com", "v1", "things", "Thing", true}});
  bool defined = false;
  transport.on_send([&](Request) -> io::Task<io::Result<Response>> {
    co_return defined ? Response{200, page(100, {}), {}} : Response{404, "404 page not found", {}};
  });
  start();
  time.run_for(io::seconds{2});
  ASSERT_EQ(problems.open().count("watch things"), 1u);
  EXPECT_THAT(problems.open().begin()->second, HasSubstr("CustomResourceDefinition"));
  EXPECT_THAT(problems.open().begin()->second, HasSubstr("things.example.com"));
  defined = true;
  time.run_for(io::seconds{35});
  EXPECT_TRUE(reflector->synced());
  EXPECT_THAT(problems.open(), IsEmpty());
}

// Only that nobody serves it is no problem.
TEST_F(ReflectorTest, AKindThatNotEveryClusterServesMayBeMissing) {
  make({.resource = {"example.com", "v1", "things", "Thing", true}, .optional = true});
  Response answer{403, status_text(403, "Forbidden", "no"), {}};
  transport.on_send([&](Request) -> io::Task<io::Result<Response>> { co_return answer; });
  start();
  time.run_for(io::seconds{10});
  EXPECT_EQ(problems.open().count("watch things"), 1u);
  answer = {404, "404 page not found", {}};
  time.run_for(io::minutes{2});
  EXPECT_THAT(problems.open(), IsEmpty());
  EXPECT_FALSE(reflector->synced());
  answer = {200, page(100, {}), {}};
  time.run_for(io::seconds{35});
  EXPECT_TRUE(reflector->synced());
}

TEST_F(ReflectorTest, AServerThatRestartsIsOneProblemAndAResumedWatch) {
  start_watching();
  push(watch_event("MODIFIED", node("a", 105, "blue")));
  bool up = false;
  int tries = 0;
  transport.on_open([&](Request) -> io::Task<io::Result<Response>> {
    if (up) co_return Response{200, {}, {}};
    // Such messages differ from try to try.
    co_return io::fail(io::ErrorKind::connect, fmt::format("connection refused after {} ms", ++tries));
  });
  stream().fail({io::ErrorKind::closed, "reset"});
  time.run_for(io::minutes{2});
  EXPECT_EQ(lines->errors.size(), 1u);
  EXPECT_THAT(problems.open().at("watch nodes"), HasSubstr("does not answer"));
  EXPECT_GE(tries, 12);
  EXPECT_LE(tries, 30);
  up = true;
  time.run_for(io::seconds{11});
  ASSERT_EQ(transport.streams.size(), 2u);
  EXPECT_THAT(stream().request.path, HasSubstr("resourceVersion=105"));
  EXPECT_EQ(lists().size(), 1u);
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, WhatKeepsUsFromTheServerIsNamed) {
  for (int i = 0; i < 3; ++i) transport.fail(io::ErrorKind::tls, "self-signed");
  for (int i = 0; i < 3; ++i) transport.answer(401, status_text(401, "Unauthorized", "token has expired"));
  for (int i = 0; i < 3; ++i) transport.fail(io::ErrorKind::file, "/token: no such file");
  transport.answer(200, page(100, {}));
  start();
  time.run_for(io::minutes{2});
  EXPECT_THAT(lines->errors,
              ElementsAre(AllOf(HasSubstr("certificate"), HasSubstr("self-signed")),
                          AllOf(HasSubstr("does not accept our credentials"), HasSubstr("token has expired")),
                          AllOf(HasSubstr("cannot be made"), HasSubstr("/token: no such file"))));
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, ComesBackWhenTheServerAsksForIt) {
  transport.answer(Response{429, status_text(429, "TooManyRequests", "busy"), io::seconds{20}});
  transport.answer(200, page(100, {node("a", 10)}));
  start();
  time.run_for(io::seconds{19});
  EXPECT_EQ(lists().size(), 1u);
  time.run_for(io::seconds{2});
  EXPECT_TRUE(reflector->synced());
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ReflectorTest, BacksOffFromAFailingServer) {
  transport.on_send([](Request) -> io::Task<io::Result<Response>> { co_return Response{500, "broken", {}}; });
  start();
  time.run_for(io::minutes{10});
  EXPECT_LE(lists().size(), 50u);
  EXPECT_GE(lists().size(), 20u);
  EXPECT_EQ(lines->errors.size(), 1u);
}

// A page in the middle of a long list fails for a moment: the list goes on.
TEST_F(ReflectorTest, APageIsTriedAgainInPlace) {
  transport.answer(200, page(100, {node("a", 10)}, "token"));
  transport.answer(503, "busy");
  transport.answer(200, page(100, {node("b", 10)}));
  start();
  time.run_for(io::seconds{5});
  EXPECT_THAT(names(), ElementsAre("a", "b"));
  EXPECT_EQ(lists().size(), 3u);
}

}  // namespace
}  // namespace careen::kube
