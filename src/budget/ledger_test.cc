#include "budget/ledger.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "budget/ledger_record.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "sim/test_api.h"

namespace careen::budget {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using kube::Json;
using kube::Request;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using kube::Resource;

// One process with its ledger. Destroying it is a crash.
struct Process {
  Process(io::VirtualTime& time, sim::TestApi& api, std::string identity, Resource resource)
      : loop(time.make_loop()), transport(api.connect(*loop)) {
    ledger.emplace(*loop, client, problems, io::Log{}, metrics,
                   LedgerOptions{"kube-system", "careen-ledger", identity, std::move(resource)});
    scope.spawn(start(*ledger, scope, ready));
  }
  static io::Task<void> start(Ledger& ledger, io::Scope& scope, bool& ready) {
    co_await ledger.take_over();
    ready = true;
    scope.spawn(ledger.run());
  }
  static io::Task<void> ask(Ledger& ledger, std::string uid, std::optional<bool>& out) {
    out = co_await ledger.recorded(std::move(uid));
  }
  // The answer appears in `out` when there is one.
  void reserve(const std::string& uid, std::optional<bool>& out) {
    ledger->reserve({uid, "node-" + uid, "profile/p", loop->wall_now()});
    out.reset();
    scope.spawn(ask(*ledger, uid, out));
  }
  std::vector<std::string> entries() const {
    std::vector<std::string> uids;
    for (const auto& [uid, entry] : ledger->entries()) uids.push_back(uid);
    return uids;
  }
  double writes() { return metrics.counter("careen_ledger_writes_total", "").value(); }

