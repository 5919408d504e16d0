#include "view/fleet.h"

#include "view/budgets.h"
#include "view/claims.h"
#include "view/test_cluster.h"

namespace careen::view {
namespace {

using kube::Json;
using kube::JsonView;
using testing::ElementsAre;
using testing::HasSubstr;

class FleetTest : public ViewTest {};

TEST_F(FleetTest, ShowsEveryNodeItsColourAndWhatItWaitsFor) {
  add_four();
  add_node("plain", {});
  start();
  lead();
  run(io::seconds{10});
  const Json document = fleet();
  EXPECT_EQ(document["careen"]["version"].text(), "1.2.3");
  EXPECT_EQ(document["careen"]["leading"].boolean(), true);
  EXPECT_EQ(document["careen"]["identity"].text(), document["careen"]["holder"].text());
  EXPECT_EQ(document["labels"][k0].text(), kZone);
  ASSERT_EQ(document["nodes"].size(), 5u);

  const JsonView in = with(document["nodes"], "name", "a1");
  EXPECT_EQ(in["cell"].text(), "in-maintenance");
  EXPECT_EQ(in["labels"][kZone].text(), "a");
  EXPECT_EQ(in["ready"].boolean(), true);
  EXPECT_EQ(in["cordoned"].boolean(), false);
  EXPECT_FALSE(in["holds"]);
  EXPECT_EQ(in["profiles"][k0]["state"].text(), "in-maintenance");
  EXPECT_TRUE(in["profiles"][k0]["since"].text());
  EXPECT_EQ(in["profiles"][k0]["waits"].text(), "done");

  const JsonView waits = with(document["nodes"], "name", "a3");
  EXPECT_EQ(waits["cell"].text(), "maintenance-required");
  EXPECT_EQ(waits["profiles"][k0]["waits"].text(), "few (2 of 2)");
  // It has no profile label, and the default profile has no transitions.
  EXPECT_EQ(with(document["nodes"], "name", "plain")["cell"].text(), "operational");

  const JsonView states = with(document["profiles"], "name", "p")["states"];
  EXPECT_EQ(states["in-maintenance"].integer(), 3);
  EXPECT_EQ(states["maintenance-required"].integer(), 1);
  EXPECT_EQ(states["operational"].integer(), 0);
  EXPECT_EQ(document["pauses"].size(), 0u);
  EXPECT_EQ(document["drains"].size(), 0u);
  EXPECT_GT(document["timeline"].size(), 5u);
}

TEST_F(FleetTest, BudgetsOfEachGroup) {
  add_four();
  start();
  lead();
  run(io::seconds{10});
  const Json document = fleet();
  ASSERT_EQ(document["budgets"].size(), 2u) << document["budgets"].dump();
  const JsonView a = document["budgets"][k0], b = document["budgets"][1u];
  EXPECT_EQ(a["kind"].text(), "maxMaintenance");
  EXPECT_EQ(a["name"].text(), "few");
  EXPECT_THAT(std::string(a["scope"].text().value_or("")), HasSubstr("zone=a"));
  EXPECT_EQ(a["max"].integer(), 2);
  EXPECT_EQ(a["used"].integer(), 2);
  EXPECT_EQ(a["reserved"].integer(), 0);
  EXPECT_EQ(a["holders"].dump(), R"(["a1","a2"])");
  EXPECT_EQ(a["waiting"].integer(), 1);
  EXPECT_EQ(b["used"].integer(), 1);
  EXPECT_EQ(b["waiting"].integer(), 0);
}

TEST_F(FleetTest, StaggerIsABudgetOfLeases) {
  add_node("a", {{"cloud.sap/maintenance-profile", "s"}, {"go", ""}});
  add_node("b", {{"cloud.sap/maintenance-profile", "s"}, {"go", ""}});
  start({}, R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: slowly, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: kube-system}}
profiles:
- {name: s, operational: {transitions: [{check: go && slowly, next: in-maintenance}]}}
)");
  lead();
  run(io::seconds{20});
  const Json document = fleet();
  const JsonView budget = document["budgets"][k0];
  EXPECT_EQ(budget["kind"].text(), "stagger");
  EXPECT_EQ(budget["scope"].text(), "leases kube-system/turn");
  EXPECT_EQ(budget["max"].integer(), 1);
  EXPECT_EQ(budget["used"].integer(), 1);
  EXPECT_EQ(budget["holders"].size(), 1u);
  EXPECT_TRUE(budget["free_at"].text());
  // It waits, and knows until when.
  const JsonView waits = with(document["nodes"], "cell", "operational");
  EXPECT_EQ(waits["profiles"][k0]["waits"].text(), "slowly (1 of 1)");
  EXPECT_EQ(waits["profiles"][k0]["wake"].text(), budget["free_at"].text());
}

