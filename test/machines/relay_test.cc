// The two flows between a Machine and its Node, one cluster alone.
#include "test_machines.h"

namespace careen::machines {

namespace {

class RelayTest : public MachinesTest {
 protected:
  RelayTest() {
    add_cluster("w1");
    add_node("m1");
    add_machine("m1");
  }
};

// Nothing is held where nobody would ever approve.
TEST_F(RelayTest, WithoutProfilesThereIsNoHook) {
  label_node("m1", kMaintenanceState, "");
  start();
  run();
  EXPECT_FALSE(hooked("m1"));
  delete_machine("m1");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
}

// The whole way of a deletion.
TEST_F(RelayTest, ADeletionWaitsForTheNode) {
  start();
  run();
  EXPECT_EQ(on_machine("annotations", kPreDrainHook, "m1"), kOwnValue);
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
  delete_machine("m1");
  run();
  EXPECT_TRUE(hooked("m1"));
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "true");
  run(io::hours{3});
  EXPECT_TRUE(hooked("m1"));
  label_node("m1", kApproveDeletion, "true");
  run(io::seconds{1});
  EXPECT_FALSE(hooked("m1"));
}

// The whole way of a maintenance; the Machine is kept from remediation meanwhile.
TEST_F(RelayTest, AMaintenanceIsRelayedAndItsApprovalBack) {
  start();
  run();
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(on_node(kMachineMaintenance, "m1"), "true");
  EXPECT_EQ(asked("m1"), kRequested);
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
  label_node("m1", kApproveMaintenance, "true");
  run(io::seconds{1});
  EXPECT_EQ(asked("m1"), kApproved);
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  label_machine("m1", kMaintenance, "");
  run();
  EXPECT_EQ(on_node(kMachineMaintenance, "m1"), "-");
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// A Node that comes up again is not deleted for having been down.
TEST_F(RelayTest, AMachineIsKeptFromRemediationUntilItIsBack) {
  start();
  run();
  label_machine("m1", kMaintenance, kRequested);
  label_node("m1", kApproveMaintenance, "true");
  run();
  set_ready("m1", false);
  label_machine("m1", kMaintenance, "");
  run(io::minutes{20});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  set_ready("m1", true);
  run();
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// Nor while its cluster is down with it, nor for a successor that does not know it yet.
TEST_F(RelayTest, ASilentClusterIsNotBack) {
  start();
  run();
  label_machine("m1", kMaintenance, kRequested);
  label_node("m1", kApproveMaintenance, "true");
  run();
  set_ready("m1", false);
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w1").network.end_streams("", true);
  run(io::minutes{2});
  label_machine("m1", kMaintenance, "");
  run(io::minutes{1});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  careen.reset();
  start({}, "careen-1");
  run(io::minutes{5});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  treat_workload = {};
  run(io::minutes{1});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), kOwnValue);
  set_ready("m1", true);
  run();
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// But not for ever.
TEST_F(RelayTest, AMachineThatDoesNotComeBackIsRemediatedInTheEnd) {
  start();
  run();
  label_machine("m1", kMaintenance, kRequested);
  label_node("m1", kApproveMaintenance, "true");
  run();
  set_ready("m1", false);
  label_machine("m1", kMaintenance, "");
  run(kLongestReturn + io::minutes{1});
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "-");
}

// What somebody else has written stays.
TEST_F(RelayTest, AForeignSkipStays) {
  merge_machine("m1", fmt::format(R"({{"metadata":{{"annotations":{{"{}":"by hand"}}}}}})", kSkipRemediation));
  start();
  label_machine("m1", kMaintenance, kRequested);
  label_node("m1", kApproveMaintenance, "true");
  run();
  EXPECT_EQ(asked("m1"), kApproved);
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "by hand");
  label_machine("m1", kMaintenance, "");
  run();
  EXPECT_EQ(on_machine("annotations", kSkipRemediation, "m1"), "by hand");
}

// As the replaced program has it: an approval that is left from before counts, unless it is cleared.
TEST_F(RelayTest, AStaleApprovalCounts) {
  start();
  label_node("m1", kApproveMaintenance, "true");
  run();
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(asked("m1"), kApproved);
}

TEST_F(RelayTest, StaleApprovalsAreClearedOnRequest) {
  start({.relay = {.clear_approvals = true}});
  label_node("m1", kApproveMaintenance, "true");
  label_node("m1", kApproveDeletion, "true");
  run();
  EXPECT_EQ(on_node(kApproveMaintenance, "m1"), "-");
  EXPECT_EQ(on_node(kApproveDeletion, "m1"), "-");
  EXPECT_TRUE(hooked("m1"));
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(asked("m1"), kRequested);
}

// An approval that was computed before the request was taken back does not bring it back.
TEST_F(RelayTest, AnApprovalDoesNotRiseFromTheDead) {
  start();
  run();
  label_machine("m1", kMaintenance, kRequested);
  run();
  treat = [this](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.request.body.find(kApproved) == std::string::npos || !sending.writes()) return treatment;
    label_machine("m1", kMaintenance, "");
    treat = {};
    return treatment;
  };
  label_node("m1", kApproveMaintenance, "true");
  run();
  EXPECT_EQ(asked("m1"), "-");
  EXPECT_EQ(on_node(kMachineMaintenance, "m1"), "-");
}