  std::unique_ptr<io::Loop> loop;
  std::unique_ptr<kube::Transport> transport;
  io::Metrics metrics;
  io::Random random{7};
  io::Problems problems{io::Log{}};
  kube::Client client{*loop, *transport, metrics, random};
  std::optional<Ledger> ledger;
  bool ready = false;
  io::Scope scope{*loop};
};

class LedgerTest : public testing::TestWithParam<Resource> {
 protected:
  std::unique_ptr<Process> process(std::string identity, io::Duration within = seconds{30}) {
    auto p = std::make_unique<Process>(time, api, std::move(identity), GetParam());
    EXPECT_TRUE(time.run_until([&] { return p->ready; }, within));
    return p;
  }
  // From now on, to everybody.
  void refuse(int code = 403) {
    api.treat = [code](const Request&) {
      return sim::Treatment{.refuse = sim::ApiServer::refusal(code, "Forbidden", "no")};
    };
  }
  LedgerRecord stored() {
    const Json object = api.object(path);
    const auto text = object["metadata"]["annotations"][Ledger::kAnnotation].text();
    if (!text) return {};
    return LedgerRecord::parse(*text).value_or(LedgerRecord{});
  }
  std::vector<std::string> stored_keys() {
    std::vector<std::string> keys;
    for (const auto& [key, admission] : stored().admitted) keys.push_back(key);
    return keys;
  }
  // The next PATCH of the ledger is treated so, all others as usual.
  void next_write(sim::Treatment treatment) {
    api.treat = [this, treatment](const Request& request) {
      if (request.method != "PATCH") return sim::Treatment{};
      api.treat = nullptr;
      return treatment;
    };
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::TestApi api{*server};
  const std::string path = GetParam().path("kube-system", "careen-ledger");
};

// Where a role allows no Leases it stands in a ConfigMap.
INSTANTIATE_TEST_SUITE_P(On, LedgerTest, testing::Values(kube::resources::leases, kube::resources::config_maps),
                         [](const auto& resource) { return resource.param.kind; });

TEST(LedgerRecordTest, IsReadAsItWasWritten) {
  LedgerRecord record{7, "me", 3, {}};
  record.admitted["u"] = {"u", "n", "profile/\"p\"", io::Wall{seconds{5}}};
  record.admitted["v"] = {"v", "m", "profile/p", io::Wall{seconds{6}}, false, {{"ops/turn-0", io::Wall{seconds{6}}}},
                          true};
  const auto read = LedgerRecord::parse(record.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->epoch, 7u);
  EXPECT_EQ(read->writer, "me");
  EXPECT_EQ(read->write, 3u);
  EXPECT_EQ(read->admitted, record.admitted);
}

// Each is recorded, inherited and finished for itself; of profiles there is one a node, whichever it is.
TEST_P(LedgerTest, OwnersClaimTheSameNodeSideBySide) {
  auto a = process("a");
  a->ledger->reserve({"u1", "n1", "profile/p", {}});
  a->ledger->reserve({"u1", "n1", "lantern", {}});
  a->ledger->reserve({"u1", "n1", "profile/q", {}});
  time.run_for(seconds{1});
  EXPECT_THAT(stored_keys(), ElementsAre("lantern@u1", "u1"));
  EXPECT_EQ(stored().admitted.at("u1").by, "profile/q");
  EXPECT_EQ(stored().admitted.at("lantern@u1").uid, "u1");
  a.reset();
  const auto b = process("b");
  EXPECT_THAT(b->entries(), ElementsAre("lantern@u1", "u1"));
  b->ledger->finish("u1");
  time.run_for(seconds{10});
  EXPECT_THAT(stored_keys(), ElementsAre(claim_key("lantern", "u1")));
}

TEST(LedgerRecordTest, DamageIsToldApart) {
  for (const char* text : {"", "[]", "{}", R"({"epoch":1,"write":1})", R"({"epoch":-1,"write":1,"admitted":[]})",
                           R"({"epoch":"1","write":1,"admitted":[]})", R"({"epoch":1,"write":1,"admitted":[{}]})"}) {
    EXPECT_FALSE(LedgerRecord::parse(text)) << text;
  }
}

TEST_P(LedgerTest, IsCreatedOnFirstUse) {
  const auto a = process("a");
  EXPECT_EQ(stored().epoch, 1u);
  EXPECT_EQ(stored().writer, "a");
  EXPECT_EQ(api.object(path)["kind"].text(), GetParam().kind);
  EXPECT_EQ(api.object(path)["apiVersion"].text(), GetParam().api_version());
  EXPECT_EQ(api.object(path)["spec"].exists(), GetParam().kind == "Lease") << "a ConfigMap has none";
  EXPECT_THAT(a->problems.open(), IsEmpty());
}

TEST_P(LedgerTest, ASuccessorInheritsWhatIsUnfinished) {
  auto a = process("a");
  std::optional<bool> recorded;
  a->reserve("u1", recorded);
  time.run_for(seconds{1});
  EXPECT_EQ(recorded, true);
  a.reset();
  const auto b = process("b");
  EXPECT_EQ(stored().epoch, 2u);
  EXPECT_EQ(stored().writer, "b");
  EXPECT_THAT(b->entries(), ElementsAre("u1"));
  EXPECT_TRUE(b->ledger->entries().at("u1").inherited);
  EXPECT_TRUE(b->ledger->entries().at("u1").recorded);
  EXPECT_EQ(b->ledger->entries().at("u1").admission.node, "node-u1");
}

TEST_P(LedgerTest, ManyAdmissionsShareAWrite) {
  const auto a = process("a");
  time.run_for(seconds{1});
  const double before = a->writes();
  std::optional<bool> recorded[50];
  for (int i = 0; i < 50; ++i) a->reserve("u" + std::to_string(i), recorded[i]);
  time.settle();
  for (const auto& answer : recorded) EXPECT_EQ(answer, true);
  EXPECT_EQ(a->writes() - before, 1);
}

TEST_P(LedgerTest, WritesStartApart) {
  const auto a = process("a");
  time.run_for(seconds{1});
  api.treat = [&](const Request&) { return sim::Treatment{.before = milliseconds{10}, .after = milliseconds{10}}; };
  const double before = a->writes();
  std::vector<std::optional<bool>> recorded(40);
  for (int i = 0; i < 40; ++i) {
    a->reserve("u" + std::to_string(i), recorded[static_cast<size_t>(i)]);
    time.run_for(milliseconds{10});
  }
  time.run_for(milliseconds{100});
  EXPECT_GE(a->writes() - before, 4);
  EXPECT_LE(a->writes() - before, 6);
  for (const auto& answer : recorded) EXPECT_EQ(answer, true);
}

TEST_P(LedgerTest, AServerThatAnswersSoonIsWrittenToSooner) {
  const auto a = process("a");
  time.run_for(seconds{1});
  std::optional<bool> first, second, third;
  a->reserve("u1", first);
  time.run_for(milliseconds{10});
  a->reserve("u2", second);
  time.run_for(milliseconds{25});
  a->reserve("u3", third);
  time.run_for(milliseconds{25});
  EXPECT_EQ(first, true);
  EXPECT_EQ(second, true);
  EXPECT_EQ(third, true);
}

TEST_P(LedgerTest, NothingIsRecordedBeforeTheServerSaysSo) {
  const auto a = process("a");
  time.run_for(seconds{1});
  next_write({.before = seconds{1}, .after = seconds{1}});
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(milliseconds{1500});
  EXPECT_THAT(stored_keys(), ElementsAre("u"));
  EXPECT_EQ(recorded, std::nullopt);
  time.run_for(milliseconds{600});
  EXPECT_EQ(recorded, true);
}

TEST_P(LedgerTest, WhatHasEndedLeavesWithTheNextWrite) {
  const auto a = process("a");
  std::optional<bool> first, second;
  a->reserve("u1", first);
  time.run_for(seconds{1});
  a->ledger->finish("u1");
  a->reserve("u2", second);
  time.run_for(seconds{1});
  EXPECT_THAT(stored_keys(), ElementsAre("u2"));
}

TEST_P(LedgerTest, WhatHasEndedLeavesAloneAfterAWhile) {
  const auto a = process("a");
  std::optional<bool> recorded;
  a->reserve("u1", recorded);
  time.run_for(seconds{1});
  const double before = a->writes();
  a->ledger->finish("u1");
  time.run_for(seconds{4});
  EXPECT_THAT(stored_keys(), ElementsAre("u1"));
  time.run_for(seconds{2});
  EXPECT_THAT(stored_keys(), IsEmpty());
  time.run_for(minutes{10});
  EXPECT_EQ(a->writes() - before, 1);
}

TEST_P(LedgerTest, AReservationThatEndsWhileItWaitsIsNotRecorded) {
  const auto a = process("a");
  next_write({.before = seconds{1}});
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(milliseconds{500});
  a->ledger->finish("u");
  time.settle();
  EXPECT_EQ(recorded, false);
}

TEST_P(LedgerTest, AnotherWriterFencesThisOne) {
  const auto a = process("a");
  const auto b = process("b");
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{2});
  EXPECT_TRUE(a->ledger->fenced());
  EXPECT_TRUE(a->ledger->fenced_gate().is_open());
  EXPECT_EQ(recorded, false);
  EXPECT_THAT(stored_keys(), IsEmpty());
  b->reserve("v", recorded);
  time.run_for(seconds{2});
  EXPECT_FALSE(b->ledger->fenced());
  EXPECT_EQ(recorded, true);
}

// A process that comes back under the same name is another process all the same.
// The successor may have settled the first one, so that a write under it would pass unnoticed.
TEST_P(LedgerTest, AReservationMadeAgainIsRecordedAgain) {
  const auto a = process("a");
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{1});
  ASSERT_EQ(recorded, true);
  const auto b = process("b");
  a->reserve("u", recorded);
  time.run_for(seconds{5});
  EXPECT_EQ(recorded, false);
  EXPECT_TRUE(a->ledger->fenced());
}

