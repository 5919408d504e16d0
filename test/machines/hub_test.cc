// The hub: profiles of workload clusters that run in the management cluster.
#include "replica/hub.h"

#include "budget/ledger.h"
#include "controllers/slot/definition.h"
#include "limits/limit.h"
#include "test_machines.h"

namespace careen::machines {

namespace {

using testing::Contains;
using testing::HasSubstr;

// A node that asks for it goes into maintenance, one of each cluster at a time, and comes back by itself.
constexpr const char* kConfig = R"(
intervals: {requeue: 200ms}
instances:
  check:
  - {type: hasLabel, name: wanted, config: {key: reboot, value: "yes"}}
  - {type: maxMaintenance, name: one, config: {max: 1}}
  - {type: hasLabel, name: "done", config: {key: rebooted, value: "yes"}}
profiles:
- name: os
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: one, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: "done", next: operational}]}
)";

constexpr const char* kDraining = R"(
intervals: {requeue: 200ms}
instances:
  check:
  - {type: hasLabel, name: wanted, config: {key: reboot, value: "yes"}}
  trigger:
  - {type: eviction, name: drain, config: {action: drain}}
profiles:
- name: os
  operational: {transitions: [{check: wanted, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: wanted, trigger: drain, next: in-maintenance}]}
)";

class HubTest : public MachinesTest {
 protected:
  HubTest() {
    define("clusters", "Cluster", "cluster.x-k8s.io", R"({"name":"v1beta2","served":true,"storage":true})");
    for (const char* name : {"w1", "w2"}) {
      add_cluster(name);
      add_cluster_object(name);
      for (const char* node : {"n1", "n2", "n3"}) add_profiled(node, std::string("fleet/") + name);
    }
  }
  static std::string cluster_path(const std::string& name) {
    return "/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/clusters/" + name;
  }
  void add_cluster_object(const std::string& name, bool run_here = true) {
    management.api.put(cluster_path(name),
                       *kube::Json::parse(fmt::format(R"({{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster",)"
                                                      R"("metadata":{{"labels":{{"careen.dev/hub":"{}"}}}}}})",
                                                      run_here ? "true" : "false")));
  }
  void add_profiled(const std::string& node, const std::string& cluster) {
    workload(cluster).api.put(node_path(node),
                              *kube::Json::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"labels":{
          "cloud.sap/maintenance-profile":"os","reboot":"yes"}},
          "status":{"conditions":[{"type":"Ready","status":"True"}]}})"));
  }
  std::vector<std::string> in_maintenance(const std::string& cluster) const {
    std::vector<std::string> found;
    for (const char* node : {"n1", "n2", "n3"}) {
      if (on_node("cloud.sap/maintenance-state", node, cluster) == "in-maintenance") found.emplace_back(node);
    }
    return found;
  }
  void start_hub(const std::string& name = "careen-0", const char* config = kConfig) { start({}, name, config); }
  // Until all nodes of the cluster have been out.
  int play(const std::string& cluster) {
    int rounds = 0;
    for (; rounds < 10; ++rounds) {
      const auto out = in_maintenance(cluster);
      EXPECT_LE(out.size(), 1u);
      for (const std::string& node : out) {
        label_node(node, "reboot", "", cluster);
        label_node(node, "rebooted", "yes", cluster);
      }
      run();
      if (in_maintenance(cluster).empty() && rounds > 0 && !out.empty() && left(cluster) == 0) break;
    }
    return rounds;
  }
  int left(const std::string& cluster) const {
    int count = 0;
    for (const char* node : {"n1", "n2", "n3"}) count += on_node("rebooted", node, cluster) != "yes";
    return count;
  }
};

// Each cluster has the limit for itself.
TEST_F(HubTest, EachClusterIsLookedAfterForItself) {
  start_hub();
  run();
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 1u);
  play("fleet/w1");
  EXPECT_EQ(left("fleet/w1"), 0);
  EXPECT_EQ(left("fleet/w2"), 3);
}

// Nothing but what profiles need is written to a workload cluster: no locks, no ledger.
TEST_F(HubTest, RecordsStandInTheManagementCluster) {
  start_hub();
  run();
  for (const auto& [key, cluster] : workloads) {
    cluster->api.for_each("/apis/coordination.k8s.io/v1/leases",
                          [&](const std::string& path, const sim::Text&) { ADD_FAILURE() << key << " has " << path; });
  }
  std::vector<std::string> leases;
  management.api.for_each("/apis/coordination.k8s.io/v1/leases",
                          [&](const std::string& path, const sim::Text&) { leases.push_back(path); });
  EXPECT_THAT(leases, Contains(HasSubstr("careen-ledger.fleet.w1")));
  EXPECT_THAT(leases, Contains(HasSubstr("careen-ledger.fleet.w2")));
}

