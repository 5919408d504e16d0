#include "kube/election.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "io/random.h"
#include "kube/election_fixture.h"

namespace careen::kube {
namespace {

using io::hours;
using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

INSTANTIATE_TEST_SUITE_P(On, ElectionTest, testing::Values(LockKind::lease, LockKind::config_map),
                         [](const auto& kind) { return kind.param == LockKind::lease ? "Lease" : "ConfigMap"; });

TEST_P(ElectionTest, TheFirstMakesTheLease) {
  Replica& a = add("a_1");
  EXPECT_LT(time_to([&] { return a.election.leading(); }), milliseconds{100});
  EXPECT_EQ(server.text("holderIdentity"), "a_1");
  EXPECT_EQ(server.number("leaseDurationSeconds"), 15);
  EXPECT_EQ(server.number("leaseTransitions"), 0);
  EXPECT_EQ(server.text("acquireTime"), server.text("renewTime"));
  EXPECT_EQ(server.text("renewTime").size(), std::string("2026-03-01T10:00:00.000000Z").size());
  EXPECT_EQ(a.election.holder(), "a_1");
  EXPECT_EQ(a.election.uid(), "uid-1000");
  EXPECT_TRUE(a.election.leading_gate().is_open());
  EXPECT_THAT(a.events, ElementsAre("a_1 became leader"));
  const std::string name = kind == LockKind::lease ? "lock" : "configmaps/lock";
  EXPECT_THAT(a.metrics.expose(), HasSubstr("leader_election_master_status{name=\"" + name + "\"} 1"));
  EXPECT_EQ(a.election.reference().kind, kind == LockKind::lease ? "Lease" : "ConfigMap");
}

TEST_P(ElectionTest, RenewsWithOneWriteEveryFiveSeconds) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  const std::string acquired = server.text("acquireTime");
  const int reads = server.count["GET"];
  run(minutes{10});
  EXPECT_EQ(server.count["PUT"], 120);
  EXPECT_EQ(server.count["GET"], reads);
  EXPECT_EQ(server.text("acquireTime"), acquired);
  EXPECT_GT(server.text("renewTime"), acquired);
  EXPECT_EQ(server.number("leaseTransitions"), 0);
}

// Followers hear of everything through the watch: as long as it lives they ask for nothing.
TEST_P(ElectionTest, FollowersSendNothing) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{1});
  const auto before = server.count;
  run(minutes{10});
  EXPECT_EQ(server.count["GET"], before.at("GET"));
  EXPECT_EQ(server.count["WATCH"], before.at("WATCH"));
  EXPECT_EQ(b.election.holder(), "a_1");
  EXPECT_EQ(b.election.state(), Election::State::standby);
}