TEST_P(LedgerTest, AReservationMadeAgainDuringItsWriteWaitsForTheNext) {
  const auto a = process("a");
  std::optional<bool> first, again;
  next_write({.after = seconds{2}});
  a->reserve("u", first);
  time.run_for(seconds{1});
  a->reserve("u", again);
  const double before = a->writes();
  time.run_for(seconds{10});
  EXPECT_EQ(again, true);
  EXPECT_EQ(a->writes(), before + 2);
}

TEST_P(LedgerTest, AnotherEpochFencesEvenUnderTheSameName) {
  const auto a = process("same");
  const auto b = process("same");
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{2});
  EXPECT_TRUE(a->ledger->fenced());
  EXPECT_EQ(recorded, false);
}

TEST_P(LedgerTest, OfTwoThatTakeOverAtOnceOneIsLeft) {
  for (int lateness = 0; lateness < 8; ++lateness) {
    api.erase(path);
    api.treat = [&](const Request&) { return sim::Treatment{.before = milliseconds{5}, .after = milliseconds{5}}; };
    Process a(time, api, "a", GetParam());
    time.run_for(milliseconds{lateness * 3});
    Process b(time, api, "b", GetParam());
    EXPECT_TRUE(time.run_until([&] { return a.ready && b.ready; }, minutes{1}));
    std::optional<bool> first, second;
    a.reserve("u", first);
    b.reserve("v", second);
    time.run_for(seconds{10});
    EXPECT_NE(a.ledger->fenced(), b.ledger->fenced()) << lateness;
    EXPECT_EQ(first, !a.ledger->fenced());
    EXPECT_EQ(second, !b.ledger->fenced());
  }
}