TEST_F(FleetTest, OnlyNodeMaintenances) {
  define_maintenances();
  add_node("n", {{kZone, "a"}});
  start({.profiles = false, .controllers = {nodemaintenance::kind().usual()}});
  lead();
  auto object = Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}, {"kind", "NodeMaintenance"}});
  object.set({"spec", "nodeName"}, "n").set({"spec", "reason"}, "</script><b>\"disk\"");
  cluster.api.put("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/m", std::move(object));
  run(io::seconds{30});
  const Json document = fleet();
  const JsonView row = document["nodes"][k0];
  EXPECT_EQ(row["cell"].text(), "in-maintenance") << document.dump();
  EXPECT_EQ(row["cordoned"].boolean(), true);
  EXPECT_EQ(row["holds"].dump(), R"(["nodemaintenance/m"])");
  EXPECT_EQ(row["profiles"].size(), 0u);
  EXPECT_EQ(document["profiles"].size(), 0u);
  EXPECT_EQ(document["budgets"].size(), 0u);
  const JsonView maintenance = document["maintenances"][k0];
  EXPECT_EQ(maintenance["name"].text(), "m");
  EXPECT_EQ(maintenance["node"].text(), "n");
  EXPECT_EQ(maintenance["reason"].text(), "</script><b>\"disk\"");
  EXPECT_EQ(maintenance["phase"].text(), "Succeeded");
  EXPECT_EQ(maintenance["percent"].integer(), 100);
  EXPECT_TRUE(with(document["timeline"], "text", "NodeMaintenance m of n begins"));

  const Json told = story_of("n");
  EXPECT_EQ(told["maintenances"].size(), 1u);
  EXPECT_EQ(told["holds"][k0]["owner"].text(), "nodemaintenance/m");
  EXPECT_EQ(told["profiles"].size(), 0u);
  EXPECT_EQ(node_of_object(replica(), "nodemaintenances", "m"), "n");
  EXPECT_FALSE(node_of_object(replica(), "nodemaintenances", "other"));
}

TEST_F(FleetTest, ClaimsOfEverybodyWhoHasANodeOut) {
  define_maintenances();
  add_four();
  add_node("m", {{kZone, "a"}});
  auto held = Json::object();
  held.set({"metadata", "annotations", "careen.dev/holds"},
           R"({"holds":{"terminal/ana@desk":{"since":"2020-01-01T00:00:00Z","cordon":true},"cat/x":{"cordon":true}}})");
  held.set({"spec", "unschedulable"}, true);
  add_node("t", {{kZone, "b"}});
  cluster.api.merge("/api/v1/nodes/t", held);
  start({.controllers = {nodemaintenance::kind().usual()}});
  lead();
  auto object = Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}, {"kind", "NodeMaintenance"}});
  object.set({"spec", "nodeName"}, "m");
  cluster.api.put("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/disk", std::move(object));
  run(io::seconds{30});
  const Json document = fleet();
  const JsonView claims = document["claims"], first = claims["first"];
  EXPECT_EQ(claims["count"].integer(), 5) << claims.dump();
  ASSERT_EQ(first.size(), 5u);
  // Who has had a node for longest comes first.
  EXPECT_EQ(first[k0].dump(),
            R"({"who":"terminal/ana@desk","node":"t","since":"2020-01-01T00:00:00Z","stage":"out","budgets":[]})");
  const JsonView profile = with(first, "node", "a1");
  EXPECT_EQ(profile["who"].text(), "profile/p");
  EXPECT_EQ(profile["stage"].text(), "out");
  EXPECT_EQ(profile["since"].text(), with(document["nodes"], "name", "a1")["profiles"][k0]["since"].text());
  EXPECT_EQ(profile["budgets"].dump(), R"(["few"])");
  const JsonView maintenance = with(first, "who", "nodemaintenance/disk");
  EXPECT_EQ(maintenance["node"].text(), "m");
  EXPECT_EQ(maintenance["stage"].text(), "out");
  EXPECT_EQ(maintenance["budgets"].size(), 0u) << "the limits of profiles do not count it";
  EXPECT_EQ(document["budgets"][k0]["used"].integer(), 2);
}

