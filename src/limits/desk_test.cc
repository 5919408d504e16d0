// Who may be out, who is counted, and whose turn it is.
#include "limits/desk.h"

#include "budget/ledger_record.h"
#include "io/sync.h"
#include "limits/limit.h"
#include "limits/test_desk.h"

namespace careen::limits {
namespace {

using io::hours;
using io::minutes;
using io::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class DeskTest : public testing::Test, protected DeskWorld {
 protected:
  void nodes_named(std::initializer_list<const char*> names, const NodeSpec& spec = {}) {
    for (const char* const name : names) node(name, spec);
  }
  void wait(const std::string& name, const std::string& who, Rank rank = Rank::campaign) {
    desk->wait(asking(name, who, rank));
    time.run_for(seconds{1});
  }
  std::vector<std::string> queue() {
    std::vector<std::string> names;
    for (const Waiting& one : desk->queue()) names.push_back(one.asking.node);
    return names;
  }
};

TEST_F(DeskTest, WithoutLimitsEverythingIsAllowed) {
  nodes_named({"n1"});
  open();
  EXPECT_FALSE(desk->limited("n1"));
  EXPECT_TRUE(allows("n1", "profile/a"));
}

TEST_F(DeskTest, NothingIsAdmittedBeforeItIsKnownWhichLimitsThereAre) {
  nodes_named({"n1"});
  open();
  desk->unknown("maintenancelimits cannot be read");
  EXPECT_FALSE(allows("n1", "profile/a"));
  EXPECT_EQ(why_not("n1", "profile/a"), "maintenancelimits cannot be read");
  desk->wait(asking("n1", "profile/a"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  desk->known();
  EXPECT_THAT(whose_turn(), ElementsAre("n1 profile/a"));
}

TEST_F(DeskTest, PlacesCountAgainstTheCap) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":2})");
  open();
  EXPECT_TRUE(desk->limited("n1"));
  EXPECT_TRUE(allows("n1", "profile/a"));
  take("n1", "profile/a");
  EXPECT_TRUE(allows("n2", "request/r1"));
  take("n2", "request/r1");
  EXPECT_FALSE(allows("n3", "profile/a"));
  EXPECT_TRUE(allows("n1", "nodemaintenance/m")) << "two actors on one node have one place";
  EXPECT_TRUE(desk->has("n1", "profile/a"));
  EXPECT_FALSE(desk->has("n1", "nodemaintenance/m"));
  const GroupState workers = group("workers");
  EXPECT_EQ(workers.cap, 2);
  EXPECT_EQ(workers.used, 2);
  EXPECT_EQ(workers.working, 2);
  desk->release("n1", "profile/a");
  EXPECT_TRUE(allows("n3", "profile/a"));
}

// After a start, who has a place may be known before the nodes are.
TEST_F(DeskTest, APlaceThatIsTakenBeforeItsNodeIsSeenCounts) {
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  desk->take({.node = "n1", .uid = "", .who = "request/r1", .actor = "request/rebooter", .since = loop->wall_now()});
  nodes_named({"n1", "n2"});
  EXPECT_TRUE(desk->has("n1", "request/r1"));
  EXPECT_EQ(group("workers").used, 1);
  EXPECT_FALSE(allows("n2", "profile/a"));
  desk->release("n1", "request/r1");
  EXPECT_TRUE(allows("n2", "profile/a"));
}

TEST_F(DeskTest, WhateverIsOutCountsOnceWhoeverTookItOut) {
  node("n1", {.cordoned_by = "kubectl-cordon"});
  node("n2", {.cordoned_by = "kubectl-cordon", .taint = "karpenter.sh/disrupted"});
  nodes_named({"n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":3})");
  open();
  EXPECT_EQ(group("workers").used, 2);
  EXPECT_THAT(group("workers").holders, SizeIs(3));
  EXPECT_TRUE(allows("n3", "profile/a"));
  take("n2", "profile/a");
  EXPECT_EQ(group("workers").used, 2) << "it counts once";
  take("n3", "profile/a");
  EXPECT_FALSE(allows("n4", "profile/a"));
  node("n1");
  EXPECT_TRUE(allows("n4", "profile/a"));
}

TEST_F(DeskTest, GroupsHaveACapEach) {
  for (const char* const zone : {"a", "b"}) {
    for (int i = 0; i < 4; ++i) node(fmt::format("{}{}", zone, i), {.labels = {{"zone", zone}}});
  }
  node("none");
  limit("workers", R"({"type":"node","groupBy":["zone"],"maxUnavailable":"25%"})");
  open();
  EXPECT_EQ(group("workers/a").cap, 1);
  take("a0", "profile/p");
  EXPECT_FALSE(allows("a1", "profile/p"));
  EXPECT_TRUE(allows("b1", "profile/p"));
  EXPECT_EQ(group("workers/").total, 1);
  // It moves, with its place.
  node("a0", {.labels = {{"zone", "b"}}});
  EXPECT_TRUE(allows("a1", "profile/p"));
  EXPECT_FALSE(allows("b1", "profile/p"));
}

TEST_F(DeskTest, NodesOfAUnitShareAPlace) {
  for (const char* const host : {"x", "y", "z"}) {
    for (int i = 0; i < 2; ++i) node(fmt::format("{}{}", host, i), {.labels = {{"rack", host}}});
  }
  limit("racks", R"({"type":"node","unit":"rack","maxUnavailable":1})");
  open();
  EXPECT_EQ(group("racks").total, 3);
  take("x0", "profile/p");
  EXPECT_TRUE(allows("x1", "profile/p"));
  take("x1", "profile/p");
  EXPECT_EQ(group("racks").used, 1);
  EXPECT_FALSE(allows("y0", "profile/p"));
  desk->release("x0", "profile/p");
  EXPECT_FALSE(allows("y0", "profile/p"));
  desk->release("x1", "profile/p");
  EXPECT_TRUE(allows("y0", "profile/p"));
}

TEST_F(DeskTest, APlaceIsOneInAllLimitsThatSelectTheNode) {
  nodes_named({"n1", "n2"}, {.labels = {{"pool", "x"}}});
  node("n3");
  limit("all", R"({"type":"node","maxUnavailable":5})");
  limit("pool", R"({"type":"node","selector":{"matchLabels":{"pool":"x"}},"maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  EXPECT_FALSE(allows("n2", "profile/p"));
  EXPECT_TRUE(allows("n3", "profile/p"));
  EXPECT_THAT(why_not("n2", "profile/p"), HasSubstr("place 1 in limit pool (1 of 1: 1 profile p on n1 since 0 s)"));
  limit("pool", R"({"type":"node","selector":{"matchLabels":{"pool":"x"}},"maxUnavailable":2})");
  EXPECT_TRUE(allows("n2", "profile/p"));
  remove_limit("pool");
  EXPECT_THAT(desk->limits_of("n1"), SizeIs(1));
}

TEST_F(DeskTest, AMistakeAdmitsNothingOfWhatTheLimitIsAbout) {
  nodes_named({"n1"}, {.labels = {{"pool", "x"}}});
  nodes_named({"n2"});
  limit("pool", R"({"type":"node","selector":{"matchLabels":{"pool":"x"}},"maxUnavailable":"many"})");
  open();
  EXPECT_FALSE(allows("n1", "profile/p"));
  EXPECT_THAT(why_not("n1", "profile/p"), HasSubstr("limit pool has a mistake"));
  EXPECT_TRUE(allows("n2", "profile/p"));
}

TEST_F(DeskTest, ANodeThatIsDownNeedsASlotOnly) {
  nodes_named({"n1", "n2"}, {.ready = false});
  nodes_named({"n3"});
  limit("workers", R"({"type":"node","maxUnavailable":2,"maxParallel":1})");
  open();
  EXPECT_FALSE(allows("n3", "profile/p"));
  EXPECT_TRUE(allows("n1", "profile/p"));
  take("n1", "profile/p");
  EXPECT_FALSE(allows("n2", "profile/p")) << "the slot is taken";
  EXPECT_THAT(why_not("n2", "profile/p"), HasSubstr("1 of 1 at work"));
}

TEST_F(DeskTest, ManyFailuresStopWhatIsVoluntaryUntilTheyHaveBeenOverForAWhile) {
  nodes_named({"n1", "n2"}, {.ready = false});
  nodes_named({"n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  EXPECT_TRUE(allows("n1", "profile/p")) << "repair goes on";
  desk->wait(asking("n3", "profile/p"));
  node("n1");
  node("n2");
  time.run_for(seconds{29});
  EXPECT_THAT(whose_turn(), IsEmpty());
  EXPECT_THAT(why_not("n3", "profile/p"), HasSubstr("more were out than may be"));
  time.run_for(seconds{2});
  EXPECT_THAT(whose_turn(), ElementsAre("n3 profile/p"));
}

TEST_F(DeskTest, ThePoliciesOfTheReferenceCountUnavailableNodesAndPlacesOnce) {
  node("n1", {.cordoned_by = "kubectl"});
  nodes_named({"n2", "n3", "n4"});
  limit("node", R"({"limit":50,"policies":["Unschedulable"]})");
  open();
  EXPECT_EQ(group("node").used, 1);
  EXPECT_EQ(group("node").working, 0);
  take("n1", "request/r1");
  EXPECT_EQ(group("node").used, 1);
  EXPECT_TRUE(allows("n2", "request/r2"));
  take("n2", "request/r2");
  EXPECT_FALSE(allows("n3", "request/r3"));
  node("n3", {.cordoned_by = "kubectl"});
  EXPECT_FALSE(allows("n3", "request/r3")) << "it needs a slot all the same";
  desk->release("n2", "request/r2");
  EXPECT_TRUE(allows("n3", "request/r3")) << "it is unavailable anyway";
  EXPECT_FALSE(allows("n4", "request/r4"));
  node("n2", {.taint = "karpenter.sh/disrupted"});
  EXPECT_EQ(group("node").used, 2) << "other actors' taints are no policy";
}

TEST_F(DeskTest, ReservedPlacesAreNeverLent) {
  nodes_named({"n1", "n2", "n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":3,"mode":"Queue","reserve":[{"actor":"karpenter","nodes":1}]})");
  open();
  take("n1", "profile/p");
  take("n2", "profile/p");
  EXPECT_FALSE(allows("n3", "profile/p"));
  EXPECT_THAT(why_not("n3", "profile/p"), HasSubstr("(2 of 3, 1 reserved: 2 profile p)"));
  EXPECT_TRUE(allows("n3", "foreign/karpenter"));
  desk->wait(asking("n4", "profile/p"));
  node("n3", {.taint = "karpenter.sh/disrupted"});
  EXPECT_THAT(whose_turn(), IsEmpty()) << "the reserved place is used, and no other became free";
  desk->release("n1", "profile/p");
  EXPECT_THAT(whose_turn(), ElementsAre("n4 profile/p"));
}

TEST_F(DeskTest, OthersAreTestedOnlyWhereTheyQueue) {
  nodes_named({"n1", "n2"});
  limit("seen", R"({"type":"node","maxUnavailable":0})");
  open();
  EXPECT_TRUE(allows("n1", "foreign/kubectl"));
  EXPECT_FALSE(allows("n1", "profile/p"));
  limit("queue", R"({"type":"node","maxUnavailable":1,"mode":"Queue"})");
  take("n1", "foreign/kubectl");
  EXPECT_FALSE(allows("n2", "foreign/kubectl"));
  EXPECT_THAT(group("seen").overshoot, SizeIs(0)) << "what was given here is nobody's overshoot";
}

TEST_F(DeskTest, OvershootNamesWhoWasCountedLast) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  node("n2", {.taint = "karpenter.sh/disrupted"});
  const auto over = group("workers").overshoot;
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].actor, "karpenter");
  EXPECT_EQ(over[0].node, "n2");
}

TEST_F(DeskTest, AFreedPlaceIsKeptForTheFirstInOrder) {
  nodes_named({"n1", "n2", "n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  wait("n2", "profile/p");
  wait("n3", "nodemaintenance/m", Rank::person);
  EXPECT_THAT(queue(), ElementsAre("n3", "n2"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  desk->release("n1", "profile/p");
  EXPECT_FALSE(allows("n4", "profile/p")) << "newcomers stand behind, even before it is told";
  EXPECT_FALSE(allows("n2", "profile/p"));
  EXPECT_TRUE(allows("n3", "nodemaintenance/m", Rank::person));
  EXPECT_THAT(whose_turn(), ElementsAre("n3 nodemaintenance/m"));
  desk->leave("n3", "nodemaintenance/m");
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
  take("n2", "profile/p");
  EXPECT_THAT(queue(), IsEmpty());
  EXPECT_EQ(group("workers").used, 1);
}

TEST_F(DeskTest, WhoDoesNotTakeItsPlaceIsNotAskedAgainAtOnce) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  wait("n1", "profile/p");
  wait("n2", "profile/p");
  EXPECT_THAT(whose_turn(), ElementsAre("n1 profile/p"));
  desk->wait(asking("n1", "profile/p"));
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
  desk->leave("n2", "profile/p");
  EXPECT_THAT(whose_turn(), IsEmpty());
  time.run_for(seconds{6});
  EXPECT_THAT(whose_turn(), ElementsAre("n1 profile/p"));
}

TEST_F(DeskTest, WhoNeedsALimitThatIsFullDoesNotHoldUpOthers) {
  nodes_named({"a1", "a2"}, {.labels = {{"zone", "a"}}});
  nodes_named({"b1", "b2"}, {.labels = {{"zone", "b"}}});
  limit("all", R"({"type":"node","maxUnavailable":2})");
  limit("zones", R"({"type":"node","groupBy":["zone"],"maxUnavailable":1})");
  open();
  take("a1", "profile/p");
  take("b1", "profile/p");
  wait("a2", "profile/p");
  wait("b2", "profile/p");
  desk->release("b1", "profile/p");
  EXPECT_THAT(whose_turn(), ElementsAre("b2 profile/p"));
  take("b2", "profile/p");
  EXPECT_THAT(whose_turn(), IsEmpty());
}

TEST_F(DeskTest, WhoIsPassedOverForAnHourStopsLaterOnesOfItsClass) {
  nodes_named({"a1", "a2"}, {.labels = {{"zone", "a"}}});
  nodes_named({"b1", "b2", "b3"}, {.labels = {{"zone", "b"}}});
  limit("all", R"({"type":"node","maxUnavailable":4})");
  limit("zones", R"({"type":"node","groupBy":["zone"],"maxUnavailable":1})");
  open();
  take("a1", "profile/p");
  wait("a2", "profile/p");
  take("b1", "profile/p");
  time.run_for(minutes{59});
  desk->release("b1", "profile/p");
  EXPECT_TRUE(allows("b2", "profile/p"));
  time.run_for(minutes{2});
  EXPECT_FALSE(allows("b2", "profile/p"));
  EXPECT_TRUE(allows("b2", "nodemaintenance/m", Rank::person)) << "another class";
  EXPECT_THAT(why_not("b2", "profile/p"), HasSubstr("after a2"));
  wait("b2", "profile/p");
  EXPECT_THAT(whose_turn(), IsEmpty());
  desk->leave("a2", "profile/p");
  EXPECT_THAT(whose_turn(), ElementsAre("b2 profile/p"));
}

TEST_F(DeskTest, WaitingMovesUpOneClassButNeverIntoDeadline) {
  nodes_named({"n1", "n2", "n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  wait("n2", "profile/p");
  time.run_for(hours{3});
  wait("n3", "nodemaintenance/m", Rank::person);
  EXPECT_THAT(queue(), ElementsAre("n3", "n2"));
  time.run_for(hours{1});
  EXPECT_THAT(queue(), ElementsAre("n2", "n3"));
  time.run_for(hours{24});
  wait("n4", "nodemaintenance/x", Rank::deadline);
  EXPECT_THAT(queue(), ElementsAre("n4", "n3", "n2"));
  EXPECT_EQ(desk->queue()[1].rank, Rank::repair);
  EXPECT_EQ(desk->queue()[2].rank, Rank::person);
}

TEST_F(DeskTest, ANodeThatFailsIsRepairedBeforeWhatIsVoluntary) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  wait("n2", "nodemaintenance/m", Rank::person);
  wait("n3", "profile/p");
  EXPECT_THAT(queue(), ElementsAre("n2", "n3"));
  node("n3", {.ready = false});
  EXPECT_THAT(queue(), ElementsAre("n3", "n2"));
  EXPECT_EQ(desk->queue()[0].rank, Rank::repair);
}

TEST_F(DeskTest, ANodeCountsUntilItHasBeenBackForLongEnough) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1,"settleSeconds":120})");
  open();
  take("n1", "profile/p");
  wait("n2", "profile/p");
  desk->release("n1", "profile/p");
  EXPECT_EQ(group("workers").used, 1);
  EXPECT_EQ(group("workers").holders.at(0).actor, "profile/p");
  time.run_for(seconds{119});
  EXPECT_THAT(whose_turn(), IsEmpty());
  time.run_for(seconds{2});
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
}

TEST_F(DeskTest, AForeignCordonMayCountLater) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1,"foreignCordonAfter":"10m"})");
  open();
  node("n1", {.cordoned_by = "kubectl"});
  EXPECT_EQ(group("workers").used, 0);
  time.run_for(minutes{11});
  EXPECT_EQ(group("workers").used, 1);
  EXPECT_THAT(why_not("n2", "profile/p"), HasSubstr("1 kubectl on n1 since 11 min"));
}