TEST_F(HubTest, OnlyClustersThatSaySoAreLookedAfter) {
  add_cluster_object("w2", false);
  start_hub();
  run();
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 0u);
  add_cluster_object("w2", true);
  run();
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 1u);
  add_cluster_object("w1", false);
  run(io::seconds{30});
  EXPECT_EQ(careen->replica().hub()->find("fleet/w1"), nullptr);
  label_node(in_maintenance("fleet/w1").front(), "rebooted", "yes", "fleet/w1");
  run();
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
}

// A limit holds whoever leads: the successor finds in the ledger what had been admitted.
TEST_F(HubTest, ASuccessorGoesOnInEveryCluster) {
  start_hub();
  run();
  careen.reset();
  start_hub("careen-1");
  run(io::minutes{1});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
  play("fleet/w1");
  play("fleet/w2");
  EXPECT_EQ(left("fleet/w1"), 0);
  EXPECT_EQ(left("fleet/w2"), 0);
}

// What Cluster API does to the nodes of one cluster is in the management cluster, and counts in that cluster alone.
TEST_F(HubTest, MachinesOfTheManagementClusterCountInTheirClustersLimits) {
  define("machinesets", "MachineSet", "cluster.x-k8s.io", R"({"name":"v1beta2","served":true,"storage":true})");
  management.api.put("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenancelimits.repairman.k8s.io",
                     controllers::shipped_definition("maintenancelimit"));
  management.api.put(limits::kLimitResource.path("", "workers"),
                     *kube::Json::parse(R"({"spec":{"type":"node","maxUnavailable":1}})"));
  add_machine("n1", "w1", "fleet", false);
  label_machine("n1", kClusterLabel, "w1");
  label_node("n1", "reboot", "");
  delete_machine("n1");
  start_hub();
  run(io::minutes{1});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 0u);
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 1u);
  management.api.erase(machine_path("n1"), "people");
  run(io::minutes{1});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
}

// They stand where the Machines are.
TEST_F(HubTest, DrainRulesOfTheManagementClusterAreHeeded) {
  define("machinedrainrules", "MachineDrainRule", "cluster.x-k8s.io",
         R"({"name":"v1beta2","served":true,"storage":true})");
  management.api.put("/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/machinedrainrules/db",
                     *kube::Json::parse(R"({"spec":{"drain":{"behavior":"Skip"},"pods":[{"selector":{"matchLabels":
                       {"app":"db"}}}],"machines":[{"clusterSelector":{"matchLabels":{"careen.dev/hub":"true"}}}]}})"));
  add_machine("n1", "w1", "fleet", false, "aws:///n1");
  label_machine("n1", kClusterLabel, "w1");
  for (const std::string cluster : {"fleet/w1", "fleet/w2"}) {
    merge_node("n1", R"({"spec":{"providerID":"aws:///n1"}})", cluster);
    for (const std::string node : {"n2", "n3"}) label_node(node, "reboot", "", cluster);
    workload(cluster).api.put("/api/v1/namespaces/shop", *kube::Json::parse(R"({"status":{"phase":"Active"}})"));
    for (const std::string app : {"web", "db"}) {
      workload(cluster).api.put(
          "/api/v1/namespaces/shop/pods/" + app,
          *kube::Json::parse(fmt::format(R"({{"metadata":{{"labels":{{"app":"{}"}},"ownerReferences":[{{"apiVersion":)"
                                         R"("apps/v1","kind":"ReplicaSet","name":"r","uid":"r","controller":true}}]}},)"
                                         R"("spec":{{"nodeName":"n1"}},"status":{{"phase":"Running"}}}})",
                                         app)));
    }
  }
  start_hub("careen-0", kDraining);
  run(io::minutes{2});
  const auto is_there = [this](const std::string& cluster, const std::string& app) {
    const auto pod = workload(cluster).api.object("/api/v1/namespaces/shop/pods/" + app);
    return pod["metadata"]["name"].text() && !pod["metadata"]["deletionTimestamp"].text();
  };
  EXPECT_FALSE(is_there("fleet/w1", "web"));
  EXPECT_TRUE(is_there("fleet/w1", "db"));
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
  EXPECT_FALSE(is_there("fleet/w2", "db"));
}