TEST_P(ElectionTest, ACrashedLeaderIsReplacedAfterTheLeaseRanOutAndNotBefore) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  Replica& c = add("c_3");
  run(seconds{33});
  const int renewals = server.count["PUT"];
  ASSERT_TRUE(run_until([&] { return server.count["PUT"] > renewals; }, seconds{6}));
  a.crash();
  a.alive = false;
  const auto took = time_to([&] { return b.election.leading() || c.election.leading(); });
  EXPECT_THAT(took, AllOf(Ge(seconds{15}), Le(milliseconds{15'200})));
  run(minutes{1});
  EXPECT_EQ(leaders(), 1);
  EXPECT_EQ(server.number("leaseTransitions"), 1);
  EXPECT_EQ(server.holders.size(), 2u);
}

TEST_P(ElectionTest, AReleasedLockIsTakenWithinASecond) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  Replica& c = add("c_3");
  run(seconds{7});
  a.scope.spawn(release(a.election));
  time.settle();
  EXPECT_EQ(a.election.state(), Election::State::released);
  EXPECT_FALSE(a.election.write_window());
  EXPECT_FALSE(a.election.leading_gate().is_open());
  const auto took = time_to([&] { return b.election.leading() || c.election.leading(); });
  EXPECT_LT(took, milliseconds{200});
  EXPECT_EQ(a.scope.running(), 0) << "run() has returned";
  EXPECT_THAT(a.events, ElementsAre("a_1 became leader", "a_1 stopped leading"));
  EXPECT_THAT(a.metrics.expose(), HasSubstr("lock\"} 0"));
  run(minutes{1});
  EXPECT_EQ(leaders(), 1);
  EXPECT_EQ(server.holders.size(), 3u) << "a, nobody, the new one";
}

// What client-go writes when it gives a lock back.
TEST_P(ElectionTest, ReleasingEmptiesTheRecord) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  server.spec()["leaseTransitions"] = 7;
  server.touch();
  run(seconds{12});
  a.scope.spawn(release(a.election));
  run(seconds{1});
  EXPECT_EQ(server.text("holderIdentity"), "");
  EXPECT_EQ(server.number("leaseDurationSeconds"), 1);
  EXPECT_EQ(server.number("leaseTransitions"), 7);
  EXPECT_EQ(server.text("acquireTime"), server.text("renewTime"));
}

// A renewal is under way when the lock is given back: it must not bring the old holder back to life, whether it
// arrives before our first look, between that and our write, or after it.
TEST_P(ElectionTest, ReleasingDuringARenewal) {
  for (const int delay : {1, 3, 5, 300}) {
    SCOPED_TRACE(delay);
    Replica& a = add("a_1");
    ASSERT_TRUE(lead(a));
    a.wire.late = milliseconds{delay};
    const auto renewal = time.now() - 2 * a.wire.latency + seconds{5};
    run(renewal - time.now());
    a.wire.late = {};
    a.scope.spawn(release(a.election));
    run(seconds{5});
    EXPECT_EQ(server.text("holderIdentity"), "");
    EXPECT_EQ(a.scope.running(), 0);
    EXPECT_EQ(a.election.state(), Election::State::released);
  }
}

io::Task<void> release_at(io::Loop& loop, io::Steady when, Election& election) {
  co_await io::sleep_until(loop, when);
  co_await election.release();
}

// Released at any point, also in the very moment in which an answer arrives: it never leads afterwards, and holds no
// lock in the end.
TEST(ElectionReleaseTest, AtAnyPoint) {
  int led = 0;
  for (int moment = 0; moment < 40; ++moment) {
    SCOPED_TRACE(moment);
    io::VirtualTime time;
    const auto loop = time.make_loop();
    LockServer server;
    io::Scope late(*loop);
    Replica a(*loop, server, late, "a_1", 1);
    // Its timer is older than those of the answers, so it runs first where both are due.
    a.scope.spawn(release_at(*loop, loop->now() + milliseconds{moment < 20 ? moment : 4984 + moment}, a.election));
    a.start();
    ASSERT_TRUE(time.run_until([&] { return a.election.state() == Election::State::released; }, seconds{6}));
    led += static_cast<int>(a.events.size());
    EXPECT_FALSE(time.run_until([&] { return a.election.state() != Election::State::released; }, seconds{10}));
    EXPECT_FALSE(a.election.leading_gate().is_open());
    EXPECT_EQ(a.scope.running(), 0);
    if (server.lease) {
      EXPECT_EQ(server.text("holderIdentity"), "");
    }
  }
  EXPECT_GT(led, 20);
}

TEST_P(ElectionTest, ReleasingWithoutAServerEndsInTime) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  a.wire.set_cut(true);
  a.scope.spawn(release(a.election));
  EXPECT_LE(time_to([&] { return a.scope.running() == 0; }), seconds{11});
}

TEST_P(ElectionTest, AFollowerThatIsReleasedLeavesTheLockAlone) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{1});
  b.scope.spawn(release(b.election));
  run(seconds{1});
  EXPECT_EQ(b.election.state(), Election::State::released);
  EXPECT_EQ(b.scope.running(), 0);
  EXPECT_TRUE(a.election.leading());
  EXPECT_TRUE(b.events.empty());
}

