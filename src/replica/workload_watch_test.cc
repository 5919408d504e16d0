// A limit about workloads from the API server to the desk: what it needs is watched once it is there, and what a node
// ran outlives the process that gave it its place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "controllers/slot/definition.h"
#include "kube/json.h"
#include "kube/lock.h"
#include "limits/desk.h"
#include "limits/limit.h"
#include "replica/model_process.h"
#include "sim/cluster.h"

namespace careen::replica {
namespace {

using kube::Json;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNothingToDo = R"(
instances: {check: [{name: never, type: hasLabel, config: {key: never}}]}
profiles: [{name: p, operational: {transitions: [{check: never, next: maintenance-required}]}}]
)";

class WorkloadWatchTest : public testing::Test {
 protected:
  WorkloadWatchTest() {
    kube::Request request;
    request.method = "POST";
    request.path = controllers::kDefinitionsPath;
    request.body = controllers::shipped_definition("maintenancelimit").dump();
    request.content_type = "application/json";
    EXPECT_EQ(cluster.api.handle(request, {"people"}).status, 201);
    put("/api/v1/namespaces/shop", R"({"metadata":{"labels":{"tier":"prod"}}})");
    put("/apis/apps/v1/namespaces/shop/deployments/web",
        R"({"metadata":{"labels":{"app":"web"}},"spec":{"replicas":2},"status":{"availableReplicas":2}})");
    for (const std::string node : {"n1", "n2"}) {
      put("/api/v1/nodes/" + node,
          R"({"status":{"conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
      put(pod_on(node), R"({"metadata":{"labels":{"pod-template-hash":"abc"},"ownerReferences":[{"apiVersion":"apps/v1",
          "kind":"ReplicaSet","name":"web-abc","uid":"r","controller":true}]},"spec":{"nodeName":")" +
                            node + R"("},"status":{"phase":"Running"}})");
    }
  }
  static std::string pod_on(const std::string& node) { return "/api/v1/namespaces/shop/pods/web-abc-" + node; }
  void put(const std::string& path, const std::string& json) { cluster.api.put(path, *Json::parse(json)); }
  void limit_workloads() {
    put(limits::kLimitResource.path("", "web"), R"({"spec":{"type":"deployment","maxUnavailable":1,
        "selector":{"matchLabels":{"app":"web"}},"namespaceSelector":{"matchLabels":{"tier":"prod"}}}})");
  }

  void start() {
    careen.emplace(time, cluster, kNothingToDo);
    ASSERT_TRUE(time.run_until([&] { return careen->replica().election().leading(); }, io::minutes{2}));
    time.run_for(io::seconds{5});
  }
  std::string why_not(const std::string& node) {
    const limits::Asking asking{node, "profile/p", "profile/p", limits::Rank::campaign, {}};
    return careen->replica().limits()->ask(asking, limits::Desk::Detail::text).text;
  }
  void take(const std::string& node) {
    const std::string uid(cluster.api.object("/api/v1/nodes/" + node)["metadata"]["uid"].text().value_or(""));
    careen->replica().limits()->take({node, uid, "profile/p", "profile/p", {}});
  }
  std::string ledger() {
    const Json lease(cluster.api.object("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger"));
    return std::string(lease["metadata"]["annotations"]["careen.dev/ledger"].text().value_or(""));
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
  std::optional<ModelProcess> careen;
};

TEST_F(WorkloadWatchTest, WhatALimitNeedsIsWatchedOnceItIsThere) {
  start();
  take("n1");
  EXPECT_EQ(why_not("n2"), "");
  EXPECT_EQ(cluster.api.count("GET namespaces"), 0);
  limit_workloads();
  time.run_for(io::seconds{5});
  EXPECT_EQ(why_not("n2"), "limit web about workloads: deployment shop/web: 1 of 1: n1");
  put("/api/v1/namespaces/shop", R"({"metadata":{"labels":{"tier":"test"}}})");
  time.run_for(io::seconds{5});
  EXPECT_EQ(why_not("n2"), "");
}

TEST_F(WorkloadWatchTest, ASuccessorKnowsWhatRanWhereThePodsAreGone) {
  limit_workloads();
  start();
  EXPECT_EQ(why_not("n1"), "");
  take("n1");
  time.run_for(io::seconds{1});
  EXPECT_THAT(ledger(), HasSubstr("workloads"));
  cluster.api.erase(pod_on("n1"));
  careen.reset();
  start();
  EXPECT_THAT(why_not("n2"), HasSubstr("1 of 1: n1"));
  // Nobody takes the place up again.
  time.run_for(io::minutes{11});
  EXPECT_EQ(why_not("n2"), "");
  EXPECT_THAT(ledger(), Not(HasSubstr("workloads")));
}

}  // namespace
}  // namespace careen::replica
