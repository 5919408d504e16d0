// What kubelets do with pods: start them, let them finish, end them, and nothing while they are stopped.
#include "sim/pods.h"

#include "sim/node_lifecycle.h"
#include "sim/pod_test_world.h"

namespace careen::sim {
namespace {

class PodsTest : public PodTestWorld {
 protected:
  PodsTest() {
    auto machine = Kubelets::usual_machine();
    machine.ready_after = {};
    kubelets.add("n", {}, {}, machine);
  }
  void add_with(const std::string& name, const char* annotation, const char* value) {
    kube::Json more = kube::Json::object();
    more.set({"annotations", std::string("model.careen.dev/") + annotation}, value);
    add_pod(name, "n", more);
  }
  std::string phase(const std::string& name) { return at(kPods + name, "/status/phase"); }
  std::string ready(const std::string& name) {
    const kube::Json pod = api.object(kPods + name);
    std::string out = "(none)";
    pod.at("/status/conditions").for_each_element([&](kube::JsonView one) {
      if (one["type"].text() == "Ready") out = one["status"].text().value_or("");
    });
    return out;
  }
  bool exists(const std::string& name) { return !api.object(kPods + name).view().is_null(); }

  Kubelets kubelets{*loop, api};
  Pods pods{*loop, api, kubelets};
};

TEST_F(PodsTest, ABoundPodRunsAfterAMoment) {
  add_pod("p");
  add_pod("unbound", "");
  add_pod("elsewhere", "unknown-node");
  EXPECT_EQ(phase("p"), "Pending");
  time.run_for(io::seconds{1});
  EXPECT_EQ(phase("p"), "Running");
  EXPECT_EQ(ready("p"), "True");
  EXPECT_EQ(at(std::string(kPods) + "p", "/status/containerStatuses/0/ready"), "true");
  EXPECT_NE(at(std::string(kPods) + "p", "/status/podIP"), "(none)");
  EXPECT_EQ(phase("unbound"), "Pending");
  EXPECT_EQ(phase("elsewhere"), "Pending");
  const uint64_t version = api.version();
  time.run_for(io::hours{1});
  EXPECT_EQ(api.version(), version) << "a pod that runs makes no changes";
}

TEST_F(PodsTest, AnnotationsSayHowItStarts) {
  add_with("slow", "start-time", "5");
  add_with("unready", "ready", "false");
  time.run_for(io::seconds{4});
  EXPECT_EQ(phase("slow"), "Pending");
  EXPECT_EQ(phase("unready"), "Running");
  EXPECT_EQ(ready("unready"), "False");
  time.run_for(io::seconds{2});
  EXPECT_EQ(phase("slow"), "Running");
  api.merge(std::string(kPods) + "unready",
            parsed(R"({"metadata":{"annotations":{"model.careen.dev/ready":"true"}}})"));
  time.run_for(io::seconds{1});
  EXPECT_EQ(ready("unready"), "True");
}

TEST_F(PodsTest, WorkEnds) {
  add_with("job", "run-time", "30");
  time.run_for(io::seconds{29});
  EXPECT_EQ(phase("job"), "Running");
  time.run_for(io::seconds{3});
  EXPECT_EQ(phase("job"), "Succeeded");
  EXPECT_EQ(ready("job"), "False");
  EXPECT_EQ(at(std::string(kPods) + "job", "/status/containerStatuses/0/state/terminated/reason"), "Completed");
}

TEST_F(PodsTest, TerminatingPodsEndInTheirTime) {
  add_pod("usual");
  add_with("slow", "termination-time", "20");
  add_with("beyond", "termination-time", "100");
  add_with("stuck", "termination-time", "never");
  time.run_for(io::seconds{1});
  for (const char* name : {"usual", "slow", "beyond", "stuck"}) ask("DELETE", std::string(kPods) + name);
  time.run_for(io::milliseconds{900});
  EXPECT_TRUE(exists("usual"));
  time.run_for(io::milliseconds{200});
  EXPECT_FALSE(exists("usual"));
  EXPECT_TRUE(exists("slow"));
  time.run_for(io::seconds{20});
  EXPECT_FALSE(exists("slow"));
  EXPECT_TRUE(exists("beyond"));
  time.run_for(io::seconds{10});
  EXPECT_FALSE(exists("beyond")) << "after 30 s of grace it is killed";
  time.run_for(io::hours{1});
  EXPECT_TRUE(exists("stuck"));
  ask("DELETE", std::string(kPods) + "stuck", parsed(R"({"gracePeriodSeconds":0})"));
  EXPECT_FALSE(exists("stuck"));
}

TEST_F(PodsTest, FinalizersHoldWhatIsLeft) {
  add_pod("p", "n", parsed(R"({"finalizers":["example.com/hold"]})"));
  time.run_for(io::seconds{1});
  ask("DELETE", std::string(kPods) + "p");
  time.run_for(io::seconds{5});
  EXPECT_EQ(phase("p"), "Succeeded");
  EXPECT_EQ(at(std::string(kPods) + "p", "/metadata/deletionGracePeriodSeconds"), "0");
  ask("PATCH", std::string(kPods) + "p", parsed(R"({"metadata":{"finalizers":null}})"), "application/merge-patch+json");
  EXPECT_FALSE(exists("p"));
}

TEST_F(PodsTest, AStoppedKubeletDoesNothing) {
  add_pod("old");
  time.run_for(io::seconds{1});
  kubelets.stop("n");
  add_pod("new");
  ask("DELETE", std::string(kPods) + "old");
  time.run_for(io::seconds{40});
  EXPECT_TRUE(exists("old"));
  EXPECT_EQ(phase("new"), "Pending");
  kubelets.start("n");
  time.run_for(io::seconds{1});
  EXPECT_FALSE(exists("old"));
  EXPECT_EQ(phase("new"), "Running");
}

TEST_F(PodsTest, AnotherPodOfTheSameNameBeginsAnew) {
  add_pod("p");
  time.run_for(io::seconds{1});
  ask("DELETE", std::string(kPods) + "p", parsed(R"({"gracePeriodSeconds":0})"));
  add_with("p", "start-time", "3");
  time.run_for(io::seconds{1});
  EXPECT_EQ(phase("p"), "Pending");
  time.run_for(io::seconds{3});
  EXPECT_EQ(phase("p"), "Running");
}

class NodeLifecycleTest : public PodTestWorld {
 protected:
  std::string taints() {
    std::string out;
    api.object("/api/v1/nodes/n").at("/spec/taints").for_each_element([&](kube::JsonView taint) {
      out += std::string(taint["key"].text().value_or("")) + ":" + std::string(taint["effect"].text().value_or("")) +
             (taint["timeAdded"] ? "@" : "") + " ";
    });
    return out;
  }
  void put_node(std::string_view spec) {
    kube::Json node = kube::Json::object();
    node.set({"spec"}, parsed(spec));
    api.put("/api/v1/nodes/n", std::move(node));
    time.run_for(io::seconds{1});
  }

