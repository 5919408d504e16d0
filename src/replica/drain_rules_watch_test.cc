// MachineDrainRules from the API server to the engine: which of them are about a node, what is watched for that, and
// what happens as long as they are not known, may not be read, or cannot be.
#include "replica/drain_rules_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/nodemaintenance/controller_options.h"
#include "controllers/nodemaintenance/hosted.h"
#include "drain/engine.h"
#include "drain/key.h"
#include "kube/json.h"
#include "replica/test_model.h"
#include "sim/network.h"

namespace careen::replica {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;
using testing::HasSubstr;

constexpr const char* kGroup = "cluster.x-k8s.io";
constexpr const char* kMachines = "/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/machines/";
constexpr const char* kRules = "/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/machinedrainrules/";
constexpr const char* kPods = "/api/v1/namespaces/shop/pods/";
constexpr const char* kSkipDb = R"({"drain":{"behavior":"Skip"},"pods":[{"selector":{"matchLabels":{"app":"db"}}}]})";

class DrainRulesWatchTest : public ModelTest {
 protected:
  DrainRulesWatchTest() {
    cluster.network.treat = [this](const sim::Sending& sending) {
      sim::Treatment treatment;
      const std::string& path = sending.request.path;
      if (path.find("/machinedrainrules") != std::string::npos) ++asked;
      if (!refused.empty() && path.find(refused) != std::string::npos)
        treatment.refuse = sim::ApiServer::refusal(code, code == 403 ? "Forbidden" : "InternalError", "not for you");
      return treatment;
    };
    ask("POST", controllers::kDefinitionsPath, controllers::shipped_definition("nodemaintenance"));
    for (const std::string ns : {"shop", "fleet", "other", "default"}) put("/api/v1/namespaces/" + ns, "{}");
    cluster.kubelets.add("n1");
    cluster.api.merge("/api/v1/nodes/n1", *Json::parse(R"({"spec":{"providerID":"aws:///a/n1"}})"));
    pod("web");
    pod("db");
  }
  void pod(const std::string& app, const std::string& node = "n1") {
    put(kPods + app, fmt::format(R"({{"metadata":{{"labels":{{"app":"{}"}},"ownerReferences":[{{"apiVersion":"apps/v1",
        "kind":"ReplicaSet","name":"r","uid":"r","controller":true}}]}},"spec":{{"nodeName":"{}"}},
        "status":{{"phase":"Running"}}}})",
                                 app, node));
  }
  void define_all() {
    define(kGroup, "v1beta2", "machinedrainrules", "MachineDrainRule");
    define(kGroup, "v1beta2", "machines", "Machine");
    define(kGroup, "v1beta2", "clusters", "Cluster");
  }
  void machine(const std::string& provider_id = "aws:///a/n1") {
    put(std::string(kMachines) + "m1",
        fmt::format(R"({{"metadata":{{"labels":{{"os":"linux"}}}},"spec":{{"clusterName":"c1","providerID":"{}"}},
            "status":{{"nodeRef":{{"name":"n1"}}}}}})",
                    provider_id));
  }
  void rule(const std::string& spec, const std::string& name = "db") { put(kRules + name, R"({"spec":)" + spec + "}"); }
  void start() {
    careen.emplace(time, cluster, "",
                   ModelProcessOptions{.profiles = false, .controllers = {nodemaintenance::with_options({})}});
    ASSERT_TRUE(time.run_until([&] { return careen->replica().running(); }, minutes{1}));
    time.run_for(seconds{5});
  }
  void maintain(const std::string& name = "m", const std::string& node = "n1") {
    put("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/" + name,
        R"({"spec":{"nodeName":")" + node + R"("}})");
  }
  bool is_there(const std::string& name) { return cluster.api.text(kPods + name) != nullptr; }
  const drain::Progress* progress() { return careen->replica().drains().progress({"n1", "nodemaintenance/m"}); }
  bool drained() { return progress() && progress()->phase == drain::Progress::Phase::drained; }
  bool drains_within(io::Duration span) {
    return time.run_until([&] { return drained(); }, span);
  }
  bool is_watched(const std::string& name) { return is_cached(name + " for drains\"}"); }

  std::string refused;
  int code = 403;
  int asked = 0;
};

TEST_F(DrainRulesWatchTest, ARuleIsHeededOnTheNodesOfItsMachines) {
  define_all();
  machine();
  rule(kSkipDb);
  start();
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
  EXPECT_FALSE(is_there("web"));
  EXPECT_EQ(progress()->warnings, "WARNING: left alone: MachineDrainRule fleet/db says Skip: shop/db");
  time.run_for(seconds{1});
  const Json maintenance(cluster.api.object("/apis/nodemaintenance.medik8s.io/v1beta1/nodemaintenances/m"));
  EXPECT_EQ(maintenance["status"]["evictionPods"].integer(), 1) << "counted from the first moment on";
  EXPECT_EQ(maintenance.at("/status/conditions/0/message").text(),
            "left alone: MachineDrainRule fleet/db says Skip: shop/db");
  EXPECT_EQ(problems(), "");
  EXPECT_FALSE(is_watched("clusters.cluster.x-k8s.io")) << "no rule chooses by them";
  EXPECT_FALSE(is_watched("namespaces"));
}

TEST_F(DrainRulesWatchTest, AMachineOfAnotherClusterIsNotTheNodes) {
  define_all();
  machine("aws:///b/n1");
  rule(kSkipDb);
  start();
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_FALSE(is_there("db"));
}

TEST_F(DrainRulesWatchTest, NeitherAreRulesOfAnotherNamespace) {
  define_all();
  machine();
  put("/apis/cluster.x-k8s.io/v1beta2/namespaces/other/machinedrainrules/db",
      std::string(R"({"spec":)") + kSkipDb + "}");
  start();
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_FALSE(is_there("db"));
}