TEST_F(DeskTest, RequestsKeepTheirInterval) {
  nodes_named({"n1", "n2", "n3"});
  limit("node", R"({"limit":100,"intervalSeconds":60})");
  open();
  take("n1", "request/r1");
  const auto answer = desk->ask(asking("n2", "request/r2"), Desk::Detail::text);
  EXPECT_FALSE(answer.allowed);
  EXPECT_EQ(answer.changes_at, loop->wall_now() + seconds{60});
  EXPECT_THAT(answer.text, HasSubstr("limit node lets the next request begin at"));
  EXPECT_TRUE(allows("n2", "profile/p"));
  desk->wait(asking("n2", "request/r2"));
  desk->wait(asking("n3", "request/r3"));
  time.run_for(seconds{61});
  EXPECT_THAT(whose_turn(), ElementsAre("n2 request/r2"));
  take("n2", "request/r2");
  desk->release("n2", "request/r2");
  time.run_for(seconds{59});
  EXPECT_THAT(whose_turn(), IsEmpty());
  time.run_for(seconds{2});
  EXPECT_THAT(whose_turn(), ElementsAre("n3 request/r3"));
}

TEST_F(DeskTest, TheIntervalIsReadFromTheStatusAfterARestart) {
  nodes_named({"n1"});
  limit("node", R"({"limit":100,"intervalSeconds":60})",
        fmt::format(R"({{"lastFinishTime":"{}"}})", io::format_whole_seconds(loop->wall_now())));
  open();
  EXPECT_FALSE(allows("n1", "request/r"));
  time.run_for(seconds{61});
  EXPECT_TRUE(allows("n1", "request/r"));
}