TEST_P(ElectionTest, ALeaderCutOffStopsBeforeAnotherBegins) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{8});
  a.wire.set_cut(true);
  ASSERT_TRUE(run_until([&] { return !a.election.write_window(); }, minutes{1}));
  EXPECT_FALSE(b.election.leading());
  ASSERT_TRUE(run_until([&] { return a.election.state() == Election::State::lost; }, seconds{2}));
  EXPECT_FALSE(b.election.leading());
  EXPECT_THAT(a.problems.open(), testing::Contains(testing::Key("leader election")));
  EXPECT_EQ(a.lines->errors.size(), 1u) << "one message, whatever was tried";
  ASSERT_TRUE(lead(b));
  EXPECT_EQ(a.scope.running(), 0) << "run() has returned";
  EXPECT_THAT(a.events, ElementsAre("a_1 became leader", "a_1 stopped leading"));
}

// A short cut is ridden out by quick retries.
TEST_P(ElectionTest, AShortCutCostsNothing) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  add("b_2");
  run(seconds{4});
  for (int i = 0; i < 20; ++i) {
    a.wire.set_cut(true);
    run(milliseconds{3500});
    a.wire.set_cut(false);
    run(milliseconds{7800});
    ASSERT_TRUE(a.election.leading()) << "after cut " << i;
    ASSERT_TRUE(a.election.write_window());
  }
  EXPECT_TRUE(a.problems.open().empty());
}