TEST_F(HubTest, OneThatHangsDelaysNoOther) {
  workload("fleet/w1").network.treat = [](const sim::Sending&) { return sim::Treatment{.lost = true}; };
  start_hub();
  run(io::minutes{1});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 0u);
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 1u);
  play("fleet/w2");
  EXPECT_EQ(left("fleet/w2"), 0);
  EXPECT_THAT(problems(), Contains(HasSubstr("cluster fleet/w1")));
  workload("fleet/w1").network.treat = {};
  run(io::minutes{2});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
}

// Whoever runs profiles in the cluster itself moves the same nodes.
TEST_F(HubTest, WhereSomebodyElseLeadsNothingIsDone) {
  const std::string lock =
      "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/maintenance-controller-leader-election.cloud.sap";
  const auto renew = [&] {
    workload("fleet/w1")
        .api.put(lock,
                 *kube::Json::parse(fmt::format(R"({{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","spec":)"
                                                R"({{"holderIdentity":"other","renewTime":"{}"}}}})",
                                                io::format_micro_time(server->wall_now()))));
  };
  renew();
  start_hub();
  run();
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 0u);
  EXPECT_EQ(in_maintenance("fleet/w2").size(), 1u);
  EXPECT_THAT(problems(), Contains(HasSubstr("other does, by the lock kube-system/")));
  run(io::minutes{3});
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
}

// One pause stops them all.
TEST_F(HubTest, APauseIsForAll) {
  management.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
                     *kube::Json::parse(R"({"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{
                       "annotations":{"careen.dev/pause":"{\"all\":{\"by\":\"ana\",\"since\":\"2026-01-01T00:00:00Z\"}}"}}})"));
  start_hub();
  run(io::minutes{1});
  EXPECT_EQ(in_maintenance("fleet/w1").size() + in_maintenance("fleet/w2").size(), 0u);
  management.api.merge("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-pause",
                       *kube::Json::parse(R"({"metadata":{"annotations":{"careen.dev/pause":null}}})"));
  run();
  EXPECT_EQ(in_maintenance("fleet/w1").size() + in_maintenance("fleet/w2").size(), 2u);
}

TEST_F(HubTest, CredentialsChangeWhileItRuns) {
  start_hub();
  run();
  secret("w1", "fleet", "https://fleet.w1", "t2");
  run();
  play("fleet/w1");
  EXPECT_EQ(left("fleet/w1"), 0);
}

// A Secret that was copied: the nodes would be looked after twice, with a limit for each.
TEST_F(HubTest, TwoClustersWithOneServerAreLookedAfterOnce) {
  start_hub();
  run();
  secret("w3", "fleet", "https://fleet.w1");
  add_cluster_object("w3");
  run();
  EXPECT_EQ(careen->replica().hub()->find("fleet/w3"), nullptr);
  EXPECT_THAT(problems(),
              Contains(HasSubstr("https://fleet.w1, which is the API server of cluster fleet/w1: it is not")));
  secret("w2", "fleet", "https://fleet.w1");
  run();
  EXPECT_THAT(problems(), Contains(HasSubstr("what was there before is used on")));
  play("fleet/w2");
  EXPECT_EQ(left("fleet/w2"), 0);
  EXPECT_EQ(in_maintenance("fleet/w1").size(), 1u);
  secret("w2", "fleet", "https://fleet.w2");
  add_cluster_object("w1", false);
  run(io::seconds{30});
  EXPECT_NE(careen->replica().hub()->find("fleet/w3"), nullptr);
  EXPECT_THAT(problems(), testing::Not(Contains(HasSubstr("API server of"))));
}

// Whoever writes somebody else's address into a Secret of his own, without being let in there.
TEST_F(HubTest, AnAddressAloneKeepsNobodyAway) {
  secret("a0", "fleet", "https://fleet.w9");
  add_cluster("w9");
  workload("fleet/w9").network.treat = [](const sim::Sending&) {
    sim::Treatment treatment;
    treatment.refuse = sim::ApiServer::refusal(401, "Unauthorized", "who is that?");
    return treatment;
  };
  add_cluster_object("a0");
  start_hub();
  run();
  add_cluster_object("w9");
  run();
  EXPECT_EQ(careen->replica().hub()->find("fleet/w9"), nullptr);
  run(io::minutes{1});
  EXPECT_NE(careen->replica().hub()->find("fleet/w9"), nullptr);
}

TEST_F(HubTest, APlannedStopEndsThemAll) {
  start_hub();
  run();
  careen->stop();
  run(io::minutes{1});
  EXPECT_EQ(careen->exit_code(), 0);
}

}  // namespace

}  // namespace careen::machines