TEST_P(LedgerTest, ADeletedObjectIsRebuilt) {
  const auto a = process("a");
  std::optional<bool> first, second;
  a->reserve("u1", first);
  time.run_for(seconds{1});
  api.erase(path);
  a->reserve("u2", second);
  time.run_for(seconds{5});
  EXPECT_EQ(second, true);
  EXPECT_THAT(stored_keys(), ElementsAre("u1", "u2"));
  EXPECT_FALSE(a->ledger->fenced());
}

TEST_P(LedgerTest, ADamagedAnnotationIsWrittenAnew) {
  const auto a = process("a");
  std::optional<bool> first, second;
  a->reserve("u1", first);
  time.run_for(seconds{1});
  api.merge(path, *Json::parse(R"({"metadata":{"annotations":{"careen.dev/ledger":"{oops"}}})"));
  a->reserve("u2", second);
  time.run_for(seconds{5});
  EXPECT_EQ(second, true);
  EXPECT_THAT(stored_keys(), ElementsAre("u1", "u2"));
  EXPECT_FALSE(a->ledger->fenced());
}

TEST_P(LedgerTest, AForeignChangeOfTheObjectIsNoOtherWriter) {
  const auto a = process("a");
  api.merge(path, *Json::parse(R"({"metadata":{"labels":{"x":"y"}}})"));
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{5});
  EXPECT_EQ(recorded, true);
  EXPECT_EQ(api.object(path)["metadata"]["labels"]["x"].text(), "y");
}

TEST_P(LedgerTest, AWriteThatTimedOutButHappenedIsRecognised) {
  const auto a = process("a");
  const double before = a->writes();
  next_write({.unanswered = true});
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{9});
  EXPECT_EQ(recorded, std::nullopt);
  time.run_for(seconds{3});
  EXPECT_EQ(recorded, true);
  EXPECT_EQ(a->writes() - before, 1);
}

TEST_P(LedgerTest, AWriteThatTimedOutAndDidNotHappenIsTriedAgain) {
  const auto a = process("a");
  next_write({.lost = true});
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{20});
  EXPECT_EQ(recorded, true);
  EXPECT_THAT(stored_keys(), ElementsAre("u"));
}