TEST_F(DrainRulesWatchTest, RulesChooseByLabelsOfMachinesClustersAndNamespaces) {
  define_all();
  machine();
  put("/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/clusters/c1", R"({"metadata":{"labels":{"stage":"prod"}}})");
  rule(R"({"drain":{"behavior":"Skip"},
      "machines":[{"selector":{"matchLabels":{"os":"linux"}},"clusterSelector":{"matchLabels":{"stage":"prod"}}}],
      "pods":[{"selector":{"matchLabels":{"app":"db"}},
               "namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"shop"}}}]})");
  put("/api/v1/namespaces/shop", R"({"metadata":{"labels":{"kubernetes.io/metadata.name":"shop"}}})");
  start();
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
  EXPECT_TRUE(is_watched("clusters.cluster.x-k8s.io"));
  EXPECT_TRUE(is_watched("namespaces"));
  put("/apis/cluster.x-k8s.io/v1beta2/namespaces/fleet/clusters/c1", R"({"metadata":{"labels":{"stage":"test"}}})");
  EXPECT_TRUE(time.run_until([&] { return !is_there("db"); }, minutes{1}))
      << "the rule is not about its Cluster any more";
}

TEST_F(DrainRulesWatchTest, WhereTheKindIsNotServedNobodyAsksForIt) {
  start();
  time.run_for(minutes{10});
  EXPECT_EQ(asked, 0);
  define_all();
  machine();
  rule(kSkipDb);
  time.run_for(seconds{70});
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
  EXPECT_EQ(problems(), "");
}

TEST_F(DrainRulesWatchTest, WithoutRulesNoMachinesAreWatched) {
  define_all();
  machine();
  start();
  time.run_for(minutes{2});
  EXPECT_TRUE(is_watched("machinedrainrules.cluster.x-k8s.io"));
  EXPECT_FALSE(is_watched("machines.cluster.x-k8s.io"));
  rule(kSkipDb);
  time.run_for(seconds{1});
  EXPECT_TRUE(is_watched("machines.cluster.x-k8s.io")) << "at once";
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
  cluster.api.erase(std::string(kRules) + "db");
  EXPECT_TRUE(time.run_until([&] { return !is_there("db"); }, minutes{1}));
  time.run_for(seconds{1});
  EXPECT_FALSE(is_watched("machines.cluster.x-k8s.io"));
}

TEST_F(DrainRulesWatchTest, AnOlderClusterApiServesThemInAnOlderVersion) {
  define(kGroup, "v1beta1", "machinedrainrules", "MachineDrainRule");
  define(kGroup, "v1beta1", "machines", "Machine");
  put("/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machines/m1",
      R"({"spec":{"clusterName":"c1","providerID":"aws:///a/n1"},"status":{"nodeRef":{"name":"n1","kind":"Node"}}})");
  put("/apis/cluster.x-k8s.io/v1beta1/namespaces/fleet/machinedrainrules/db",
      std::string(R"({"spec":)") + kSkipDb + "}");
  start();
  maintain();
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
}

TEST_F(DrainRulesWatchTest, WithoutTheRightDrainsGoOnWithoutRulesAfterAWhile) {
  define_all();
  machine();
  rule(kSkipDb);
  refused = "/machines";
  start();
  maintain();
  time.run_for(minutes{2});
  EXPECT_TRUE(is_there("web"));
  ASSERT_TRUE(progress());
  ASSERT_EQ(progress()->pods.size(), 2U);
  EXPECT_EQ(progress()->pods[0].reason, "waits until MachineDrainRules have been read");
  EXPECT_THAT(problems(), HasSubstr("it is not known which MachineDrainRules there are"));
  ASSERT_TRUE(drains_within(minutes{2}));
  EXPECT_FALSE(is_there("db"));
  EXPECT_EQ(problems(),
            "drain rules: drains go on without MachineDrainRules, until careen may list and watch: "
            "machines.cluster.x-k8s.io\n");
  refused.clear();
  time.run_for(minutes{2});
  EXPECT_EQ(problems(), "");
}

TEST_F(DrainRulesWatchTest, WhatCannotBeReadIsWaitedFor) {
  define_all();
  machine();
  rule(kSkipDb);
  refused = "/machinedrainrules";
  code = 500;
  start();
  maintain();
  time.run_for(minutes{10});
  EXPECT_TRUE(is_there("web"));
  EXPECT_THAT(problems(), HasSubstr("no pod is evicted until it is"));
  refused.clear();
  ASSERT_TRUE(drains_within(seconds{30}));
  EXPECT_TRUE(is_there("db"));
  EXPECT_EQ(problems(), "");
}

TEST_F(DrainRulesWatchTest, AMistakeInARuleHoldsUpTheNodesOfItsNamespaceOnly) {
  define_all();
  machine();
  rule(R"({"drain":{"behavior":"Skip"},"pods":[{"selector":{"matchExpressions":[{"key":"a","operator":"Near"}]}}]})");
  cluster.kubelets.add("n2");
  pod("other", "n2");
  start();
  maintain();
  maintain("m2", "n2");
  EXPECT_TRUE(time.run_until([&] { return !is_there("other"); }, minutes{1}));
  time.run_for(minutes{5});
  EXPECT_TRUE(is_there("web"));
  ASSERT_TRUE(progress());
  ASSERT_EQ(progress()->errors.size(), 1U);
  EXPECT_THAT(progress()->errors[0], HasSubstr("MachineDrainRule fleet/db: spec.pods[0].selector"));
  rule(kSkipDb);
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_TRUE(is_there("db"));
  EXPECT_FALSE(is_there("web"));
}

}  // namespace
}  // namespace careen::replica
