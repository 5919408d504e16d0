// Who else waits and who else has a place, on a desk with nodes and limits of its own.
#include "limits/foreign_places.h"

#include "limits/test_desk.h"

namespace careen::limits {
namespace {

using io::minutes;
using io::seconds;
using testing::HasSubstr;
using Outcome = ForeignPlaces::Outcome;

class ForeignPlacesTest : public testing::Test, public DeskWorld {
 protected:
  void SetUp() override {
    for (const char* name : {"n1", "n2", "n3", "n4"}) node(name);
    limit("workers", R"({"type":"node","maxUnavailable":1,"mode":"Queue"})");
    open();
    lead();
  }
  void lead() {
    work.emplace(*loop);
    places.emplace(ForeignPlaces::Parts{*loop, nodes, *desk, *ledger});
    places->take_over();
    work->spawn(places->run());
    time.settle();
  }
  void cordon(const std::string& name, const std::string& by = "kubectl") { node(name, {.cordoned_by = by}); }
  static io::Task<void> keep(io::Task<ForeignPlaces::Answer> task, std::optional<ForeignPlaces::Answer>& out) {
    out = co_await std::move(task);
  }
  ForeignPlaces::Answer evict(const std::string& name, const std::string& user = "ana", bool dry_run = false) {
    const kube::Node* const known = nodes.find(name);
    std::optional<ForeignPlaces::Answer> answer;
    io::Scope scope(*loop);
    scope.spawn(keep(places->evict({.node = name,
                                    .uid = known->uid,
                                    .version = known->version,
                                    .facts = facts_of(*known),
                                    .user = user,
                                    .dry_run = dry_run,
                                    .patience = seconds{1}}),
                     answer));
    EXPECT_TRUE(time.run_until([&] { return answer.has_value(); }, minutes{1}));
    time.settle();
    return answer.value_or(ForeignPlaces::Answer{});
  }
  std::vector<std::string> line() {
    std::vector<std::string> out;
    for (const Waiting& one : desk->queue()) {
      out.push_back(fmt::format("{} {} {}", one.asking.node, one.asking.who, name_of(one.rank)));
    }
    return out;
  }
  std::vector<std::string> recorded() {
    std::vector<std::string> out;
    for (const auto& [key, entry] : ledger->entries()) out.push_back(entry.admission.by + " " + entry.admission.node);
    return out;
  }

