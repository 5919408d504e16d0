// Many workload clusters, and what goes wrong with one of them.
#include "test_machines.h"

namespace careen::machines {

namespace {

using testing::Contains;
using testing::HasSubstr;

class ClustersTest : public MachinesTest {
 protected:
  void add(const std::string& name, const std::string& ns = "fleet") {
    add_cluster(name, ns);
    add_node(name, ns + "/" + name);
    add_machine(name, name, ns);
  }
};

// Two clusters of one name are two clusters.
TEST_F(ClustersTest, TheNamespaceBelongsToTheName) {
  add("w1", "a");
  add("w1", "b");
  start();
  run();
  EXPECT_TRUE(hooked("w1", "a"));
  EXPECT_TRUE(hooked("w1", "b"));
  delete_machine("w1", "a");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "w1", "a/w1"), "true");
  EXPECT_EQ(on_node(kMachineDeleted, "w1", "b/w1"), "-");
}

// One that does not answer delays nobody else, and is said.
TEST_F(ClustersTest, OneThatHangsDelaysNoOther) {
  add("w1");
  add("w2");
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w2").network.treat = {};
  start();
  run();
  EXPECT_FALSE(hooked("w1"));
  EXPECT_TRUE(hooked("w2"));
  run(io::minutes{2});
  EXPECT_THAT(problems(), Contains(HasSubstr("cluster fleet/w1")));
  treat_workload = {};
  run(io::minutes{1});
  EXPECT_TRUE(hooked("w1"));
  EXPECT_THAT(problems(), testing::IsEmpty());
}

TEST_F(ClustersTest, ASecretThatComesLaterIsEnough) {
  add("w1");
  management.api.erase(secret_path("w1", "fleet"));
  start();
  run();
  EXPECT_FALSE(hooked("w1"));
  EXPECT_THAT(problems(), Contains(HasSubstr("there is no Secret fleet/w1-kubeconfig")));
  secret("w1", "fleet", "https://fleet.w1");
  run();
  EXPECT_TRUE(hooked("w1"));
  EXPECT_THAT(problems(), testing::IsEmpty());
}

// With other credentials the watch goes on; at another address everything is listed anew.
TEST_F(ClustersTest, CredentialsAndAddressesChange) {
  add("w1");
  add_cluster("w2");
  add_node("w1", "fleet/w2");
  start();
  run();
  secret("w1", "fleet", "https://fleet.w1", "t2");
  run();
  EXPECT_EQ(workload("fleet/w1").api.count("GET nodes"), 1);
  secret("w1", "fleet", "https://fleet.w2", "t2");
  run();
  EXPECT_GE(workload("fleet/w2").api.count("GET nodes"), 1);
  delete_machine("w1");
  label_node("w1", kApproveDeletion, "true", "fleet/w2");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "w1", "fleet/w1"), "-");
  EXPECT_FALSE(hooked("w1"));
}

// Whoever can write that Secret is not trusted with what careen can read or start.
TEST_F(ClustersTest, AKubeconfigThatWouldStartAProgramIsRefused) {
  add("w1");
  put_secret("w1", "fleet",
             "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"
             "clusters: [{name: c, cluster: {server: https://fleet.w1}}]\nusers: [{name: u, user: {exec: {command: "
             "touch, apiVersion: client.authentication.k8s.io/v1}}}]\n");
  start();
  run();
  EXPECT_FALSE(hooked("w1"));
  EXPECT_THAT(problems(), Contains(HasSubstr("Secret fleet/w1-kubeconfig")));
}

// Whoever disables a Machine does not wait for a cluster that is dead.
TEST_F(ClustersTest, DisablingNeedsNoCluster) {
  add("w1");
  start();
  run();
  EXPECT_TRUE(hooked("w1"));
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w1").network.end_streams("", true);
  run(io::minutes{1});
  label_machine("w1", kEnabled, "false");
  run();
  EXPECT_FALSE(hooked("w1"));
  run(io::minutes{3});
  EXPECT_THAT(problems(), testing::IsEmpty());
}