TEST_F(DeskTest, ANodeThatIsDeletedWhileItIsOutIsMissing) {
  nodes_named({"n1", "n2", "n3", "n4"});
  limit("workers", R"({"type":"node","maxUnavailable":"25%"})");
  open();
  take("n1", "nodemaintenance/m");
  remove_node("n1");
  EXPECT_EQ(group("workers").missing, 1);
  EXPECT_EQ(group("workers").expected, 4);
  EXPECT_EQ(group("workers").cap, 1) << "three of four are there";
  EXPECT_FALSE(allows("n2", "profile/p"));
  EXPECT_THAT(why_not("n2", "profile/p"), HasSubstr("1 missing on n1"));
  ASSERT_THAT(ledger->entries(), SizeIs(1));
  EXPECT_EQ(ledger->entries().begin()->second.admission.by, "missing");
  desk->release("n1", "nodemaintenance/m");
  EXPECT_EQ(group("workers").missing, 1);
  // Under its name, and another node: it does not inherit the place.
  time.run_for(seconds{5});
  node("n1", {.uid = "second"});
  EXPECT_EQ(group("workers").missing, 0);
  EXPECT_THAT(ledger->entries(), IsEmpty());
  EXPECT_TRUE(allows("n2", "profile/p"));
}

TEST_F(DeskTest, APlaceIsNotInheritedByTheNextNodeOfItsName) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  remove_node("n1");
  time.run_for(seconds{1});
  node("n1", {.uid = "second"});
  EXPECT_FALSE(desk->has("n1", "profile/p"));
  EXPECT_EQ(group("workers").used, 0);
  take("n2", "profile/q");
  EXPECT_FALSE(allows("n1", "profile/p"));
}