// A write without the entry is on its way when the entry comes back: only a write of its own makes it safe.
TEST_P(LedgerTest, AnEntryThatComesBackDuringAWriteWithoutItIsNotRecordedYet) {
  const auto a = process("a");
  std::optional<bool> first, other, again;
  a->reserve("u", first);
  time.run_for(seconds{1});
  a->ledger->finish("u");
  next_write({.before = seconds{2}});
  a->reserve("other", other);
  time.run_for(seconds{1});
  a->reserve("u", again);
  time.settle();
  EXPECT_EQ(again, std::nullopt);
  time.run_for(seconds{3});
  EXPECT_EQ(again, true);
  EXPECT_THAT(stored_keys(), ElementsAre("other", "u"));
}

// The same with a write that timed out and arrives later still: until another write was accepted, nobody knows.
TEST_P(LedgerTest, AWriteThatTimedOutMayStillTakeAnEntryOut) {
  const auto a = process("a");
  std::optional<bool> first, other, again;
  a->reserve("u", first);
  time.run_for(seconds{1});
  a->ledger->finish("u");
  next_write({.held = true});
  a->reserve("other", other);
  // The client has given up and reads back what is stored.
  ASSERT_TRUE(time.run_until([&] { return api.count("GET " + GetParam().plural) >= 2; }, seconds{30}));
  a->reserve("u", again);
  api.treat = [](const Request& request) { return sim::Treatment{.lost = request.method == "PATCH"}; };
  time.settle();
  EXPECT_EQ(again, std::nullopt);
  api.release_held();
  EXPECT_THAT(stored_keys(), ElementsAre("other"));
  api.treat = nullptr;
  time.run_for(minutes{1});
  EXPECT_EQ(again, true);
  EXPECT_EQ(other, true);
  EXPECT_THAT(stored_keys(), ElementsAre("other", "u"));
}

TEST_P(LedgerTest, WithoutRightsItGoesOnInMemoryAndSaysSoOnce) {
  refuse();
  const auto a = process("a", minutes{4});
  ASSERT_EQ(a->problems.open().count("ledger"), 1u);
  EXPECT_THAT(
      a->problems.open().find("ledger")->second,
      testing::AllOf(HasSubstr(GetParam().kind + " kube-system/careen-ledger"), HasSubstr("may admit beyond them")));
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.settle();
  EXPECT_EQ(recorded, true);
  const int before = api.count("PATCH " + GetParam().plural);
  time.run_for(minutes{10});
  EXPECT_EQ(api.count("PATCH " + GetParam().plural), before);
}

// An API server that has just started refuses everything for a moment, and while keys rotate nobody is known to it.
TEST_P(LedgerTest, ARefusalThatPassesTakesNothingFromTheLimits) {
  auto old = process("old");
  std::optional<bool> recorded;
  old->reserve("theirs", recorded);
  time.run_for(seconds{1});
  old.reset();
  for (const int code : {403, 401}) {
    refuse(code);
    Process a(time, api, fmt::format("a{}", code), GetParam());
    time.run_for(minutes{2});
    EXPECT_FALSE(a.ready) << code;
    api.treat = nullptr;
    time.run_for(seconds{5});
    EXPECT_TRUE(a.ready) << code;
    EXPECT_THAT(a.entries(), ElementsAre("theirs")) << code;
    EXPECT_THAT(a.problems.open(), IsEmpty()) << code;
  }
}

TEST_P(LedgerTest, UnknownUsersNeverCountAsAMissingRight) {
  refuse(401);
  Process a(time, api, "a", GetParam());
  time.run_for(minutes{30});
  EXPECT_FALSE(a.ready);
}