TEST_P(ElectionTest, TheWindowShrinksFromTheMomentOfSending) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  const auto sent = time.now() - 2 * a.wire.latency;
  EXPECT_EQ(*a.election.write_window(), sent + milliseconds{14'500} - time.now());
  a.wire.set_cut(true);
  run(sent + milliseconds{9'999} - time.now());
  EXPECT_EQ(*a.election.write_window(), milliseconds{4'501});
  run(milliseconds{1});
  EXPECT_FALSE(a.election.write_window());
}

// The answer to a renewal got lost but it took effect: the lease shows it, and it counts from when it was sent.
TEST_P(ElectionTest, ARenewalWhoseAnswerGotLostCountsFromItsSending) {
  Replica& a = add("a_1");
  a.wire.refuse_watch = refusal(403, "Forbidden");
  ASSERT_TRUE(lead(a));
  const auto first = time.now() - 2 * a.wire.latency;
  a.wire.lose_answers = true;
  const int before = server.count["PUT"];
  ASSERT_TRUE(run_until([&] { return server.count["PUT"] > before; }, seconds{6}));
  const auto second = time.now() - a.wire.latency;
  EXPECT_EQ(second - first, seconds{5});
  EXPECT_EQ(*a.election.write_window(), first + milliseconds{14'500} - time.now()) << "not known to have been applied";
  // The lease is read again; the write after it is refused, so that only what was read can count.
  a.wire.lose_answers = false;
  a.wire.refuse_writes = refusal(503, "ServiceUnavailable");
  const int reads = server.count["GET"];
  ASSERT_TRUE(run_until([&] { return server.count["GET"] > reads; }, seconds{5}));
  run(milliseconds{10});
  EXPECT_EQ(*a.election.write_window(), second + milliseconds{14'500} - time.now());
  a.wire.refuse_writes.reset();
  run(minutes{1});
  EXPECT_TRUE(a.election.leading());
}

// The lease names us as its holder, but the renewTime is none of ours: nothing is gained by that.
TEST_P(ElectionTest, ARenewTimeOfSomebodyElseDoesNotCount) {
  Replica& a = add("a_1");
  a.wire.refuse_watch = refusal(403, "Forbidden");
  ASSERT_TRUE(lead(a));
  const auto first = time.now() - 2 * a.wire.latency;
  a.wire.refuse_writes = refusal(503, "ServiceUnavailable");
  run(seconds{6});
  server.spec()["renewTime"] = "2026-01-01T00:00:00.123456Z";
  server.touch();
  run(seconds{2});
  EXPECT_EQ(*a.election.write_window(), first + milliseconds{14'500} - time.now());
  ASSERT_TRUE(run_until([&] { return a.election.state() == Election::State::lost; }, seconds{4}));
}

TEST_P(ElectionTest, LivesWithAnswersThatAreAllLost) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{1});
  a.wire.lose_answers = true;
  run(minutes{10});
  EXPECT_TRUE(a.election.leading());
  EXPECT_FALSE(b.election.leading());
}

// Writes arrive after they were given up; each then conflicts or is found later, and never counts for more.
TEST_P(ElectionTest, LateWritesDoNotMakeTwoLeaders) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  a.wire.late = seconds{4};
  b.wire.late = seconds{4};
  run(minutes{5});
  a.wire.late = {};
  b.wire.late = {};
  run(minutes{1});
  // Each may have lost and ended; what matters is checked at every step.
  EXPECT_LE(leaders(), 1);
}

// An acquisition that timed out but took effect is found and used.
TEST_P(ElectionTest, AnAcquisitionWhoseAnswerGotLostIsAdopted) {
  Replica& a = add("a_1");
  a.wire.lose_answers = true;
  run(seconds{6});
  EXPECT_FALSE(a.election.leading());
  EXPECT_FALSE(a.election.write_window());
  EXPECT_EQ(server.text("holderIdentity"), "a_1");
  a.wire.lose_answers = false;
  ASSERT_TRUE(lead(a));
  EXPECT_EQ(server.number("leaseTransitions"), 0);
}

TEST_P(ElectionTest, WallClocksDoNotMatter) {
  Replica& a = add("a_1", hours{1});
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2", -hours{1});
  add("c_3");
  run(minutes{2});
  EXPECT_TRUE(a.election.leading());
  EXPECT_EQ(server.holders.size(), 1u);
  a.crash();
  a.alive = false;
  const auto took = time_to([&] { return leaders() == 1; });
  EXPECT_THAT(took, AllOf(Ge(seconds{10}), Le(seconds{16})));
  (void)b;
}

// The holder asks for a longer lease than ours: it gets it.
TEST_P(ElectionTest, ALongerLeaseOfTheHolderIsRespected) {
  server.store(json::object{{"apiVersion", "coordination.k8s.io/v1"},
                            {"kind", "Lease"},
                            {"metadata", {{"name", "lock"}, {"namespace", "kube-system"}}},
                            {"spec",
                             {{"holderIdentity", "other"},
                              {"leaseDurationSeconds", 60},
                              {"renewTime", "2000-01-01T00:00:00.000000Z"},
                              {"leaseTransitions", 4}}}},
               "ADDED");
  Replica& a = add("a_1");
  EXPECT_THAT(time_to([&] { return a.election.leading(); }), AllOf(Ge(seconds{60}), Le(seconds{61})));
  EXPECT_EQ(server.number("leaseTransitions"), 5);
  EXPECT_EQ(server.number("leaseDurationSeconds"), 15);
}

// A lease that somebody made without a spec, or with an empty one, is free.
TEST_P(ElectionTest, ALeaseWithoutASpecIsFree) {
  server.lease = json::object{{"metadata", {{"name", "lock"}, {"resourceVersion", "7"}}}, {"spec", nullptr}};
  Replica& a = add("a_1");
  EXPECT_LT(time_to([&] { return a.election.leading(); }), milliseconds{100});
  EXPECT_EQ(server.text("holderIdentity"), "a_1");
}

TEST_P(ElectionTest, WhatOthersWroteIntoTheLeaseStays) {
  server.store(json::object{{"apiVersion", "coordination.k8s.io/v1"},
                            {"kind", "Lease"},
                            {"metadata",
                             {{"name", "lock"},
                              {"namespace", "kube-system"},
                              {"labels", {{"team", "x"}}},
                              {"annotations", {{"note", "keep me"}}},
                              {"ownerReferences", json::array{json::object{{"name", "o"}, {"uid", "u"}}}}}},
                            {"spec", {{"holderIdentity", ""}, {"strategy", "none"}, {"future", {{"deep", 1.5}}}}}},
               "ADDED");
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  run(seconds{7});
  (*server.lease)["metadata"].as_object()["annotations"].as_object()["later"] = "too";
  server.touch();
  run(seconds{12});
  EXPECT_TRUE(a.election.leading());
  a.scope.spawn(release(a.election));
  run(seconds{1});
  const json::object& meta = server.lease->at("metadata").as_object();
  EXPECT_EQ(meta.at("labels").at("team").as_string(), "x");
  EXPECT_EQ(meta.at("annotations").at("note").as_string(), "keep me");
  EXPECT_EQ(meta.at("annotations").at("later").as_string(), "too");
  EXPECT_EQ(meta.at("ownerReferences").at(0).at("name").as_string(), "o");
  EXPECT_EQ(server.text("strategy"), "none");
  EXPECT_EQ(server.spec().at("future").at("deep").as_double(), 1.5);
}

// Somebody hands the lock to another: the leader hears of it from the watch and stops at once.
TEST_P(ElectionTest, ALeaderWhoseLockWasTakenStopsAtOnce) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  run(seconds{2});
  server.spec()["holderIdentity"] = "somebody";
  server.touch();
  ASSERT_TRUE(run_until([&] { return !a.election.write_window(); }, milliseconds{1}));
  EXPECT_LT(time_to([&] { return a.election.state() == Election::State::lost; }), milliseconds{100});
  EXPECT_EQ(a.election.holder(), "somebody");
  EXPECT_EQ(server.text("holderIdentity"), "somebody");
}

// Without a watch the next renewal finds it.
TEST_P(ElectionTest, AConflictThatShowsAnotherHolderIsALoss) {
  Replica& a = add("a_1");
  a.wire.refuse_watch = refusal(403, "Forbidden");
  ASSERT_TRUE(lead(a));
  server.spec()["holderIdentity"] = "somebody";
  server.touch();
  EXPECT_LT(time_to([&] { return a.election.state() == Election::State::lost; }), milliseconds{5100});
  EXPECT_EQ(server.text("holderIdentity"), "somebody");
}

TEST_P(ElectionTest, ADeletedLeaseIsMadeAgainByItsHolder) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{7});
  server.remove();
  run(seconds{1});
  ASSERT_TRUE(server.lease);
  EXPECT_EQ(server.text("holderIdentity"), "a_1");
  EXPECT_TRUE(a.election.leading());
  EXPECT_TRUE(a.election.write_window());
  EXPECT_FALSE(b.election.leading());
  run(minutes{1});
  EXPECT_TRUE(a.election.leading());
}

// Nobody makes it again: the followers still wait until its last holder must have stopped.
TEST_P(ElectionTest, ADeletedLeaseProtectsItsHolderUntilItWouldHaveRunOut) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{4});
  a.wire.set_cut(true);
  server.remove();
  ASSERT_TRUE(lead(b));
  EXPECT_EQ(a.election.state(), Election::State::lost);
  EXPECT_EQ(server.text("holderIdentity"), "b_2");
}

TEST_P(ElectionTest, MissingRightsAreOneProblemThatEnds) {
  loops.push_back(time.make_loop());
  replicas.push_back(std::make_unique<Replica>(*loops.back(), server, late, "a_1", 1, options()));
  Replica& a = *replicas.back();
  a.wire.refuse = refusal(403, "Forbidden");
  a.start();
  run(minutes{5});
  ASSERT_EQ(a.problems.open().size(), 1u);
  EXPECT_THAT(a.problems.open().at("leader election"),
              AllOf(HasSubstr("kube-system/lock"), HasSubstr("refused: Forbidden")));
  EXPECT_EQ(a.lines->errors.size(), 1u);
  a.wire.refuse.reset();
  EXPECT_LT(time_to([&] { return a.election.leading(); }), seconds{7});
  EXPECT_TRUE(a.problems.open().empty());
}

// Reading is allowed and writing is not: still one message, not one for each turn.
TEST_P(ElectionTest, RightsToReadAloneAreOneProblem) {
  Replica& a = add("a_1");
  a.wire.refuse_writes = refusal(403, "Forbidden");
  run(minutes{5});
  EXPECT_EQ(a.lines->errors.size(), 1u);
  EXPECT_EQ(a.problems.open().size(), 1u);
}

// A follower that could not reach the server for a while has nothing to say when it is back.
TEST_P(ElectionTest, AFollowersProblemEndsWithTheCut) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{1});
  b.wire.set_cut(true);
  run(minutes{2});
  EXPECT_EQ(b.problems.open().size(), 1u);
  b.wire.set_cut(false);
  run(minutes{1});
  EXPECT_TRUE(b.problems.open().empty());
  EXPECT_TRUE(a.election.leading());
}

// Nobody takes what nobody can read, and who held it stops in time.
TEST_P(ElectionTest, ARecordThatCannotBeReadIsNobodysToTake) {
  if (kind == LockKind::lease) GTEST_SKIP() << "a Lease is read field by field";
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{7});
  server.garbled = true;
  a.wire.refuse_writes = refusal(409, "Conflict");
  server.touch();
  run(minutes{1});
  EXPECT_EQ(a.election.state(), Election::State::lost);
  EXPECT_FALSE(b.election.leading());
  EXPECT_THAT(b.problems.open().at("leader election"), HasSubstr("is no record of a leader election"));
  server.garbled = false;
  server.touch();
  EXPECT_TRUE(lead(b));
  EXPECT_TRUE(b.problems.open().empty());
}

