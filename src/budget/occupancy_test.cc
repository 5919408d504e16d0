#include "budget/occupancy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "budget/ledger.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "sim/test_api.h"

namespace careen::budget {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

// Nodes that say what the test wants them to.
class Sayings final : public NodeReader {
 public:
  std::optional<InState> state_of(const kube::Node& node) const override {
    const auto found = in_state.find(node.name);
    return found == in_state.end() ? std::nullopt : std::optional(found->second);
  }
  std::string key_of(std::string_view uid) const override { return claim_key("profile/p", uid); }
  bool counts(const Admission& admission) const override { return admission.counts && admission.by == "profile/p"; }
  bool belongs(const kube::Node& node, std::string_view subset) const override {
    const auto found = subsets.find(node.name);
    return found != subsets.end() && found->second.contains(std::string(subset));
  }
  std::map<std::string, InState> in_state;
  std::map<std::string, std::set<std::string>> subsets;
};

class OccupancyTest : public testing::Test {
 protected:
  using Labels = std::map<std::string, std::string>;
  void put_quietly(const std::string& name, const Labels& labels = {}) {
    kube::Json node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "name"}, name).set({"metadata", "uid"}, "uid-" + name);
    node.set({"metadata", "resourceVersion"}, std::to_string(++version));
    for (const auto& [key, value] : labels) node.set({"metadata", "labels", key}, value);
    nodes.put(*kube::decode_node(node.dump(), atoms));
  }
  void put(const std::string& name, const Labels& labels = {}) {
    put_quietly(name, labels);
    occupancy.update(name);
  }
  // In the state for as long as that, for subset p.
  void says(const std::string& name, io::Duration age = io::hours{1}) {
    says(name, NodeReader::InState{{{{"p", now - age}}}});
  }
  void says(const std::string& name, NodeReader::InState said) {
    sayings.in_state[name] = std::move(said);
    sayings.subsets[name].insert("p");
  }
  void put_in(const std::string& name, const Labels& labels = {}, io::Duration age = io::hours{1}) {
    says(name, age);
    put(name, labels);
  }
  void reserve(const std::string& name) {
    ledger.reserve({"uid-" + name, name, "profile/p", now});
    occupancy.update(name);
  }
  std::vector<std::string> who(const Scope& scope, int64_t max = 10, io::Duration skip_after = {}) {
    return holders(occupancy, {scope, max, skip_after}, now, {}, 100);
  }
  Use use(const Scope& scope, int64_t max = 10, io::Duration skip_after = {}, std::string_view asking = {}) {
    return measure(occupancy, {scope, max, skip_after}, now, asking);
  }
  static Scope zone(std::string value) { return {"", {{"zone", std::move(value)}}}; }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Wall now = loop->wall_now();
  io::Metrics metrics;
  io::Random random{1};
  io::Problems problems{io::Log{}};
  sim::TestApi api{*loop};
  std::unique_ptr<kube::Transport> transport = api.connect(*loop);
  kube::Client client{*loop, *transport, metrics, random};
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  Ledger ledger{*loop, client, problems, io::Log{}, metrics, std::nullopt};
  Sayings sayings;
  Occupancy occupancy{nodes, ledger, sayings};
  uint64_t version = 100;
};

// Whether its node is known or not.
TEST_F(OccupancyTest, WhatAnotherOwnerHasAdmittedIsNoneOfItsBusiness) {
  put("a");
  for (const std::string name : {"a", "b"}) {
    ledger.reserve({"uid-" + name, name, "other", now});
    occupancy.update(name);
  }
  EXPECT_THAT(who({}), IsEmpty());
  reserve("a");
  occupancy.rebuild();
  EXPECT_THAT(who({}), ElementsAre("a"));
}

TEST_F(OccupancyTest, CountsWhoSaysThatItIsInTheState) {
  put_in("a");
  put("b");
  EXPECT_THAT(who({}), ElementsAre("a"));
  EXPECT_TRUE(occupancy.contains("a"));
  EXPECT_FALSE(occupancy.contains("b"));
  sayings.in_state.clear();
  sayings.in_state["b"];
  occupancy.rebuild();
  EXPECT_THAT(who({}), ElementsAre("b"));
}

TEST_F(OccupancyTest, HoldersAreTheFirstAsPeopleCount) {
  for (const char* name : {"node-1", "node-10", "node-2", "node-9"}) put_in(name);
  EXPECT_THAT(who({}), ElementsAre("node-1", "node-2", "node-9", "node-10"));
  EXPECT_THAT(holders(occupancy, {{}, 10, {}}, now, {}, 3), ElementsAre("node-1", "node-2", "node-9"));
}

