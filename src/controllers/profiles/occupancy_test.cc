#include "controllers/profiles/occupancy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class OccupancyTest : public WorldTest {
 protected:
  OccupancyTest() { configure("{intervals: {requeue: 1m}, profiles: [{name: p}, {name: q}]}"); }
  std::vector<std::string> who(const Scope& scope, int64_t max = 10, io::Duration skip_after = {}) {
    return holders(occupancy, {scope, max, skip_after}, now, {}, 100);
  }
  BudgetUse use(const Scope& scope, int64_t max = 10, io::Duration skip_after = {}, std::string_view asking = {}) {
    return measure(occupancy, {scope, max, skip_after}, now, asking);
  }
  Scope zone(std::string value) { return {"", {{"zone", std::move(value)}}}; }
};

TEST_F(OccupancyTest, ProfilesOfALabel) {
  EXPECT_THAT(profiles_of(std::nullopt), ElementsAre("default"));
  EXPECT_THAT(profiles_of(""), ElementsAre("default"));
  EXPECT_THAT(profiles_of("a--b--c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(profiles_of("a---b"), ElementsAre("a", "-b"));
  EXPECT_THAT(profiles_of("a--b--a"), ElementsAre("a", "b"));
}

TEST_F(OccupancyTest, CountsWhatTheDataOrTheLabelSays) {
  put_in("a", "p", kIn);
  put_in("b", "p", State::maintenance_required);
  put("label", {{std::string(kStateLabel), "in-maintenance"}});
  put("data", {{std::string(kProfileLabel), "p"}}, {{std::string(kDataAnnotation), data_of("p", kIn, now)}});
  put("plain");
  EXPECT_THAT(who({}), ElementsAre("a", "data", "label"));
}

TEST_F(OccupancyTest, DataOfAProfileThatIsNotConfiguredOrNotNamedDoesNotCount) {
  put("a", {{std::string(kProfileLabel), "unknown"}}, {{std::string(kDataAnnotation), data_of("unknown", kIn, now)}});
  put("b", {{std::string(kProfileLabel), "q"}}, {{std::string(kDataAnnotation), data_of("p", kIn, now)}});
  EXPECT_THAT(who({}), IsEmpty());
}

TEST_F(OccupancyTest, HoldersAreTheFirstAsPeopleCount) {
  for (const char* name : {"node-1", "node-10", "node-2", "node-9"}) put_in(name, "p", kIn);
  EXPECT_THAT(who({}), ElementsAre("node-1", "node-2", "node-9", "node-10"));
  EXPECT_THAT(holders(occupancy, {{}, 10, {}}, now, {}, 3), ElementsAre("node-1", "node-2", "node-9"));
}

TEST_F(OccupancyTest, AnAdmissionCountsUntilItEnds) {
  put("a");
  reserve("a");
  EXPECT_THAT(who({}), ElementsAre("a"));
  ledger.finish("uid-a");
  EXPECT_THAT(occupancy.update("a", *config).left, ElementsAre(Scope{}));
  EXPECT_THAT(who({}), IsEmpty());
}

TEST_F(OccupancyTest, APlaceKeptForTheAskingNodeDoesNotCountAgainstIt) {
  put("a");
  reserve("a");
  put_in("b", "p", kIn);
  EXPECT_EQ(use({}, 10, {}, "a").used, 1);
  EXPECT_EQ(use({}, 10, {}, "b").used, 2);
}

TEST_F(OccupancyTest, AnAdmittedNodeThatIsNotKnownCountsInEveryScope) {
  reserve("ghost");
  EXPECT_EQ(use({}).used, 1);
  EXPECT_EQ(use(zone("x")).used, 1);
  EXPECT_EQ(use({"p", {}}).used, 1);
}

TEST_F(OccupancyTest, AnAdmissionOfAnEarlierNodeOfThatNameIsNotThisNodes) {
  ledger.reserve({"uid-of-before", "a", "profile/p", now});
  put("a");
  EXPECT_THAT(who({}), IsEmpty());
}

TEST_F(OccupancyTest, ScopesByProfileAndLabels) {
  put_in("a", "p", kIn, {{"zone", "x"}});
  put_in("b", "p--q", kIn, {{"zone", "y"}});
  put_in("c", "q", kIn, {{"zone", "x"}});
  EXPECT_THAT(who({"p", {}}), ElementsAre("a", "b"));
  EXPECT_THAT(who({"q", {}}), ElementsAre("b", "c"));
  EXPECT_THAT(who(zone("x")), ElementsAre("a", "c"));
  EXPECT_THAT(who({"p", {{"zone", "x"}}}), ElementsAre("a"));
  EXPECT_THAT(who(zone("z")), IsEmpty());
}

TEST_F(OccupancyTest, ANodeWithoutProfileLabelIsInNoProfilesScope) {
  put("plain", {{std::string(kStateLabel), "in-maintenance"}});
  put("unnamed", {{std::string(kStateLabel), "in-maintenance"}, {std::string(kProfileLabel), ""}});
  EXPECT_THAT(who({"default", {}}), IsEmpty());
  EXPECT_THAT(who({}), ElementsAre("plain", "unnamed"));
}

TEST_F(OccupancyTest, TellsWhichScopesChanged) {
  put_in("a", "p", kIn, {{"zone", "x"}});
  occupancy.members({});
  occupancy.members(zone("x"));
  occupancy.members(zone("y"));
  put_in("a", "p", kIn, {{"zone", "y"}});
  EXPECT_THAT(who(zone("x")), IsEmpty());
  EXPECT_THAT(who(zone("y")), ElementsAre("a"));

  auto put_quietly = [&](State state, const char* value, io::Wall since) {
    const std::optional<Config> kept = std::exchange(config, std::nullopt);
    put_in("a", "p", state, {{"zone", value}}, since);
  };
  const Config loaded = config_of("{intervals: {requeue: 1m}, profiles: [{name: p}]}");
  put_quietly(kIn, "x", now - io::hours{1});
  auto changes = occupancy.update("a", loaded);
  EXPECT_THAT(changes.left, ElementsAre(zone("y")));
  EXPECT_THAT(changes.joined, ElementsAre(zone("x")));
  EXPECT_THAT(changes.altered, IsEmpty());
  put_quietly(kIn, "x", now);
  changes = occupancy.update("a", loaded);
  EXPECT_THAT(changes.left, IsEmpty());
  EXPECT_THAT(changes.joined, IsEmpty());
  EXPECT_THAT(changes.altered, UnorderedElementsAre(Scope{}, zone("x")));
  put_quietly(State::operational, "x", now);
  EXPECT_THAT(occupancy.update("a", loaded).left, UnorderedElementsAre(Scope{}, zone("x")));
}

TEST_F(OccupancyTest, OldMaintenancesAreForgottenIfTheLimitSaysSo) {
  put_in("old", "p", kIn, {}, now - io::hours{3});
  put_in("mid", "p", kIn, {}, now - io::hours{1});
  put_in("new", "p", kIn, {}, now - io::minutes{1});
  EXPECT_EQ(use({}).used, 3);
  EXPECT_THAT(who({}, 10, io::hours{2}), ElementsAre("mid", "new"));
  // Exactly that old is too old.
  EXPECT_THAT(who({}, 10, io::hours{1}), ElementsAre("new"));
  EXPECT_EQ(use({}, 2, io::hours{2}).free_at, now + io::hours{1});
  EXPECT_EQ(use({}, 1, io::hours{2}).free_at, now + io::hours{2} - io::minutes{1});
  EXPECT_EQ(use({}, 3, io::hours{2}).free_at, std::nullopt);
}

TEST_F(OccupancyTest, AnAdmissionNeverGrowsOld) {
  put("a");
  reserve("a");
  now += io::hours{100};
  const BudgetUse used = use({}, 1, io::hours{2});
  EXPECT_EQ(used.used, 1);
  EXPECT_EQ(used.free_at, std::nullopt);
}

// Somebody has edited its label before: its data are old, and its maintenance is not.
TEST_F(OccupancyTest, NorDoesThatOfANodeThatSaidItWasThereBefore) {
  NodeData data;
  data.profiles["p"] = {now - io::hours{5}, State::maintenance_required, State::maintenance_required};
  put("a", {{std::string(kStateLabel), "in-maintenance"}}, {{std::string(kDataAnnotation), format_node_data(data)}});
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 0);
  reserve("a");
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 1);
}