TEST_P(ElectionTest, WithoutAWatchTheLeaseIsReadEveryFewSeconds) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  b.wire.refuse_watch = refusal(403, "Forbidden");
  run(seconds{10});
  const int before = server.count["GET"];
  run(minutes{1});
  EXPECT_THAT(server.count["GET"] - before, AllOf(Ge(9), Le(12)));
  a.scope.spawn(release(a.election));
  EXPECT_LT(time_to([&] { return b.election.leading(); }), seconds{7});
}

// A watch that went silent without ending is replaced, so that the next hand-over is quick again.
TEST_P(ElectionTest, ASilentWatchIsOpenedAgain) {
  Replica& a = add("a_1");
  ASSERT_TRUE(lead(a));
  Replica& b = add("b_2");
  run(seconds{2});
  const int before = server.count["WATCH"];
  b.wire.set_cut(true);
  run(milliseconds{10});
  b.wire.set_cut(false);  // the stream stays dead, as after a lost connection
  run(seconds{40});
  EXPECT_EQ(server.count["WATCH"], before + 1);
  EXPECT_FALSE(b.election.leading());
  a.scope.spawn(release(a.election));
  EXPECT_LT(time_to([&] { return b.election.leading(); }), milliseconds{200});
}

// The watch lags behind our own writes: what it brings late changes nothing.
TEST_P(ElectionTest, LateWatchEventsDoNotUndoWhatIsKnown) {
  server.store(json::object{{"metadata", {{"name", "lock"}}}, {"spec", {{"holderIdentity", "other"}}}}, "ADDED");
  Replica& a = add("a_1");
  a.wire.watch_delay = seconds{3};
  run(seconds{1});
  server.spec()["holderIdentity"] = "";
  server.touch();
  ASSERT_TRUE(lead(a));
  const int reads = server.count["GET"];
  ASSERT_FALSE(run_until([&] { return !a.election.write_window(); }, minutes{2}));
  EXPECT_EQ(server.count["GET"], reads);
}