TEST_F(OccupancyTest, AnAdmissionCountsUntilItEnds) {
  put("a");
  reserve("a");
  EXPECT_THAT(who({}), ElementsAre("a"));
  ledger.finish("uid-a");
  EXPECT_THAT(occupancy.update("a").left, ElementsAre(Scope{}));
  EXPECT_THAT(who({}), IsEmpty());
}

TEST_F(OccupancyTest, APlaceKeptForTheAskingNodeDoesNotCountAgainstIt) {
  put("a");
  reserve("a");
  put_in("b");
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

TEST_F(OccupancyTest, ScopesBySubsetAndLabels) {
  sayings.subsets["b"] = {"q"};
  put_in("a", {{"zone", "x"}});
  put_in("b", {{"zone", "y"}});
  put_in("c", {{"zone", "x"}});
  sayings.subsets["c"] = {"q"};
  EXPECT_THAT(who({"p", {}}), ElementsAre("a", "b"));
  EXPECT_THAT(who({"q", {}}), ElementsAre("b", "c"));
  EXPECT_THAT(who(zone("x")), ElementsAre("a", "c"));
  EXPECT_THAT(who({"p", {{"zone", "x"}}}), ElementsAre("a"));
  EXPECT_THAT(who(zone("z")), IsEmpty());
  EXPECT_THAT(who(zone("")), IsEmpty());
}

TEST_F(OccupancyTest, TellsWhichScopesChanged) {
  put_in("a", {{"zone", "x"}});
  occupancy.members({});
  occupancy.members(zone("x"));
  occupancy.members(zone("y"));
  put_in("a", {{"zone", "y"}});
  EXPECT_THAT(who(zone("x")), IsEmpty());
  EXPECT_THAT(who(zone("y")), ElementsAre("a"));

  put_quietly("a", {{"zone", "x"}});
  auto changes = occupancy.update("a");
  EXPECT_THAT(changes.left, ElementsAre(zone("y")));
  EXPECT_THAT(changes.joined, ElementsAre(zone("x")));
  EXPECT_THAT(changes.altered, IsEmpty());
  says("a", io::Duration{0});
  put_quietly("a", {{"zone", "x"}});
  changes = occupancy.update("a");
  EXPECT_THAT(changes.left, IsEmpty());
  EXPECT_THAT(changes.joined, IsEmpty());
  EXPECT_THAT(changes.altered, UnorderedElementsAre(Scope{}, zone("x")));
  sayings.in_state.clear();
  EXPECT_THAT(occupancy.update("a").left, UnorderedElementsAre(Scope{}, zone("x")));
}

TEST_F(OccupancyTest, OldMaintenancesAreForgottenIfTheLimitSaysSo) {
  put_in("old", {}, io::hours{3});
  put_in("mid", {}, io::hours{1});
  put_in("new", {}, io::minutes{1});
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
  const Use used = use({}, 1, io::hours{2});
  EXPECT_EQ(used.used, 1);
  EXPECT_EQ(used.free_at, std::nullopt);
}

TEST_F(OccupancyTest, NorDoesThatOfANodeThatSaidItWasThereBefore) {
  put_in("a", {}, io::hours{5});
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 0);
  reserve("a");
  EXPECT_EQ(use({}, 1, io::hours{2}).used, 1);
}

TEST_F(OccupancyTest, TheAgeIsThatOfTheSubsetAskedFor) {
  says("a", NodeReader::InState{{{{"p", now - io::hours{5}}, {"q", now - io::minutes{5}}}}});
  put("a");
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
  EXPECT_EQ(use({"p", {}}, 1, io::hours{1}).used, 0);
}

// Nothing that one node says of itself keeps the others from going.
TEST_F(OccupancyTest, ANodeOfUnknownAgeNeverGrowsOld) {
  says("a", NodeReader::InState{});
  put("a");
  const Use used = use({}, 1, io::hours{1});
  EXPECT_EQ(used.used, 1);
  EXPECT_EQ(used.free_at, std::nullopt);
  now += io::hours{24 * 365};
  EXPECT_EQ(use({}, 1, io::hours{1}).used, 1);
}

TEST_F(OccupancyTest, DescribesItsScope) {
  EXPECT_EQ(Scope{}.text(), "all nodes in the cluster");
  EXPECT_EQ((Scope{"p", {{"a", "1"}, {"b", "2"}}}).text(), "nodes matching the a=1,b=2 label selector");
}

}  // namespace
}  // namespace careen::budget
