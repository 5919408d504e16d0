#include "commands/status_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "commands/holders.h"
#include "controllers/nodemaintenance/hosted.h"
#include "controllers/requests/hosted.h"
#include "kube/decode.h"

namespace careen::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class StatusRowsTest : public testing::Test {
 protected:
  static constexpr io::Wall kNow{io::hours{24 * 365}};

  kube::Node node(const std::string& name, const std::string& metadata = "", const std::string& spec = "") {
    const auto node = kube::decode_node(R"({"metadata":{"name":")" + name + R"(","uid":"u","resourceVersion":"1")" +
                                            metadata + R"(},"spec":{)" + spec + "}}",
                                        atoms_);
    return node.value();
  }
  kube::Node held(const std::string& name, const std::string& owner, drain::Items items, bool cordoned = true) {
    drain::Holds holds;
    holds.by_owner[owner] = {.id = "id", .since = kNow - io::minutes{5}, .items = std::move(items)};
    kube::Json annotations = kube::Json::object({{drain::kHoldsAnnotation, holds.text()}});
    return node(name, R"(,"annotations":)" + annotations.dump(), cordoned ? R"("unschedulable":true)" : "");
  }
  // With what else there is in its metadata, its spec and its status.
  static JobOfKind maintenance(const std::string& name, const std::string& node, const std::string& metadata = "",
                               const std::string& spec = "", const std::string& status = "") {
    const std::string created = io::format_rfc3339(kNow - io::minutes{3});
    const auto object = kube::decode_object(
        R"({"metadata":{"name":")" + name + R"(","uid":"u","resourceVersion":"1","creationTimestamp":")" + created +
        "\"" + metadata + R"(},"spec":{"nodeName":")" + node + "\"" + spec + R"(},"status":{)" + status + "}}");
    const controllers::Kind& kind = nodemaintenance::kind();
    return {&kind, kind.job_of(object.value())};
  }
  static JobOfKind request(const std::string& name, const std::string& node, const std::string& state) {
    const auto object = kube::decode_object(R"({"metadata":{"name":")" + name +
                                            R"(","uid":"u","resourceVersion":"1"},"spec":{"type":"node","name":")" +
                                            node + R"(","state":")" + state + R"("}})");
    const controllers::Kind& kind = requests::kind();
    return {&kind, kind.job_of(object.value())};
  }
  kube::AtomPool atoms_;
};

TEST_F(StatusRowsTest, AQuietClusterHasNone) { EXPECT_THAT(status_rows({node("a"), node("b")}, {}), IsEmpty()); }

TEST_F(StatusRowsTest, ANodeMaintenanceShowsItsProgressAndWhatBlocksIt) {
  const JobOfKind one = maintenance("swap", "node-1", "", R"(,"reason":"replace memory")",
                                    R"("phase":"Running","drainProgress":40,)"
                                    R"("pendingPodsRefs":[{"namespace":"shop","name":"db-0"},)"
                                    R"({"namespace":"shop","name":"web-1"}],)"
                                    R"("conditions":[{"type":"Blocked","status":"True","reason":"Budget",)"
                                    R"("message":"budget shop/db allows 0 of 3"}])");
  const auto rows = status_rows({node("node-1")}, {one});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(status_cells(rows[0], kNow, false), ElementsAre("node-1", "nodemaintenance/swap", "Running", "40%", "2",
                                                              "3m", "budget shop/db allows 0 of 3", "replace memory"));
  EXPECT_EQ(status_header(false).size(), status_cells(rows[0], kNow, false).size());
  EXPECT_EQ(status_header(true).size(), status_cells(rows[0], kNow, true).size());
}

TEST_F(StatusRowsTest, NodesAreInTheOrderPeopleCount) {
  const std::string cordoned = R"("unschedulable":true)";
  const auto rows = status_rows({node("node-10", "", cordoned), node("node-2", "", cordoned)},
                                {maintenance("swap", "node-9"), maintenance("firmware", "node-100")});
  std::vector<std::string> names;
  for (const StatusRow& row : rows) names.push_back(row.node);
  EXPECT_THAT(names, ElementsAre("node-2", "node-9", "node-10", "node-100"));
}

TEST_F(StatusRowsTest, ItsHoldOnTheNodeIsNoSecondRow) {
  const auto rows = status_rows({held("node-1", "nodemaintenance/swap",
                                      {.cordon = true, .taints = {{"medik8s.io/drain", "NoSchedule"}}, .labels = {}})},
                                {maintenance("swap", "node-1")});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].state, "Pending");
  EXPECT_TRUE(rows[0].held.cordon);
  EXPECT_EQ(items_text(rows[0].held), "cordon, 1 taint");
}