TEST(ClaimsDocument, IsBounded) {
  std::vector<budget::Claim> claims(kMostClaims + 100, budget::Claim{.who = "profile/p", .node = "n"});
  std::string out;
  append_claims(out, claims);
  const auto document = Json::parse(out);
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["count"].integer(), static_cast<int64_t>(claims.size()));
  EXPECT_EQ((*document)["first"].size(), kMostClaims);
}

TEST_F(FleetTest, ANodeWhoseDataCannotBeReadIsFailing) {
  add_four();
  auto patch = Json::object();
  patch.set({"metadata", "annotations", "cloud.sap/maintenance-data"}, "{broken");
  cluster.api.merge("/api/v1/nodes/b1", patch);
  start();
  lead();
  run(io::seconds{5});
  const Json document = fleet();
  const JsonView row = with(document["nodes"], "name", "b1");
  EXPECT_EQ(row["cell"].text(), "failing");
  EXPECT_EQ(row["profiles"][k0]["name"].text(), "p");
  EXPECT_TRUE(row["profiles"][k0]["error"].text());
  const JsonView problem = with(document["problems"], "name", "node/b1");
  EXPECT_TRUE(problem["message"].text());
  EXPECT_TRUE(problem["since"].text());
}

TEST_F(FleetTest, BeforeAnythingIsKnownItIsEmpty) {
  start();
  const Json document = fleet();
  EXPECT_EQ(document["nodes"].size(), 0u);
  EXPECT_EQ(document["careen"]["leading"].boolean(), false);
}

TEST_F(FleetTest, NodesAreInTheOrderPeopleCount) {
  define_maintenances();
  for (const std::string name : {"node-1", "node-10", "node-9", "node-100"}) {
    const bool first = name.starts_with("node-10");
    add_node(name, {{"cloud.sap/maintenance-profile", "p"}, {"go", ""}, {kZone, first ? "a" : "b"}});
    auto object = Json::object({{"apiVersion", "nodemaintenance.medik8s.io/v1beta1"}, {"kind", "NodeMaintenance"}});
    object.set({"spec", "nodeName"}, name);
    cluster.api.put("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/" + name, std::move(object));
  }
  start({.controllers = {nodemaintenance::kind().usual()}});
  lead();
  run(io::seconds{10});
  const Json document = fleet();
  const auto names = [&](const char* part, const char* key) {
    std::vector<std::string> out;
    document[part].for_each_element([&](JsonView one) { out.emplace_back(one[key].text().value_or("")); });
    return out;
  };
  const std::vector<std::string> order = {"node-1", "node-9", "node-10", "node-100"};
  EXPECT_EQ(names("nodes", "name"), order);
  EXPECT_EQ(names("maintenances", "name"), order);
  EXPECT_EQ(document["budgets"][1u]["holders"].dump(), R"(["node-1","node-9"])") << document["budgets"].dump();
}

// Nobody else waits while a document of thousands of nodes is made.
TEST_F(FleetTest, ComesInSmallPieces) {
  for (int i = 0; i < 1000; ++i) add_node("n" + std::to_string(i), {{"cloud.sap/maintenance-profile", "p"}});
  start();
  lead();
  FleetPieces pieces(shown());
  size_t count = 0, longest = 0;
  std::string whole;
  for (;; ++count) {
    std::string piece;
    if (!pieces.read(piece)) break;
    longest = std::max(longest, piece.size());
    whole += piece;
    // A node that goes meanwhile harms nobody.
    if (count == 2) cluster.api.erase("/api/v1/nodes/n999");
    run(io::milliseconds{10});
  }
  EXPECT_GE(count, 10u);
  EXPECT_LT(longest, size_t{128} << 10);
  EXPECT_EQ(parsed(whole)["nodes"].size(), 999u);
}

}  // namespace
}  // namespace careen::view