// The Machine does not wait for its Node for ever, but the Node is not forgotten.
TEST_F(ClustersTest, LabelsGoOnceTheyCanBeWrittenAgain) {
  add("w1");
  start();
  run();
  label_machine("w1", kMaintenance, kRequested);
  run();
  EXPECT_EQ(on_node(kMachineMaintenance, "w1"), "true");
  treat_workload = [](const sim::Sending& sending) {
    sim::Treatment treatment;
    if (sending.writes()) treatment.refuse = sim::ApiServer::refusal(401, "Unauthorized", "who is that?");
    return treatment;
  };
  label_machine("w1", kEnabled, "false");
  run(io::seconds{30});
  EXPECT_FALSE(hooked("w1"));
  EXPECT_EQ(on_node(kMachineMaintenance, "w1"), "true");
  treat_workload = {};
  run(io::seconds{30});
  EXPECT_EQ(on_node(kMachineMaintenance, "w1"), "-");
  EXPECT_THAT(problems(), testing::IsEmpty());
}

// Those of another Cluster, to which the same API server belongs, are none of its business.
TEST_F(ClustersTest, LabelsOfOthersKeepNoConnection) {
  add("w1");
  start();
  run();
  add_node("other", "fleet/w1");
  merge_node("other",
             R"({"metadata":{"annotations":{"cluster.x-k8s.io/machine":"m","cluster.x-k8s.io/cluster-namespace":"b"},
                       "labels":{"runtime-extension-maintenance-controller.cloud.sap/machine-deleted":"true"}}})",
             "fleet/w1");
  label_machine("w1", kEnabled, "false");
  run(io::seconds{20});
  EXPECT_EQ(on_node(kMachineDeleted, "other"), "true");
  EXPECT_THAT(controller().picture()->documents(), testing::IsEmpty());
}

// What a cluster said before it fell silent allows nothing any more.
TEST_F(ClustersTest, ASilentClusterApprovesNothing) {
  add("w1");
  start();
  run();
  label_node("w1", kApproveMaintenance, "true", "fleet/w1");
  run();
  treat_workload = [](const sim::Sending& sending) {
    return sending.writes() ? sim::Treatment{} : sim::Treatment{.lost = true};
  };
  workload("fleet/w1").network.end_streams("", true);
  run(io::minutes{2});
  label_machine("w1", kMaintenance, kRequested);
  run(io::minutes{2});
  EXPECT_EQ(asked("w1"), kRequested);
  treat_workload = {};
  run(io::minutes{2});
  EXPECT_EQ(asked("w1"), kApproved);
}

// A whole cluster that is deleted: no connection is left, and nothing hangs.
TEST_F(ClustersTest, AClusterThatVanishesLeavesNothing) {
  add("w1");
  add("w2");
  start();
  run();
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w2").network.treat = {};
  workload("fleet/w1").network.end_streams("", true);
  management.api.erase(secret_path("w1", "fleet"));
  management.api.erase(machine_path("w1"));
  run(io::minutes{5});
  EXPECT_THAT(problems(), testing::IsEmpty());
  EXPECT_EQ(workload("fleet/w2").network.open_streams(), 1u);
  const auto clusters = controller().picture()->documents();
  ASSERT_EQ(clusters.size(), 1u);
  EXPECT_THAT(clusters.front(), HasSubstr("fleet/w2"));
}

// Also while there is a label on one of its Nodes, which nobody can take off any more.
TEST_F(ClustersTest, ALabelDoesNotKeepAClusterThatVanishes) {
  add("w1");
  start();
  run();
  delete_machine("w1");
  run();
  EXPECT_EQ(on_node(kMachineDeleted, "w1"), "true");
  treat_workload = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  workload("fleet/w1").network.end_streams("", true);
  management.api.erase(secret_path("w1", "fleet"));
  management.api.erase(machine_path("w1"));
  run(io::minutes{5});
  EXPECT_THAT(problems(), testing::IsEmpty());
  EXPECT_THAT(controller().picture()->documents(), testing::IsEmpty());
}

TEST_F(ClustersTest, AHundredClustersAtOnce) {
  constexpr int kClusters = 100;
  for (int i = 0; i < kClusters; ++i) add(fmt::format("w{}", i));
  start();
  run();
  for (int i = 0; i < kClusters; ++i) delete_machine(fmt::format("w{}", i));
  run();
  for (int i = 0; i < kClusters; ++i) {
    const std::string name = fmt::format("w{}", i);
    EXPECT_TRUE(hooked(name));
    EXPECT_EQ(on_node(kMachineDeleted, name, "fleet/" + name), "true") << name;
    label_node(name, kApproveDeletion, "true", "fleet/" + name);
  }
  run();
  for (int i = 0; i < kClusters; ++i) EXPECT_FALSE(hooked(fmt::format("w{}", i)));
}

}  // namespace

}  // namespace careen::machines