TEST_F(RelayTest, WhatIsNotEnabledAnyMoreIsTidiedUp) {
  start();
  run();
  delete_machine("m1");
  label_machine("m1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(on_node(kMachineMaintenance, "m1"), "true");
  label_machine("m1", kEnabled, "");
  run(io::seconds{2});
  EXPECT_FALSE(hooked("m1"));
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
  EXPECT_EQ(on_node(kMachineMaintenance, "m1"), "-");
}

// Nothing is written that is as it should be, whatever happens to Machines that are none of careen's business.
TEST_F(RelayTest, WhatIsRightIsNotWritten) {
  add_machine("other", "w1", "fleet", false);
  start();
  run();
  const size_t before = writes();
  merge_machine("other", R"({"status":{"phase":"Running"}})");
  merge_machine("m1", R"({"status":{"phase":"Running"}})");
  run(io::hours{1});
  EXPECT_EQ(writes(), before);
}

// Nobody can approve any more, so the deletion goes on.
TEST_F(RelayTest, ADeletionWhoseNodeIsGoneGoesOn) {
  start();
  run();
  delete_machine("m1");
  run();
  workload("fleet/w1").api.erase(node_path("m1"));
  run();
  EXPECT_FALSE(hooked("m1"));
}

// A Node that has not been heard of yet is not gone.
TEST_F(RelayTest, ANodeThatTheWatchDoesNotKnowYetIsNotGone) {
  start();
  run();
  workload("fleet/w1").network.set_weather("/api/v1/nodes", {.frozen = true});
  add_node("m2");
  add_machine("m2");
  merge_machine("m2", fmt::format(R"({{"metadata":{{"annotations":{{"{}":"x"}}}}}})", kPreDrainHook));
  delete_machine("m2");
  run();
  EXPECT_TRUE(hooked("m2"));
  EXPECT_EQ(on_node(kMachineDeleted, "m2"), "true");
}

// With a Machine that vanishes without its Node go the labels.
TEST_F(RelayTest, AMachineThatVanishesLeavesNoLabels) {
  add_node("m2");
  add_machine("m2");
  start();
  run();
  delete_machine("m1");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "true");
  management.api.erase(machine_path("m1"));
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
}

// Also with the last one of its cluster, whose connection ends then.
TEST_F(RelayTest, TheLastMachineLeavesNoLabelsAndNoConnection) {
  start();
  run();
  delete_machine("m1");
  run();
  management.api.erase(machine_path("m1"));
  run(io::seconds{30});
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
  EXPECT_EQ(workload("fleet/w1").network.open_streams(), 0u);
}

// A host that is used again under its name: the Node says whose it is.
TEST_F(RelayTest, OfTwoMachinesWithOneNodeTheNodeSaysWhoseItIs) {
  add_machine("m2");
  merge_machine("m2", R"({"status":{"nodeRef":{"name":"m1"}}})");
  merge_node("m1", R"({"metadata":{"annotations":{"cluster.x-k8s.io/machine":"m2",
                       "cluster.x-k8s.io/cluster-namespace":"fleet"}}})");
  start();
  run();
  EXPECT_TRUE(hooked("m2"));
  EXPECT_FALSE(hooked("m1"));
  delete_machine("m1");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
}

// A host is used again under its name while its last Machine is still there.
TEST_F(RelayTest, ANodeThatIsAnothersNowHoldsNobody) {
  start();
  run();
  delete_machine("m1");
  run();
  EXPECT_TRUE(hooked("m1"));
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "true");
  merge_node("m1", R"({"metadata":{"annotations":{"cluster.x-k8s.io/machine":"m2",
                       "cluster.x-k8s.io/cluster-namespace":"fleet"}}})");
  run();
  EXPECT_TRUE(hooked("m1")) << "nobody knows that Machine yet";
  add_machine("m2");
  merge_machine("m2", R"({"status":{"nodeRef":{"name":"m1"}}})");
  run();
  EXPECT_FALSE(hooked("m1"));
  EXPECT_TRUE(hooked("m2"));
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "-");
}

// Whoever can write a Node of one cluster does nothing to a Machine of another one.
TEST_F(RelayTest, ANodeCannotSpeakForAMachineOfAnotherCluster) {
  add_cluster("w2");
  add_node("m1", "fleet/w2");
  merge_node("m1", R"({"metadata":{"annotations":{"cluster.x-k8s.io/machine":"m1",
                       "cluster.x-k8s.io/cluster-namespace":"fleet"}}})",
             "fleet/w2");
  add_node("m2", "fleet/w2");
  add_machine("m2", "w2");
  start();
  run();
  delete_machine("m1");
  run();
  label_node("m1", kApproveDeletion, "true", "fleet/w2");
  run(io::minutes{2});
  EXPECT_TRUE(hooked("m1"));
  EXPECT_EQ(on_node(kMachineDeleted, "m1", "fleet/w2"), "-");
}