  std::optional<io::Scope> work;
  std::optional<ForeignPlaces> places;
};

TEST_F(ForeignPlacesTest, OneGoesTheOtherWaitsAndGoesNext) {
  cordon("n1");
  EXPECT_EQ(evict("n1").outcome, Outcome::admitted);
  EXPECT_EQ(evict("n1").outcome, Outcome::placed);
  cordon("n2");
  const ForeignPlaces::Answer no = evict("n2");
  EXPECT_EQ(no.outcome, Outcome::waits);
  EXPECT_THAT(no.text, HasSubstr("workers"));
  EXPECT_THAT(no.text, HasSubstr("kubectl"));
  EXPECT_THAT(line(), testing::ElementsAre("n2 foreign/kubectl person"));
  EXPECT_THAT(recorded(), testing::Contains("foreign/kubectl n1"));
  node("n1");
  time.settle();
  EXPECT_EQ(places->placed(), 0u) << "it is back";
  EXPECT_EQ(evict("n2").outcome, Outcome::admitted);
  EXPECT_TRUE(line().empty());
}

TEST_F(ForeignPlacesTest, TheRefusedWaitAndAreNotCounted) {
  for (const char* name : {"n1", "n2", "n3"}) cordon(name);
  EXPECT_EQ(evict("n1").outcome, Outcome::admitted) << "nobody counts who has only just begun";
  EXPECT_EQ(evict("n2").outcome, Outcome::waits);
  EXPECT_EQ(evict("n3").outcome, Outcome::waits);
  time.run_for(minutes{5});
  const GroupState now = group("workers");
  EXPECT_EQ(now.used, 1);
  EXPECT_EQ(now.waiting, 2u);
  node("n1");
  time.settle();
  EXPECT_EQ(evict("n3").outcome, Outcome::waits) << "n2 is before it";
  EXPECT_EQ(evict("n2").outcome, Outcome::admitted);
}

TEST_F(ForeignPlacesTest, WhoEmptiesANodeOfCareensStaysWhenCareenIsThrough) {
  desk->take({"n1", nodes.find("n1")->uid, "profile/p", "profile/p", loop->wall_now()});
  cordon("n1");
  EXPECT_TRUE(evict("n1").allowed());
  EXPECT_THAT(recorded(), testing::Contains("foreign/kubectl n1"));
  desk->release("n1", "profile/p");
  time.settle();
  EXPECT_EQ(group("workers").used, 1);
  cordon("n2");
  EXPECT_EQ(evict("n2").outcome, Outcome::waits);
  node("n1");
  time.settle();
  EXPECT_EQ(places->placed(), 0u);
}

// Its place was given by what a fresh look showed, and its watch tells of both at once.
TEST_F(ForeignPlacesTest, WhoIsBackWhenItsCordonIsHeardOfHasNoPlaceAnyMore) {
  cordon("n1");
  const std::vector<Fact> facts = facts_of(*nodes.find("n1"));
  node("n1");
  const uint64_t shown = nodes.find("n1")->version + 1;
  std::optional<ForeignPlaces::Answer> answer;
  io::Scope scope(*loop);
  scope.spawn(keep(places->evict({.node = "n1",
                                  .uid = nodes.find("n1")->uid,
                                  .version = shown,
                                  .facts = facts,
                                  .user = "ana",
                                  .patience = seconds{1}}),
                   answer));
  EXPECT_TRUE(time.run_until([&] { return answer.has_value(); }, minutes{1}));
  time.run_for(seconds{1});
  EXPECT_EQ(places->placed(), 1u) << "nothing was heard of it yet";
  node("n1", {.labels = {{"seen", "later"}}});
  time.settle();
  EXPECT_EQ(places->placed(), 0u);
}

TEST_F(ForeignPlacesTest, ADryRunChangesNothing) {
  cordon("n1");
  EXPECT_TRUE(evict("n1", "ana", true).allowed());
  EXPECT_EQ(places->placed(), 0u);
  evict("n1");
  cordon("n2");
  EXPECT_FALSE(evict("n2", "ana", true).allowed());
  EXPECT_TRUE(line().empty());
}

TEST_F(ForeignPlacesTest, APersonGoesBeforeACampaign) {
  cordon("n1");
  evict("n1");
  cordon("n2", "kured");
  evict("n2", "system:serviceaccount:kube-system:kured");
  cordon("n3");
  evict("n3");
  EXPECT_THAT(line(), testing::ElementsAre("n3 foreign/kubectl person", "n2 foreign/kured campaign"));
}

TEST_F(ForeignPlacesTest, WhoDoesNotTryAgainLosesItsTurn) {
  cordon("n1");
  evict("n1");
  cordon("n2");
  evict("n2");
  time.run_for(minutes{14});
  EXPECT_EQ(places->waiting(), 1u);
  evict("n2");
  time.run_for(minutes{14});
  EXPECT_EQ(places->waiting(), 1u);
  time.run_for(minutes{2});
  EXPECT_EQ(places->waiting(), 0u);
  EXPECT_TRUE(line().empty());
}

TEST_F(ForeignPlacesTest, WhoIsNotLeavingIsPassedOverAndKeepsItsTurn) {
  cordon("n1");
  evict("n1");
  cordon("n2");
  evict("n2");
  time.run_for(seconds{10});
  cordon("n3");
  evict("n3");
  node("n2");
  time.settle();
  EXPECT_THAT(line(), testing::ElementsAre("n3 foreign/kubectl person"));
  cordon("n2");
  time.settle();
  EXPECT_THAT(line(), testing::ElementsAre("n2 foreign/kubectl person", "n3 foreign/kubectl person"));
}

TEST_F(ForeignPlacesTest, APlaceThatNobodyUsesEnds) {
  const kube::Node* const known = nodes.find("n1");
  std::optional<ForeignPlaces::Answer> answer;
  work->spawn(keep(places->evict({.node = "n1",
                                  .uid = known->uid,
                                  .facts = {{.actor = "kubectl", .what = "cordoned", .since = {}, .cordon = true}},
                                  .user = "ana",
                                  .patience = seconds{1}}),
                   answer));
  time.settle();
  ASSERT_TRUE(answer && answer->allowed()) << "a cordon that only the API server knows yet";
  time.run_for(minutes{9});
  EXPECT_EQ(places->placed(), 1u);
  time.run_for(minutes{2});
  EXPECT_EQ(places->placed(), 0u);
}

TEST_F(ForeignPlacesTest, ANodeThatIsDownKeepsItsPlace) {
  cordon("n1");
  evict("n1");
  node("n1", {.ready = false});
  time.run_for(minutes{30});
  EXPECT_EQ(places->placed(), 1u) << "it is rebooting";
  node("n1");
  time.settle();
  EXPECT_EQ(places->placed(), 0u);
}

TEST_F(ForeignPlacesTest, WhatHadBegunBeforeTheLimitMadeWaitGoesOn) {
  limit("workers", R"({"type":"node","maxUnavailable":1,"mode":"Observe"})");
  time.settle();
  EXPECT_THAT(recorded(), testing::IsEmpty());
  for (const char* name : {"n1", "n2"}) cordon(name);
  time.run_for(minutes{1});
  limit("workers", R"({"type":"node","maxUnavailable":1,"mode":"Queue"})");
  time.settle();
  EXPECT_EQ(places->placed(), 2u) << "what had begun before";
  EXPECT_EQ(evict("n1").outcome, Outcome::placed);
  cordon("n3");
  EXPECT_EQ(evict("n3").outcome, Outcome::waits);
}

TEST_F(ForeignPlacesTest, ASuccessorDoesNotBeginAnew) {
  cordon("n1");
  evict("n1");
  cordon("n2");
  evict("n2");
  places.reset();
  work.reset();
  desk.reset();
  open();
  lead();
  EXPECT_EQ(places->placed(), 1u);
  EXPECT_EQ(evict("n1").outcome, Outcome::placed);
  EXPECT_EQ(evict("n2").outcome, Outcome::waits);
}

TEST_F(ForeignPlacesTest, WhereTheLedgerWasLostWhatIsLeavingGoesOn) {
  cordon("n1");
  evict("n1");
  cordon("n2");
  evict("n2");
  places.reset();
  work.reset();
  desk.reset();
  ledger.emplace(*loop, client, problems, io::Log{}, metrics, std::nullopt);
  open();
  lead();
  EXPECT_EQ(places->placed(), 2u);
}

TEST_F(ForeignPlacesTest, ANodeThatIsMadeAnewStartsAnew) {
  cordon("n1");
  evict("n1");
  remove_node("n1");
  time.settle();
  EXPECT_EQ(places->placed(), 0u);
  node("n1", {.cordoned_by = "kubectl", .uid = "another"});
  time.settle();
  EXPECT_EQ(evict("n1").outcome, Outcome::admitted);
}

TEST_F(ForeignPlacesTest, WhereNoLimitMakesWaitAnyMoreNothingIsLeft) {
  cordon("n1");
  evict("n1");
  cordon("n2");
  evict("n2");
  limit("workers", R"({"type":"node","maxUnavailable":1})");
  time.settle();
  EXPECT_EQ(places->placed() + places->waiting(), 0u);
  EXPECT_TRUE(line().empty());
  EXPECT_THAT(recorded(), testing::IsEmpty());
}

// Whoever asks for 10,000 evictions gets as many answers, and one turn a node.
TEST_F(ForeignPlacesTest, ThereIsOneTurnForEachNode) {
  cordon("n1");
  evict("n1");
  for (const char* name : {"n2", "n3", "n4"}) cordon(name, std::string("actor-of-") + name);
  for (int i = 0; i < 1000; ++i) {
    for (const char* name : {"n2", "n3", "n4"}) EXPECT_FALSE(evict(name, "user-" + std::to_string(i)).allowed());
  }
  EXPECT_EQ(places->waiting(), 3u);
  EXPECT_EQ(line().size(), 3u);
}

}  // namespace
}  // namespace careen::limits