  NodeLifecycle nodes{*loop, api};
};

TEST_F(NodeLifecycleTest, ACordonHasATaint) {
  put_node(R"({"taints":[{"key":"mine","effect":"NoExecute"}]})");
  EXPECT_EQ(taints(), "mine:NoExecute ");
  api.merge("/api/v1/nodes/n", parsed(R"({"spec":{"unschedulable":true}})"));
  time.run_for(io::seconds{1});
  EXPECT_EQ(taints(), "mine:NoExecute node.kubernetes.io/unschedulable:NoSchedule@ ");
  api.merge("/api/v1/nodes/n", parsed(R"({"spec":{"unschedulable":null}})"));
  time.run_for(io::seconds{1});
  EXPECT_EQ(taints(), "mine:NoExecute ");
}

TEST_F(NodeLifecycleTest, ATaintThatIsThereStaysAsItIs) {
  put_node(R"({"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoSchedule"}]})");
  EXPECT_EQ(taints(), "node.kubernetes.io/unschedulable:NoSchedule ");
  put_node(R"({"unschedulable":true,"taints":[{"key":"node.kubernetes.io/unschedulable","effect":"NoExecute"}]})");
  EXPECT_EQ(taints(), "node.kubernetes.io/unschedulable:NoExecute node.kubernetes.io/unschedulable:NoSchedule@ ");
}

TEST_F(NodeLifecycleTest, PodsOfANodeThatIsGoneGoLater) {
  put_node("{}");
  add_running("p");
  api.erase("/api/v1/nodes/n");
  time.run_for(io::seconds{30});
  EXPECT_EQ(at(std::string(kPods) + "p", "/status/phase"), "Running");
  time.run_for(io::seconds{20});
  EXPECT_EQ(at(std::string(kPods) + "p", "/status/phase"), "(none)");
}

}  // namespace
}  // namespace careen::sim