TEST_F(OccupancyTest, TheAgeIsThatOfTheProfileAskedFor) {
  NodeData data;
  data.profiles["p"] = {now - io::hours{5}, kIn, kIn};
  data.profiles["q"] = {now - io::minutes{5}, State::operational, State::operational};
  put("a", {{std::string(kProfileLabel), "p--q"}}, {{std::string(kDataAnnotation), format_node_data(data)}});
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
  EXPECT_EQ(use({"p", {}}, 1, io::hours{1}).used, 0);
}

// Nothing that one node says of itself keeps the others from going.
TEST_F(OccupancyTest, ANodeWhoseDataCannotBeReadHasItsPlaceAndNeverGrowsOld) {
  put("a", {{std::string(kStateLabel), "in-maintenance"}}, {{std::string(kDataAnnotation), "{broken"}});
  EXPECT_EQ(use({}).used, 1);
  const BudgetUse used = use({}, 1, io::hours{1});
  EXPECT_EQ(used.used, 1);
  EXPECT_EQ(used.free_at, std::nullopt);
  EXPECT_THAT(who({}, 1, io::hours{1}), testing::ElementsAre("a"));
  now += io::hours{24 * 365};
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
}

TEST_F(OccupancyTest, DescribesItsScope) {
  EXPECT_EQ(Scope{}.text(), "all nodes in the cluster");
  EXPECT_EQ((Scope{"p", {{"a", "1"}, {"b", "2"}}}).text(), "nodes matching the a=1,b=2 label selector");
}

}  // namespace
}  // namespace careen::profiles