// A Secret that leads to the API server of another Cluster: each looks after its own Nodes there.
TEST_F(RelayTest, TwoClustersWithOneServerDoNotFightOverLabels) {
  secret("w2", "fleet", "https://fleet.w1");
  add_node("m2");
  add_machine("m2", "w2");
  merge_node("m1", R"({"metadata":{"annotations":{"cluster.x-k8s.io/cluster-name":"w1"}}})");
  merge_node("m2", R"({"metadata":{"annotations":{"cluster.x-k8s.io/cluster-name":"w2"}}})");
  start();
  run();
  delete_machine("m1");
  delete_machine("m2");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "true");
  EXPECT_EQ(on_node(kMachineDeleted, "m2"), "true");
  const size_t before = writes();
  run(io::minutes{10});
  EXPECT_EQ(writes(), before);
}

TEST_F(RelayTest, InStrictModeEveryEnabledMachineIsHeld) {
  label_node("m1", kMaintenanceState, "");
  start({.relay = {.hook_without_state = true}});
  run();
  EXPECT_TRUE(hooked("m1"));
  delete_machine("m1");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "m1"), "true");
  label_node("m1", kApproveDeletion, "true");
  run();
  EXPECT_FALSE(hooked("m1"));
}

// A successor goes on with what it finds.
TEST_F(RelayTest, ASuccessorGoesOn) {
  start();
  run();
  delete_machine("m1");
  run();
  careen.reset();
  label_node("m1", kApproveDeletion, "true");
  start({}, "careen-1");
  run(io::minutes{1});
  EXPECT_FALSE(hooked("m1"));
}

TEST_F(RelayTest, APauseHoldsWhatWouldLetOthersGoOn) {
  start();
  run();
  delete_machine("m1");
  run();
  management.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
                     *kube::Json::parse(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{
                       "annotations":{"careen.dev/pause":"{\"all\":{\"by\":\"ana\",\"since\":\"2026-01-01T00:00:00Z\"}}"}}})"));
  run();
  label_node("m1", kApproveDeletion, "true");
  run(io::minutes{5});
  EXPECT_TRUE(hooked("m1"));
  management.api.merge("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
                       *kube::Json::parse(R"({"metadata":{"annotations":{"careen.dev/pause":null}}})"));
  run();
  EXPECT_FALSE(hooked("m1"));
}

// An older Cluster API, and then a newer one without the version that was watched.
TEST_F(RelayTest, TheVersionIsFoundOutAndFoundOutAgain) {
  serve_machines(
      R"({"name":"v1beta2","served":false,"storage":true},{"name":"v1beta1","served":true,"storage":false})");
  start();
  run();
  EXPECT_TRUE(hooked("m1"));
  const size_t before = writes();
  serve_machines(
      R"({"name":"v1beta2","served":true,"storage":true},{"name":"v1beta1","served":false,"storage":false})");
  management.network.end_streams();
  run(io::minutes{2});
  EXPECT_EQ(writes(), before);
  delete_machine("m1");
  label_node("m1", kApproveDeletion, "true");
  run();
  EXPECT_FALSE(hooked("m1"));
}

// Writes whose answers come after the version has changed.
TEST_F(RelayTest, AnotherVersionComesWhileWritesAreUnderWay) {
  constexpr int kMachines = 15;
  const auto name = [](int i) { return fmt::format("n{}", i); };
  for (int i = 0; i < kMachines; ++i) {
    add_node(name(i), "fleet/w1", false);
    add_machine(name(i));
  }
  serve_machines(
      R"({"name":"v1beta2","served":false,"storage":true},{"name":"v1beta1","served":true,"storage":false})");
  start();
  run();
  treat = [](const sim::Sending& sending) {
    return sending.writes() && sending.request.path.find("/machines/") != std::string::npos
               ? sim::Treatment{.after = io::seconds{9}}
               : sim::Treatment{};
  };
  serve_machines(
      R"({"name":"v1beta2","served":true,"storage":true},{"name":"v1beta1","served":false,"storage":false})");
  management.network.end_streams();
  for (int i = 0; i < kMachines; ++i) {
    label_node(name(i), kMaintenanceState, "operational");
    run(io::seconds{4});
  }
  treat = {};
  run(io::minutes{2});
  for (int i = 0; i < kMachines; ++i) EXPECT_TRUE(hooked(name(i))) << i;
}

TEST_F(RelayTest, AStoryTellsWhatIsWaitedFor) {
  start();
  run();
  delete_machine("m1");
  run();
  const auto story = controller().document_of("fleet/m1");
  ASSERT_TRUE(story);
  EXPECT_THAT(*story, testing::HasSubstr("DeletionHeld"));
  EXPECT_THAT(*story, testing::HasSubstr("careen's hook holds the deletion: the Node has no label"));
  EXPECT_EQ(controller().document_of("fleet/none"), std::nullopt);
}

}  // namespace

}  // namespace careen::machines
