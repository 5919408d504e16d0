// What other objects say of nodes, from the API server to the desk: kinds that are served, are served later, go away,
// and may not be read.
#include "replica/other_objects_watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/json.h"
#include "limits/desk.h"
#include "limits/limit.h"
#include "replica/test_model.h"
#include "sim/network.h"

namespace careen::replica {
namespace {

using io::minutes;
using io::seconds;
using kube::Json;

constexpr const char* kNoWork = "intervals: {requeue: 30s}\nprofiles:\n- name: p\n";
constexpr const char* kMachine = "/apis/cluster.x-k8s.io/v1beta2/namespaces/infra/machines/m1";

class OtherObjectsWatchTest : public ModelTest {
 protected:
  OtherObjectsWatchTest() {
    cluster.network.treat = [this](const sim::Sending& sending) {
      sim::Treatment treatment;
      const std::string& path = sending.request.path;
      asked += path == "/apis";
      if (!refused.empty() && path.find(refused) != std::string::npos)
        treatment.refuse = sim::ApiServer::refusal(403, "Forbidden", "machines are not for you");
      return treatment;
    };
    ask("POST", controllers::kDefinitionsPath, controllers::shipped_definition("maintenancelimit"));
    put("/api/v1/namespaces/infra", "{}");
    for (const std::string node : {"n1", "n2"}) {
      put("/api/v1/nodes/" + node, R"({"spec":{"providerID":"aws:///a/)" + node + R"("},"status":{"conditions":[
          {"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}]}})");
    }
  }
  void define_machines() { define("cluster.x-k8s.io", "v1beta2", "machines", "Machine"); }
  // One that is updated.
  void machine(const std::string& node = "n1", const std::string& provider_id = "aws:///a/n1") {
    put(kMachine, fmt::format(R"({{"spec":{{"providerID":"{}"}},"status":{{"nodeRef":{{"name":"{}"}},
        "conditions":[{{"type":"Updating","status":"True"}}]}}}})",
                              provider_id, node));
  }
  void limit(const std::string& spec = R"({"type":"node","maxUnavailable":1})") {
    put(limits::kLimitResource.path("", "workers"), R"({"spec":)" + spec + "}");
  }
  void start() {
    careen.emplace(time, cluster, kNoWork);
    const Replica& replica = careen->replica();
    ASSERT_TRUE(time.run_until([&] { return replica.running() && replica.limits()->is_known(); }, minutes{1}));
  }
  int64_t used() {
    const auto groups = careen->replica().limits()->groups();
    return groups.empty() ? -1 : groups.front().used;
  }
  bool soon_uses(int64_t wanted, io::Duration within = minutes{2}) {
    return time.run_until([&] { return used() == wanted; }, within);
  }
  bool is_watched(const std::string& name, int objects) { return is_cached(fmt::format("{}\"}} {}", name, objects)); }

  std::string refused;
  int asked = 0;
};

TEST_F(OtherObjectsWatchTest, WhatMachinesSayIsKnownBeforeAnybodyIsAdmitted) {
  define_machines();
  machine();
  limit();
  start();
  EXPECT_EQ(used(), 1);
  EXPECT_EQ(problems(), "");
}

TEST_F(OtherObjectsWatchTest, AMachineOfAnotherClusterDoesNotCount) {
  define_machines();
  machine("n1", "aws:///b/n1");
  limit();
  start();
  EXPECT_TRUE(soon_uses(0));
  machine();
  EXPECT_TRUE(soon_uses(1));
}

TEST_F(OtherObjectsWatchTest, NothingIsWatchedWithoutALimitThatCountsIt) {
  define_machines();
  machine();
  limit(R"({"type":"node","limit":50,"policies":["NotReady"]})");
  start();
  time.run_for(minutes{5});
  EXPECT_EQ(asked, 0);
  EXPECT_FALSE(is_watched("machines.cluster.x-k8s.io", 1));
  limit();
  EXPECT_TRUE(soon_uses(1, seconds{10}));
  EXPECT_TRUE(is_watched("machines.cluster.x-k8s.io", 1));
  limit(R"({"type":"node","limit":50,"policies":["NotReady"]})");
  EXPECT_TRUE(soon_uses(0, seconds{10}));
  time.run_for(seconds{1});
  EXPECT_FALSE(is_watched("machines.cluster.x-k8s.io", 1));
}

TEST_F(OtherObjectsWatchTest, KindsComeAndGo) {
  limit();
  start();
  EXPECT_EQ(used(), 0);
  define_machines();
  machine();
  EXPECT_TRUE(soon_uses(1, seconds{70}));
  define("karpenter.sh", "v1", "nodeclaims", "NodeClaim", "Cluster");
  put("/apis/karpenter.sh/v1/nodeclaims/c2",
      R"({"status":{"nodeName":"n2","conditions":[{"type":"Rebooting","status":"True"}]}})");
  EXPECT_TRUE(soon_uses(2, seconds{70}));
  ask("DELETE", std::string(controllers::kDefinitionsPath) + "/machines.cluster.x-k8s.io", Json::object());
  EXPECT_TRUE(soon_uses(1, minutes{3}));
  time.run_for(minutes{3});
  EXPECT_EQ(problems(), "");
}

TEST_F(OtherObjectsWatchTest, WhatMayNotBeReadIsNotCountedAndSaid) {
  define_machines();
  machine();
  limit();
  refused = "/machines";
  start();
  EXPECT_EQ(used(), 0);
  time.run_for(minutes{5});
  EXPECT_EQ(used(), 0);
  EXPECT_EQ(problems(),
            "limits other objects: limits do not count what these say of nodes, until careen may list and watch them: "
            "machines.cluster.x-k8s.io\n");
  refused.clear();
  EXPECT_TRUE(soon_uses(1));
  EXPECT_EQ(problems(), "");
}

TEST_F(OtherObjectsWatchTest, SetsSayHowManyThereShouldBe) {
  define_machines();
  define("cluster.x-k8s.io", "v1beta2", "machinesets", "MachineSet");
  put(kMachine, R"({"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"MachineSet",
      "name":"blue","uid":"b"}]},"status":{"nodeRef":{"name":"n1"}}})");
  put("/apis/cluster.x-k8s.io/v1beta2/namespaces/infra/machinesets/blue", R"({"spec":{"replicas":3}})");
  limit();
  start();
  EXPECT_EQ(used(), 2);
}

TEST_F(OtherObjectsWatchTest, KuredsLockIsFoundByTheNameOfItsDaemonSet) {
  put("/api/v1/nodes/n1",
      R"({"metadata":{"annotations":{"weave.works/kured-reboot-in-progress":"2026-01-01T00:00:00Z"}},
      "status":{"conditions":[{"type":"Ready","status":"True"}]}})");
  put("/apis/apps/v1/namespaces/infra/daemonsets/kured",
      R"({"metadata":{"annotations":{"weave.works/kured-node-lock":"{\"nodeID\":\"n1\"}"}}})");
  put("/apis/apps/v1/namespaces/infra/daemonsets/other", "{}");
  limit();
  start();
  EXPECT_EQ(used(), 1);
  EXPECT_TRUE(is_watched("daemonsets.apps", 1));
}

}  // namespace
}  // namespace careen::replica
