#include "commands/fleet_text.h"

#include <gtest/gtest.h>

#include "cli/test_screen.h"
#include "commands/test_documents.h"

namespace careen::app {
namespace {

const io::Wall kFleetTime = *io::parse_rfc3339("2026-03-02T10:00:00Z");

FleetModel fleet() {
  FleetModel model;
  model.set(parsed(kFleet).view());
  return model;
}

std::string joined(const std::vector<Line>& lines) {
  std::string out;
  for (const Line& line : lines) out += line.text() + "\n";
  return out;
}

TEST(FleetText, OverviewAt120Columns) {
  EXPECT_EQ(joined(overview_lines(fleet(), screen(120), kFleetTime)),
            R"(3 nodes, 1 cordoned, 1 not ready; careen 0.1.0, led by careen-0_x
! profile repair is paused by ana@host since 2026-03-02T09:00:00Z (60m ago)
! watch pods: the list of pods is refused, since 2026-03-02T09:58:00Z (2m ago)
! limit workers/eu-de-1b: 3 nodes are out where 2 may be; counted last: kured (node-9)

PROFILE     OPERATIONAL   REQUIRED   IN MAINTENANCE
os-update   1             1          1
repair      3             0          0

BUDGET                 USED   WAITING   FREE   HELD BY   SCOPE
few (maxMaintenance)   1/1    1         -      node-2    all nodes in the cluster

LIMIT     GROUP      CAP   USED   FREE   MISSING   WAITING   USED BY
workers   eu-de-1a   4     4      0      0         2         profile/os-update 2, karpenter 1 (node-7, 12m), kubectl 1 …
workers   eu-de-1b   2     3      -1     1         0         kured 2, missing 1 (node-6)

DRAIN    BY                  STATE      DONE   LEFT   AGE   BLOCKED BY
node-2   profile/os-update   draining   50%    2/4    5m    shop/db-0: waiting for budget shop/db (and 1 pod more)
)");
}

TEST(FleetText, NothingIsWiderThanTheScreenNorHigher) {
  for (const size_t width : {40u, 80u, 120u}) {
    for (const Line& line : overview_lines(fleet(), screen(width), kFleetTime)) EXPECT_LE(line.width(), width);
    for (const size_t height : {1u, 8u, 24u}) {
      const auto lines = top_lines(fleet(), screen(width, height), kFleetTime, "");
      EXPECT_LE(lines.size(), height);
      for (const Line& line : lines) EXPECT_LE(line.width(), width) << line.text();
    }
  }
}

TEST(FleetText, TopAt80Columns) {
  EXPECT_EQ(joined(top_lines(fleet(), screen(80, 30), kFleetTime, "")),
            R"(careen 0.1.0  3 nodes  2026-03-02T10:00:00Z  led by careen-0_x  q quits
! profile repair is paused by ana@host since 2026-03-02T09:00:00Z (60m ago)
! watch pods: the list of pods is refused, since 2026-03-02T09:58:00Z (2m ago)

NODES
os-update  █████░░░░░░░░░░░  1 operational     1 required     1 in maintenance
repair     ████████████████  3 operational     0 required     0 in maintenance

BUDGETS
few (maxMaintenance)  ████████████████  1/1      all nodes in the cluster  1 wa…

LIMITS
workers/eu-de-1a  ████████████████  4/4      profile/os-update 2, karpenter 1 (…
workers/eu-de-1b  ████████████████  3/2      kured 2, missing 1 (node-6)

DRAINS
node-2  ████████░░░░░░░░  2/4 gone      5m      profile/os-update  shop/db-0: w…

NEXT
in 12h    node-3                os-update         waits for window night

LATEST
09:54:00  node-2: to in-maintenance
09:59:00  something failed
)");
}

TEST(FleetText, TroubleIsShownFirst) {
  const auto lines = top_lines(fleet(), screen(80), kFleetTime, "the connection broke; trying again");
  ASSERT_GE(lines.size(), 2u);
  EXPECT_EQ(lines[1].text(), "the connection broke; trying again");
}

TEST(FleetModel, FollowsTheStream) {
  FleetModel model = fleet();
  model.apply("change", parsed(R"({"time": "2026-03-02T10:00:01Z", "gone": ["node-1"],
    "nodes": [{"name": "node-2", "ready": true, "cordoned": false, "profiles": []}, {"name": "node-4", "ready": true}],
    "drains": [], "timeline": [{"time": "2026-03-02T10:00:00Z", "kind": "drain", "text": "drained"}]})")
                            .view());
  EXPECT_EQ(model.nodes().size(), 3u);
  EXPECT_FALSE(model.nodes().contains("node-1"));
  EXPECT_EQ(model.nodes().at("node-2")["cordoned"].boolean(), false);
  EXPECT_EQ(model["drains"].size(), 0u);
  EXPECT_EQ(model["budgets"].size(), 1u);
  ASSERT_EQ(model.timeline().size(), 3u);
  EXPECT_EQ(model.timeline().back()["text"].text(), "drained");
}

// After a new beginning nothing of the old one is left; changes before the first Fleet mean nothing.
TEST(FleetModel, BeginsAnew) {
  FleetModel model;
  model.apply("change", parsed(R"({"nodes": [{"name": "x"}]})").view());
  EXPECT_FALSE(model.known());
  model = fleet();
  model.apply("fleet", parsed(R"({"nodes": [{"name": "only"}]})").view());
  EXPECT_EQ(model.nodes().size(), 1u);
  EXPECT_EQ(model["budgets"].size(), 0u);
  EXPECT_TRUE(model.timeline().empty());
}

}  // namespace
}  // namespace careen::app
