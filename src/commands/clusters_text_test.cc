#include "commands/clusters_text.h"

#include <gmock/gmock.h>

namespace careen::app {

namespace {

using testing::ElementsAre;

// Two clusters, of which one has something going on.
TEST(ClustersText, ARowForEachClusterAndForEachMachineThatIsWaitedFor) {
  const auto clusters = kube::Json::parse(R"([
    {"name":"fleet/eu-1","phase":"Connected","since":"2026-03-02T10:00:00Z","nodes":40,
     "machines":{"Guarded":36,"DeletionHeld":1,"MaintenanceApproved":2,"Returning":1,"Unseen":1},
     "busy":[{"name":"fleet/m1","phase":"DeletionHeld","node":"n1","deleting":"2026-03-02T11:30:00Z"}]},
    {"name":"fleet/us-1","phase":"Failing","since":"2026-03-02T11:59:00Z","nodes":0,"machines":{},"busy":[]}])");
  const io::Wall now = *io::parse_rfc3339("2026-03-02T12:00:00Z");
  EXPECT_THAT(cluster_rows(clusters->view(), now),
              ElementsAre(ElementsAre("fleet/eu-1", "Connected", "120m", "40", "36", "1", "3", "1"),
                          ElementsAre("fleet/us-1", "Failing", "60s", "0", "0", "0", "0", "0")));
  EXPECT_THAT(machine_rows(clusters->view(), now),
              ElementsAre(ElementsAre("fleet/m1", "fleet/eu-1", "DeletionHeld", "n1", "30m")));
  EXPECT_EQ(cluster_rows(clusters->view(), now, {"us-1"}).size(), 1u);
  EXPECT_EQ(cluster_rows(clusters->view(), now, {"fleet/us-1"}).size(), 1u);
  EXPECT_EQ(cluster_rows(clusters->view(), now, {"fleet"}).size(), 0u);
  EXPECT_TRUE(cluster_rows({}, now).empty());
}

}  // namespace

}  // namespace careen::app