// By our clock it was made before the old one was deleted.
TEST_F(DeskTest, ANodeMadeAnewUnderItsNameIsBackWhateverTheClocksSay) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  births["new"] = loop->wall_now() - seconds{5};
  remove_node("n1");
  desk->release("n1", "profile/p");
  EXPECT_EQ(group("workers").missing, 1);
  node("n1", {.uid = "new"});
  EXPECT_EQ(group("workers").missing, 0);
  EXPECT_TRUE(allows("n2", "profile/p"));
}

TEST_F(DeskTest, MissingEndsAfterAnHour) {
  nodes_named({"n1", "n2"});
  node("n3", {.taint = "ToBeDeletedByClusterAutoscaler"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  node("n1", {.ready = false});
  remove_node("n1");
  remove_node("n3");
  EXPECT_EQ(group("workers").missing, 1) << "what the autoscaler removes is not needed";
  time.run_for(minutes{61});
  EXPECT_EQ(group("workers").missing, 0);
  EXPECT_THAT(ledger->entries(), IsEmpty());
}

TEST_F(DeskTest, HoweverManyVanishTheLedgerHasRoomForAdmissions) {
  ledger.emplace(*loop, client, problems, io::Log{}, metrics, budget::LedgerOptions{.ns = "ns", .identity = "me"});
  for (int i = 0; i < 1'000; ++i) node(fmt::format("n{}", i), {.ready = false});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  const int64_t room = ledger->room();
  for (int i = 0; i < 1'000; ++i) remove_node(fmt::format("n{}", i));
  EXPECT_EQ(group("workers").missing, 1'000);
  EXPECT_GT(ledger->entries().size(), 100u);
  EXPECT_LT(ledger->room(), room);
  EXPECT_GE(ledger->room(), 95);
}

TEST_F(DeskTest, HoldsOfTerminalsAreSlotsByThemselves) {
  node("n1", {.holder = "terminal/ana@host"});
  nodes_named({"n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  limit("node", R"({"limit":1})");
  open();
  EXPECT_EQ(group("workers").working, 1);
  EXPECT_EQ(group("node").working, 1);
  EXPECT_FALSE(allows("n2", "profile/p"));
  EXPECT_THAT(why_not("n2", "profile/p"), HasSubstr("1 terminal ana@host on n1"));
}

TEST_F(DeskTest, AnotherMaintenanceControllerIsToldByItsLabel) {
  node("n1", {.labels = {{"cloud.sap/maintenance-state", "in-maintenance"}}});
  nodes_named({"n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  EXPECT_EQ(group("workers").used, 1);
  EXPECT_EQ(group("workers").holders.at(0).actor, "maintenance-controller");
  take("n1", "profile/p");
  EXPECT_EQ(group("workers").used, 1);
  EXPECT_THAT(group("workers").holders, SizeIs(1));
}

TEST_F(DeskTest, WhatAPredecessorAdmittedCountsUntilItHasEnded) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":2})");
  const io::Wall now = loop->wall_now();
  budget::LedgerRecord record{3, "before", 9, {}};
  for (const budget::Admission& admission :
       {budget::Admission{.uid = "uid-n1", .node = "n1", .by = "nodemaintenance/m", .since = now},
        budget::Admission{.uid = "gone", .node = "n0", .by = "missing", .since = now, .groups = {"workers"}}}) {
    record.admitted.emplace(admission.key(), admission);
  }
  auto lease = kube::Json::object();
  lease.set({"metadata", "annotations", budget::Ledger::kAnnotation}, record.text());
  api.put("/apis/coordination.k8s.io/v1/namespaces/ns/leases/careen-ledger", lease);
  ledger.emplace(*loop, client, problems, io::Log{}, metrics, budget::LedgerOptions{.ns = "ns", .identity = "me"});
  io::Scope scope(*loop);
  scope.spawn(ledger->take_over());
  time.run_for(seconds{5});
  ASSERT_THAT(ledger->entries(), SizeIs(2));
  open();
  EXPECT_TRUE(allows("n2", "profile/p"));
  desk->inherit();
  EXPECT_EQ(group("workers").used, 2);
  EXPECT_FALSE(allows("n2", "profile/p"));
  // It has looked, and takes it.
  take("n1", "nodemaintenance/m");
  EXPECT_EQ(group("workers").used, 2);
  desk->release("n1", "nodemaintenance/m");
  EXPECT_EQ(group("workers").used, 1);
  // Or it was nothing.
  take("n2", "profile/p");
  EXPECT_FALSE(allows("n3", "profile/p"));
  time.run_for(seconds{5});
  node("n4");
  EXPECT_EQ(group("workers").missing, 0);
  EXPECT_FALSE(ledger->has("missing@gone"));
}

// Whoever has just been cordoned may be about to stand in line; whoever was when nobody looked has begun.
TEST_F(DeskTest, WhoLeftBeforeThisProcessLedDoesNotShowItselfFirst) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":2,"mode":"Queue"})");
  open();
  node("n1", {.cordoned_by = "kubectl"});
  EXPECT_EQ(group("workers").used, 0);
  desk->inherit();
  EXPECT_EQ(group("workers").used, 1);
  time.run_for(seconds{1});
  node("n2", {.cordoned_by = "kubectl"});
  EXPECT_EQ(group("workers").used, 1);
  time.run_for(seconds{4});
  EXPECT_EQ(group("workers").used, 2);
}

TEST_F(DeskTest, WhatAPredecessorAdmittedAndNobodyTakesEndsWithItsEntry) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  ledger->reserve({.uid = "uid-n1", .node = "n1", .by = "profile/p", .since = loop->wall_now()});
  const_cast<budget::Ledger::Entry&>(ledger->entries().begin()->second).inherited = true;
  desk->inherit();
  EXPECT_FALSE(allows("n2", "profile/p"));
  wait("n2", "profile/p");
  ledger->finish("uid-n1");
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
}

TEST_F(DeskTest, ExpectedTimesAreLearned) {
  nodes_named({"n1", "n2", "n3"});
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  open();
  take("n1", "profile/p");
  time.run_for(minutes{20});
  wait("n2", "profile/p");
  EXPECT_FALSE(desk->queue().at(0).expected);
  desk->release("n1", "profile/p");
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/p"));
  take("n2", "profile/p");
  const io::Wall began = loop->wall_now();
  wait("n3", "profile/p");
  wait("n1", "profile/p");
  // As long as the one before it had its place.
  const io::Duration usual = minutes{20} + seconds{1};
  EXPECT_EQ(desk->queue().at(0).expected, began + usual);
  EXPECT_EQ(desk->queue().at(1).expected, began + 2 * usual);
  EXPECT_THAT(desk->queue().at(0).groups, ElementsAre("workers"));
}

TEST_F(DeskTest, AStatusThatIsWrittenCountsNothingAnew) {
  nodes_named({"n1", "n2"});
  limit("workers", R"({"type":"node","maxUnavailable":1,"settleSeconds":600})");
  open();
  take("n1", "profile/p");
  desk->release("n1", "profile/p");
  limit("workers", R"({"type":"node","maxUnavailable":1,"settleSeconds":600})", R"({"limit":0})");
  EXPECT_EQ(group("workers").used, 1);
  limit("workers", R"({"type":"node","maxUnavailable":2,"settleSeconds":600})");
  EXPECT_EQ(group("workers").used, 1) << "nor does a changed limit forget who settles";
  EXPECT_EQ(desk->find("workers")->settle, minutes{10});
}

TEST_F(DeskTest, TextsAreBoundedAndHarmless) {
  limit("workers", R"({"type":"node","maxUnavailable":0})");
  std::string hostile = "\x1b[31m" + std::string(5000, 'x') + "\n";
  for (int i = 0; i < 20; ++i) node(fmt::format("n{}", i), {.cordoned_by = fmt::format("a{}{}", i, hostile)});
  open();
  const std::string text = why_not("n0", "profile/p");
  EXPECT_LT(text.size(), 1000u);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_THAT(text, HasSubstr("and 15 more"));
}

}  // namespace
}  // namespace careen::limits