TEST_P(LedgerTest, ComesBackWhenTheRightsAreGranted) {
  auto old = process("old");
  std::optional<bool> recorded;
  old->reserve("theirs", recorded);
  time.run_for(seconds{1});
  old.reset();
  refuse();
  const auto a = process("a", minutes{4});
  EXPECT_THAT(a->entries(), IsEmpty());
  api.treat = nullptr;
  // Nothing has to be reserved for that.
  time.run_for(minutes{2});
  EXPECT_THAT(a->problems.open(), IsEmpty());
  EXPECT_EQ(stored().writer, "a");
  EXPECT_THAT(a->entries(), ElementsAre("theirs"));
  a->reserve("u", recorded);
  time.run_for(seconds{1});
  EXPECT_THAT(stored_keys(), ElementsAre("theirs", "u"));
}

// The server no longer refuses: the limits are exact again as soon as it answers, and not before.
TEST_P(LedgerTest, WhoeverIsNoLongerRefusedWaitsForTheRecord) {
  refuse();
  const auto a = process("a", minutes{4});
  api.treat = [](const Request& request) { return sim::Treatment{.lost = request.method != "GET"}; };
  time.run_for(minutes{2});
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(minutes{5});
  EXPECT_EQ(recorded, std::nullopt);
  EXPECT_THAT(a->problems.open().find("ledger")->second, HasSubstr("nothing new is admitted"));
  api.treat = nullptr;
  time.run_for(minutes{1});
  EXPECT_EQ(recorded, true);
  EXPECT_THAT(stored_keys(), ElementsAre("u"));
  EXPECT_THAT(a->problems.open(), IsEmpty());
}

TEST_P(LedgerTest, LosingTheRightsForAWhileBringsNothingBackThatHasEnded) {
  const auto a = process("a");
  std::optional<bool> recorded;
  a->reserve("u1", recorded);
  time.run_for(seconds{1});
  refuse();
  a->ledger->finish("u1");
  a->reserve("u2", recorded);
  time.run_for(minutes{2});
  EXPECT_EQ(recorded, std::nullopt) << "the refusal may pass";
  EXPECT_EQ(a->problems.open().size(), 1u);
  time.run_for(minutes{2});
  EXPECT_EQ(recorded, true);
  EXPECT_EQ(a->problems.open().size(), 1u);
  api.treat = nullptr;
  time.run_for(minutes{3});
  EXPECT_THAT(a->problems.open(), IsEmpty());
  EXPECT_THAT(a->entries(), ElementsAre("u2"));
  EXPECT_THAT(stored_keys(), ElementsAre("u2"));
  EXPECT_FALSE(a->ledger->fenced());
}

TEST_P(LedgerTest, FindsAnotherWriterAfterLosingTheRightsForAWhile) {
  const auto a = process("a");
  bool refuse_a = true;
  api.treat = [&](const Request&) {
    return refuse_a ? sim::Treatment{.refuse = sim::ApiServer::refusal(403, "Forbidden", "no")} : sim::Treatment{};
  };
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(minutes{4});
  refuse_a = false;
  const auto b = process("b");
  time.run_for(minutes{3});
  EXPECT_TRUE(a->ledger->fenced());
  EXPECT_FALSE(b->ledger->fenced());
}

TEST_P(LedgerTest, AServerThatFailsIsAProblemUntilItRecovers) {
  const auto a = process("a");
  api.treat = [](const Request&) { return sim::Treatment{.refuse = sim::ApiServer::refusal(500, "InternalError")}; };
  std::optional<bool> recorded;
  a->reserve("u", recorded);
  time.run_for(seconds{30});
  EXPECT_EQ(recorded, std::nullopt);
  EXPECT_EQ(a->problems.open().count("ledger"), 1u);
  api.treat = nullptr;
  time.run_for(seconds{30});
  EXPECT_EQ(recorded, true);
  EXPECT_THAT(a->problems.open(), IsEmpty());
}