// A simulated process that can be suspended: its clock goes on, its code does not.
class SuspendableLoop final : public io::Loop {
 public:
  io::Steady now() const override { return time; }
  io::Wall wall_now() const override { return io::Wall{hours{24 * 365 * 56}} + time.time_since_epoch(); }
  void run_for(io::Duration span) {
    const auto end = time + span;
    for (;;) {
      while (run_one()) {
      }
      const auto next = next_timer();
      if (!next || *next > end) break;
      time = std::max(time, *next);
      collect_due();
    }
    time = end;
  }
  io::Steady time{};
};

TEST(ElectionSuspendTest, NothingIsSentAfterWakingUpLate) {
  SuspendableLoop loop;
  LockServer server;
  io::Scope late(loop);
  Replica a(loop, server, late, "a_1", 1);
  a.start();
  loop.run_for(seconds{12});
  ASSERT_TRUE(a.election.leading());
  ASSERT_TRUE(a.election.write_window());
  const int writes = server.count["PUT"];
  loop.time += seconds{9};
  EXPECT_FALSE(a.election.write_window()) << "the lease has not run out, but the deadline to act has";
  loop.time += hours{1};
  EXPECT_FALSE(a.election.write_window()) << "before any of our code ran";
  loop.collect_due();
  loop.run_for(seconds{1});
  EXPECT_EQ(a.election.state(), Election::State::lost);
  EXPECT_EQ(server.count["PUT"], writes);
}

