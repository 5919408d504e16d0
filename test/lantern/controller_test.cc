// The controller on the model cluster: places are recorded before nodes are written, and outlive whoever took them.
#include "controller.h"

#include "io/problems.h"
#include "kube/lock.h"
#include "test_lanterns.h"

namespace careen::lantern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST_F(LanternTest, LightsOneAfterTheOther) {
  hang("a", "n1");
  hang("b", "n2", "blue");
  start();
  run();
  EXPECT_THAT(lit(), ElementsAre("n1=red"));
  EXPECT_EQ(status("a"), "Lit: ");
  EXPECT_EQ(status("b"), "Waiting: 1 of 1 nodes are lit: n1");
  take_down("a");
  run();
  EXPECT_THAT(lit(), ElementsAre("n2=blue"));
  EXPECT_EQ(status("b"), "Lit: ");
  take_down("b");
  run();
  EXPECT_THAT(lit(), IsEmpty());
  EXPECT_EQ(most, 1u);
  EXPECT_TRUE(careen->replica().problems().open().empty());
}

TEST_F(LanternTest, AClaimIsRecordedBeforeTheNodeIsWrittenAndStaysUntilItIsDark) {
  std::string at_light;
  cluster.network.treat = [&](const sim::Sending& sending) {
    if (sending.request.method == "PATCH" && sending.request.path.starts_with("/api/v1/nodes/n1")) at_light += ledger();
    return sim::Treatment{};
  };
  start();
  run();
  hang("a", "n1");
  run();
  EXPECT_THAT(at_light, HasSubstr("\"node\":\"n1\""));
  EXPECT_THAT(ledger(), HasSubstr("lantern"));
  take_down("a");
  run();
  EXPECT_THAT(ledger(), Not(HasSubstr("lantern")));
}

// Its write arrives when another leads, and the Lantern is gone.
TEST_F(LanternTest, WhatALeaderHadOnTheWayLightsNothingOnceAnotherHasLetGo) {
  cluster.network.treat = [&](const sim::Sending& sending) {
    sim::Treatment treatment;
    const bool lights = sending.request.body.find(kLit) != std::string::npos && sending.client.starts_with("careen-0");
    if (lights) treatment.before = io::minutes{1};
    return treatment;
  };
  start({}, {.name = "careen-0"});
  run(io::seconds{20});
  hang("a", "n1");
  run(io::seconds{1});
  take_down("a");
  careen.reset();
  hang("b", "n2");
  start({}, {.name = "careen-1"});
  run(io::minutes{3});
  EXPECT_THAT(lit(), ElementsAre("n2=red"));
  EXPECT_EQ(most, 1u);
}

TEST_F(LanternTest, APauseLightsNothing) {
  auto pause = kube::Json::object({{"apiVersion", "coordination.k8s.io/v1"}, {"kind", "Lease"}});
  pause.set({"metadata", "name"}, "careen-pause")
      .set({"metadata", "annotations", "careen.dev/pause"},
           R"({"all":{"by":"ana@host","since":"1970-01-01T00:00:00Z"}})");
  ask("POST", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases", pause);
  hang("a", "n1");
  start();
  run();
  EXPECT_THAT(lit(), IsEmpty());
  EXPECT_THAT(status("a"), HasSubstr("Waiting: paused by ana@host"));
  ask("DELETE", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause", kube::Json::object());
  run();
  EXPECT_THAT(lit(), ElementsAre("n1=red"));
}

TEST_F(LanternTest, ANodeThatIsMadeAnewTakesAPlaceOfItsOwn) {
  hang("a", "n1");
  start();
  run();
  const std::string before = ledger();
  ask("DELETE", "/api/v1/nodes/n1", kube::Json::object());
  ask("POST", "/api/v1/nodes",
      kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}, {"metadata", kube::Json::object({{"name", "n1"}})}}));
  run();
  EXPECT_THAT(lit(), ElementsAre("n1=red"));
  EXPECT_NE(ledger(), before);
  EXPECT_EQ(careen->replica().running(), true);
}

TEST_F(LanternTest, ADryRunLightsNothing) {
  hang("a", "n1");
  start({}, {.leader_election = false, .controller = {.dry_run = true}});
  run();
  EXPECT_THAT(lit(), IsEmpty());
  EXPECT_EQ(status("a"), "none: ");
}

}  // namespace
}  // namespace careen::lantern