TEST_P(LedgerTest, ItSaysWhenItIsFullAndTheRecordFits) {
  const auto a = process("a");
  int reserved = 0;
  const auto reserve_one = [&] {
    const std::string uid = fmt::format("{:036}", reserved++);
    Admission admission{uid, std::string(253, 'n'), "profile/" + std::string(63, 'p'), a->loop->wall_now()};
    for (int i = 0; i < 3; ++i) admission.leases.push_back({std::string(200, 'l'), a->loop->wall_now()});
    a->ledger->reserve(std::move(admission));
  };
  while (a->ledger->fits("another")) reserve_one();
  time.run_for(seconds{2});
  EXPECT_EQ(stored().admitted.size(), static_cast<size_t>(reserved));
  EXPECT_LE(stored().text().size(), size_t{200} << 10);
  EXPECT_TRUE(a->ledger->fits(fmt::format("{:036}", 0))) << "it has its place";
  const int64_t before = a->ledger->room();
  for (int i = 0; i < 3; ++i) a->ledger->finish(fmt::format("{:036}", i));
  EXPECT_GT(a->ledger->room(), before);
  EXPECT_TRUE(a->ledger->fits("another"));
}

TEST_P(LedgerTest, WithoutOptionsItLivesInMemory) {
  const uint64_t before = api.server.version();
  const auto loop = time.make_loop();
  const auto transport = api.connect(*loop);
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log{}};
  kube::Client client(*loop, *transport, metrics, random);
  Ledger ledger(*loop, client, problems, io::Log{}, metrics, std::nullopt);
  io::Scope scope(*loop);
  scope.spawn(ledger.take_over());
  scope.spawn(ledger.run());
  ledger.reserve({"u", "n", "profile/p", {}});
  std::optional<bool> recorded;
  scope.spawn(Process::ask(ledger, "u", recorded));
  time.run_for(minutes{10});
  EXPECT_EQ(recorded, true);
  ledger.finish("u");
  EXPECT_FALSE(ledger.has("u"));
  EXPECT_EQ(api.server.version(), before);
}

// Whatever happens to the requests of a chain of leaders, an entry that was said to be recorded and has not ended is
// known to every later leader.
TEST_P(LedgerTest, WhatWasRecordedIsNeverForgotten) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    api.erase(path);
    io::Random random(seed);
    api.treat = [&](const Request& request) {
      sim::Treatment treatment{.before = milliseconds{random.next() % 50}, .after = milliseconds{random.next() % 50}};
      const uint64_t fate = random.next() % 20;
      if (request.method == "GET") return treatment;
      if (fate == 0) treatment.lost = true;
      if (fate == 1) treatment.unanswered = true;
      if (fate == 2) treatment.held = true;
      if (fate == 3) treatment.before = seconds{15};
      if (fate == 4) treatment.mask = sim::ApiServer::refusal(500, "InternalError");
      return treatment;
    };
    std::set<std::string> owed;  // recorded and not ended
    for (int leader = 0; leader < 4; ++leader) {
      Process p(time, api, "leader-" + std::to_string(leader), GetParam());
      ASSERT_TRUE(time.run_until([&] { return p.ready; }, minutes{10}));
      for (const std::string& uid : owed) EXPECT_TRUE(p.ledger->has(uid)) << uid << " at leader " << leader;
      std::map<std::string, std::optional<bool>> answers;
      for (int step = 0; step < 40; ++step) {
        const std::string uid = "u" + std::to_string(random.next() % 6);
        if (p.ledger->has(uid)) {
          owed.erase(uid);
          p.ledger->finish(uid);
          answers.erase(uid);
        } else if (auto [it, fresh] = answers.try_emplace(uid); fresh) {
          p.ledger->reserve({uid, "node-" + uid, "profile/p", {}});
        }
        time.run_for(milliseconds{random.next() % 700});
        if (random.next() % 16 == 0) api.release_held();
        for (const auto& [reserved, answer] : answers) {
          if (p.ledger->entries().at(reserved).recorded) owed.insert(reserved);
        }
        EXPECT_FALSE(p.ledger->fenced());
      }
    }
    api.release_held();
    for (const std::string& uid : owed) EXPECT_THAT(stored_keys(), testing::Contains(uid));
  }
}

}  // namespace
}  // namespace careen::budget