TEST(ElectionSuspendTest, AShortSuspendIsSurvived) {
  SuspendableLoop loop;
  LockServer server;
  io::Scope late(loop);
  Replica a(loop, server, late, "a_1", 1);
  a.start();
  loop.run_for(seconds{12});
  loop.time += seconds{6};
  loop.collect_due();
  loop.run_for(seconds{1});
  EXPECT_TRUE(a.election.leading());
  EXPECT_TRUE(a.election.write_window());
}

// Cuts, lost and late answers, crashes, restarts, releases, edits: whatever happens, the rule checked at every step
// holds, and when it is over somebody leads.
TEST(ElectionChaosTest, NeverTwoAtOnce) {
  struct Chaos : ElectionTest {
    explicit Chaos(LockKind k) : ElectionTest(k) {}
    void TestBody() override {}
    using ElectionTest::add;
    using ElectionTest::leaders;
    using ElectionTest::loops;
    using ElectionTest::replicas;
    using ElectionTest::run;
    using ElectionTest::run_until;
    using ElectionTest::server;
    using ElectionTest::time;
  };
  int takeovers = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Chaos chaos(seed % 3 == 0 ? LockKind::config_map : LockKind::lease);
    io::Random random(seed);
    chaos.time.run_for(milliseconds{random.next() % 1000});
    std::vector<std::string> names;
    const auto newcomer = [&] {
      names.push_back("r" + std::to_string(names.size()) + "_x");
      chaos.add(names.back().c_str(), seconds{static_cast<int64_t>(random.next() % 7200) - 3600});
    };
    for (int i = 0; i < 3; ++i) newcomer();
    for (int step = 0; step < 60; ++step) {
      chaos.run(milliseconds{random.next() % 9000});
      if (HasFatalFailure()) return;
      Replica& one = *chaos.replicas[random.next() % chaos.replicas.size()];
      switch (random.next() % 10) {
        case 0:
        case 1:
          one.wire.set_cut(!one.wire.cut);
          break;
        case 2:
          one.wire.lose_answers = !one.wire.lose_answers;
          break;
        case 3:
          one.wire.late = one.wire.late > io::Duration::zero() ? io::Duration::zero()
                                                               : io::Duration{milliseconds{random.next() % 12'000}};
          break;
        case 4:
          one.wire.latency = milliseconds{random.next() % 800};
          break;
        case 5:
          if (random.next() % 2 == 0) {
            one.crash();
            one.alive = false;
          }
          break;
        case 6:
          if (one.alive && random.next() % 2 == 0) one.scope.spawn(release(one.election));
          break;
        case 7:
          if (chaos.server.lease) chaos.server.touch();
          break;
        default:
          break;
      }
      const auto useful = std::count_if(chaos.replicas.begin(), chaos.replicas.end(), [](const auto& r) {
        return r->alive && (r->election.state() == Election::State::standby || r->election.leading());
      });
      if (useful < 2) newcomer();
    }
    for (const auto& r : chaos.replicas) {
      r->wire.set_cut(false);
      r->wire.lose_answers = false;
      r->wire.late = {};
      r->wire.latency = milliseconds{2};
    }
    newcomer();
    EXPECT_TRUE(chaos.run_until([&] { return chaos.leaders() == 1; }, minutes{2}));
    takeovers += static_cast<int>(chaos.server.holders.size());
  }
  EXPECT_GT(takeovers, 500) << "the test is of no use if nothing happens";
}

}  // namespace
}  // namespace careen::kube