TEST_F(StatusRowsTest, WhoDrainedFromATerminalIsNamed) {
  const auto rows =
      status_rows({held("node-1", "terminal/ana@desk", {.cordon = true, .taints = {}, .labels = {}})}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(status_cells(rows[0], kNow, false),
              ElementsAre("node-1", "terminal/ana@desk", "cordoned", "", "", "5m", "", ""));
}

TEST_F(StatusRowsTest, ACordonThatNobodyExplainsIsShown) {
  const auto rows = status_rows({node("node-1", "", R"("unschedulable":true)")}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(status_cells(rows[0], kNow, false)[1], "<unknown>");
}

TEST_F(StatusRowsTest, TheProgramThatCordonedIsNamed) {
  const std::string written = R"(,"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"v1",)"
                              R"("time":"1970-12-31T23:40:00Z","fieldsType":"FieldsV1",)"
                              R"("fieldsV1":{"f:spec":{"f:unschedulable":{}}}}])";
  const auto rows = status_rows({node("node-1", written, R"("unschedulable":true)")}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_THAT(status_cells(rows[0], kNow, false), ElementsAre("node-1", "kubectl", "cordoned", "", "", "20m", "", ""));
}

TEST_F(StatusRowsTest, AMaintenanceRequestIsOneRowUntilItIsOver) {
  const auto held_for = held("node-1", "request/mr-1", {.cordon = true, .taints = {}, .labels = {}});
  const auto rows =
      status_rows({held_for}, {request("mr-1", "node-1", "Approved"), request("mr-0", "node-1", "Completed")});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].by, "request/mr-1");
  EXPECT_EQ(rows[0].state, "Approved");
  EXPECT_TRUE(rows[0].held.cordon);
  const auto cordoned =
      status_rows({node("node-1", "", R"("unschedulable":true)")}, {request("mr-0", "node-1", "Completed")});
  ASSERT_THAT(cordoned, SizeIs(1));
  EXPECT_EQ(cordoned[0].state, "cordoned");
}

TEST_F(StatusRowsTest, ProfilesThatAreNotOperationalAreShownWithTheirAge) {
  const std::string labels =
      R"(,"labels":{"cloud.sap/maintenance-profile":"flatcar--bios","cloud.sap/maintenance-state":"in-maintenance"})";
  const std::string data =
      R"({"Profiles":{"flatcar":{"Transition":"1970-12-31T22:00:00Z","Current":"in-maintenance","Previous":"maintenance-required"},)"
      R"("bios":{"Transition":"1970-12-31T22:00:00Z","Current":"operational","Previous":"operational"}},"Notifications":{}})";
  const kube::Json annotations = kube::Json::object({{"cloud.sap/maintenance-data", data}});
  const auto rows = status_rows({node("node-1", labels + R"(,"annotations":)" + annotations.dump())}, {});
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0].by, "profile/flatcar");
  EXPECT_EQ(rows[0].state, "in-maintenance");
  EXPECT_EQ(status_cells(rows[0], kNow, false)[5], "120m");
  // Without the annotation the labels have to do.
  EXPECT_THAT(status_rows({node("node-1", labels)}, {}), SizeIs(1));
}

TEST_F(StatusRowsTest, TheDocumentHasWhatIsHeld) {
  const std::string owner = "nodemaintenance/swap";
  const auto document = status_document(status_rows({held("node-1", owner, drain::may_hold(owner))}, {}));
  const auto row = document["maintenances"][size_t{0}];
  EXPECT_EQ(row["by"].text(), owner);
  EXPECT_EQ(row["holds"]["taints"][size_t{1}].text(), "medik8s.io/drain:NoSchedule");
  EXPECT_EQ(row["holds"]["labels"]["remediation.medik8s.io/exclude-from-remediation"].text(), "true");
}

TEST_F(StatusRowsTest, HoldersOfACordonAreThoseThatTheTerminalMustRespect) {
  EXPECT_THAT(cordon_holders(held("n", "terminal/ana@desk", {.cordon = true, .taints = {}, .labels = {}}), {}),
              IsEmpty());
  const auto profile = cordon_holders(held("n", "profile/x", {.cordon = true, .taints = {}, .labels = {}}), {});
  ASSERT_THAT(profile, SizeIs(1));
  EXPECT_EQ(holder_text(profile[0], kNow), "profile/x since 1970-12-31T23:55:00Z (5m)");
  const auto asked = cordon_holders(held("n", "request/mr-1", {.cordon = true, .taints = {}, .labels = {}}),
                                    {request("mr-1", "n", "InProgress")});
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(way_out(asked[0], "n"), "\"careen request cancel n --client NAME\" ends it");
  // One that another program began left no record on the node.
  EXPECT_THAT(cordon_holders(node("n"), {maintenance("m", "n"), maintenance("other", "o")}), SizeIs(1));
  const JobOfKind ending = maintenance("m", "n", R"(,"deletionTimestamp":"1970-12-31T23:58:00Z")");
  EXPECT_THAT(cordon_holders(node("n"), {ending}), IsEmpty());
}

}  // namespace
}  // namespace careen::app
