// Workloads of the model: they make their pods, replace those that go, and say so in their status.
#include "sim/workloads.h"

#include <gtest/gtest.h>

#include "io/virtual_time.h"
#include "sim/scheduler.h"

namespace careen::sim {
namespace {

class WorkloadsTest : public ::testing::Test {
 protected:
  WorkloadsTest() {
    for (const char* name : {"a", "b", "c"}) add_node(name);
  }
  void add_node(const std::string& name) {
    api.put("/api/v1/nodes/" + name, *kube::Json::parse(R"({"status":{
      "conditions":[{"type":"Ready","status":"True"}],"allocatable":{"cpu":"8","memory":"8Gi","pods":"50"}}})"));
  }
  void create(const std::string& collection, const std::string& name, std::string_view spec) {
    const std::string kind_path = "/apis/" + collection.substr(0, collection.rfind('/')) + "/namespaces/default" +
                                  collection.substr(collection.rfind('/'));
    const auto response =
        api.handle({.method = "POST",
                    .path = kind_path,
                    .content_type = "application/json",
                    .body = R"({"metadata":{"name":")" + name + R"("},"spec":)" + std::string(spec) + "}"});
    ASSERT_EQ(response.status, 201) << response.body;
    owner_ = kind_path + "/" + name;
  }
  static std::string spec(std::string_view more, std::string_view image = "x:1") {
    return R"({"selector":{"matchLabels":{"app":"x"}},"template":{"metadata":{"labels":{"app":"x"}},
               "spec":{"containers":[{"name":"main","image":")" +
           std::string(image) + R"("}]}})" + std::string(more) + "}";
  }
  void patch(std::string_view text) {
    const auto response = api.handle(
        {.method = "PATCH", .path = owner_, .content_type = "application/merge-patch+json", .body = std::string(text)});
    ASSERT_EQ(response.status, 200) << response.body;
  }
  std::vector<kube::Json> pods() const {
    std::vector<kube::Json> out;
    api.for_each("/api/v1/pods",
                 [&](const std::string&, const Text& text) { out.push_back(*kube::Json::parse(*text)); });
    return out;
  }
  static std::string at(const kube::Json& object, std::string_view pointer) {
    return std::string(object.at(pointer).text().value_or(""));
  }
  static std::string path_of_pod(const kube::Json& pod) {
    return "/api/v1/namespaces/default/pods/" + at(pod, "/metadata/name");
  }
  int64_t status(std::string_view field) const {
    return api.object(owner_).at("/status/" + std::string(field)).integer().value_or(0);
  }
  void remove(const std::string& path) {
    api.handle({.method = "DELETE", .path = path, .content_type = "", .body = ""});
  }
  void finish(const kube::Json& pod, std::string_view phase) {
    api.merge(path_of_pod(pod), *kube::Json::parse(R"({"status":{"phase":")" + std::string(phase) +
                                                   R"(","conditions":[{"type":"Ready","status":"False",
                                                   "lastTransitionTime":")" +
                                                   io::format_rfc3339(loop->wall_now()) + R"("}]}})"));
  }
  void controllers() { time.run_for(io::milliseconds{30}); }
  // What kubelets do: bound pods run and are ready, deleted ones go.
  void kubelets() {
    for (const kube::Json& pod : pods()) {
      if (at(pod, "/spec/nodeName").empty()) continue;
      if (pod.at("/metadata/deletionTimestamp").exists()) {
        api.erase(path_of_pod(pod));
      } else if (at(pod, "/status/phase") == "Pending") {
        api.merge(path_of_pod(pod), *kube::Json::parse(R"({"status":{"phase":"Running","conditions":[
          {"type":"Ready","status":"True","lastTransitionTime":")" +
                                                       io::format_rfc3339(loop->wall_now()) + R"("}]}})"));
      }
    }
  }
  void settle(int rounds = 12) {
    for (int i = 0; i < rounds; ++i) {
      controllers();
      kubelets();
    }
    controllers();
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
  Scheduler scheduler{*loop, api};
  Workloads workloads{*loop, api};
  std::string owner_;
};

TEST_F(WorkloadsTest, AReplicaSetKeepsItsNumber) {
  create("apps/v1/replicasets", "web", spec(R"(,"replicas":3)"));
  EXPECT_TRUE(pods().empty()) << "never inside the change itself";
  settle();
  ASSERT_EQ(pods().size(), 3u);
  const kube::Json pod = pods()[0];
  EXPECT_EQ(at(pod, "/metadata/generateName"), "web-");
  EXPECT_EQ(at(pod, "/metadata/ownerReferences/0/kind"), "ReplicaSet");
  EXPECT_EQ(pod.at("/metadata/ownerReferences/0/controller").boolean(), true);
  EXPECT_EQ(pod.at("/metadata/ownerReferences/0/blockOwnerDeletion").boolean(), true);
  EXPECT_EQ(status("replicas"), 3);
  EXPECT_EQ(status("readyReplicas"), 3);
  EXPECT_EQ(status("availableReplicas"), 3);
  EXPECT_EQ(status("observedGeneration"), 1);

  // One is told to go: another takes its place before it is gone.
  remove(path_of_pod(pod));
  controllers();
  EXPECT_EQ(pods().size(), 4u);
  EXPECT_EQ(status("terminatingReplicas"), 1);
  settle();
  EXPECT_EQ(pods().size(), 3u);
  // One that failed is replaced and stays to be looked at.
  finish(pods()[0], "Failed");
  settle();
  EXPECT_EQ(pods().size(), 4u);
  EXPECT_EQ(status("replicas"), 3);
  const uint64_t version = api.version();
  time.run_for(io::hours{1});
  EXPECT_EQ(api.version(), version) << "at rest nothing is written";
}

TEST_F(WorkloadsTest, AReplicaSetShrinksByThePodsThatAreMissedLeast) {
  create("apps/v1/replicasets", "web", spec(R"(,"replicas":3)"));
  settle();
  const kube::Json idle = pods()[1];
  api.merge(path_of_pod(idle), *kube::Json::parse(R"({"status":{"conditions":[{"type":"Ready","status":"False"}]}})"));
  patch(R"({"spec":{"replicas":2}})");
  settle();
  EXPECT_EQ(pods().size(), 2u);
  EXPECT_FALSE(api.text(path_of_pod(idle)));
  remove(owner_);
  settle();
  EXPECT_TRUE(pods().empty());
}

TEST_F(WorkloadsTest, ReadyIsNotAvailableBeforeItsTime) {
  create("apps/v1/replicasets", "web", spec(R"(,"replicas":1,"minReadySeconds":60)"));
  settle();
  EXPECT_EQ(status("readyReplicas"), 1);
  EXPECT_EQ(status("availableReplicas"), 0);
  time.run_for(io::seconds{62});
  EXPECT_EQ(status("availableReplicas"), 1);
}

TEST_F(WorkloadsTest, ADeploymentHasOneReplicaSetOfItsTemplate) {
  create("apps/v1/deployments", "web", spec(R"(,"replicas":3)"));
  settle();
  ASSERT_EQ(pods().size(), 3u);
  const std::string set = at(pods()[0], "/metadata/ownerReferences/0/name");
  const std::string hash = at(pods()[0], "/metadata/labels/pod-template-hash");
  EXPECT_EQ(set, "web-" + hash);
  const kube::Json made = api.object("/apis/apps/v1/namespaces/default/replicasets/" + set);
  EXPECT_EQ(at(made, "/spec/selector/matchLabels/pod-template-hash"), hash);
  EXPECT_EQ(at(made, "/metadata/annotations/deployment.kubernetes.io~1revision"), "1");
  EXPECT_EQ(at(api.object(owner_), "/metadata/annotations/deployment.kubernetes.io~1revision"), "1");
  for (const char* field : {"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}) {
    EXPECT_EQ(status(field), 3) << field;
  }
  EXPECT_EQ(status("unavailableReplicas"), 0);
  const kube::Json owner = api.object(owner_);
  EXPECT_EQ(at(owner, "/status/conditions/0/reason"), "MinimumReplicasAvailable");
  EXPECT_EQ(at(owner, "/status/conditions/1/reason"), "NewReplicaSetAvailable");
  const uint64_t version = api.version();
  time.run_for(io::hours{1});
  EXPECT_EQ(api.version(), version) << "at rest nothing is written";
}

TEST_F(WorkloadsTest, ADeploymentScales) {
  create("apps/v1/deployments", "web", spec(R"(,"replicas":3)"));
  settle();
  const auto scaled = api.handle({.method = "PATCH",
                                  .path = owner_ + "/scale",
                                  .content_type = "application/merge-patch+json",
                                  .body = R"({"spec":{"replicas":5}})"});
  EXPECT_EQ(scaled.status, 200);
  EXPECT_EQ(at(*kube::Json::parse(scaled.body), "/kind"), "Scale");
  EXPECT_EQ(at(*kube::Json::parse(scaled.body), "/status/selector"), "app=x");
  settle();
  EXPECT_EQ(pods().size(), 5u);
  EXPECT_EQ(status("availableReplicas"), 5);
  EXPECT_EQ(status("observedGeneration"), 2);
  patch(R"({"spec":{"replicas":0}})");
  settle();
  EXPECT_TRUE(pods().empty());
  EXPECT_EQ(status("replicas"), 0);
}

TEST_F(WorkloadsTest, ANewTemplateRollsOutWithinItsLimits) {
  create(
      "apps/v1/deployments", "web",
      spec(R"(,"replicas":4,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":1}})"));
  settle();
  patch(R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x:2"}]}}}})");
  int64_t most = 0, least = 4;
  const auto count = [&] {
    int64_t all = 0, ready = 0;
    for (const kube::Json& pod : pods()) {
      if (pod.at("/metadata/deletionTimestamp").exists()) continue;
      ++all;
      ready += at(pod, "/status/conditions/0/status") == "True" && at(pod, "/status/phase") == "Running" ? 1 : 0;
    }
    most = std::max(most, all);
    least = std::min(least, ready);
  };
  for (int round = 0; round < 20; ++round) {
    controllers();
    count();
    kubelets();
    count();
  }
  EXPECT_EQ(most, 5);
  EXPECT_EQ(least, 3);
  for (const kube::Json& pod : pods()) EXPECT_EQ(at(pod, "/spec/containers/0/image"), "x:2");
  EXPECT_EQ(pods().size(), 4u);
  EXPECT_EQ(status("updatedReplicas"), 4);
  EXPECT_EQ(at(api.object(owner_), "/metadata/annotations/deployment.kubernetes.io~1revision"), "2");
  remove(owner_);
  settle();
  EXPECT_TRUE(pods().empty());
}

TEST_F(WorkloadsTest, RecreateHasNoTwoTemplatesAtOnce) {
  create("apps/v1/deployments", "web", spec(R"(,"replicas":2,"strategy":{"type":"Recreate"})"));
  settle();
  patch(R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x:2"}]}}}})");
  for (int round = 0; round < 8; ++round) {
    controllers();
    std::set<std::string> images;
    for (const kube::Json& pod : pods()) images.insert(at(pod, "/spec/containers/0/image"));
    EXPECT_LE(images.size(), 1u);
    kubelets();
  }
  EXPECT_EQ(status("updatedReplicas"), 2);
}

TEST_F(WorkloadsTest, AStatefulSetGoesInOrderAndKeepsNames) {
  create("apps/v1/statefulsets", "db", spec(R"(,"replicas":2,"serviceName":"db")"));
  controllers();
  ASSERT_EQ(pods().size(), 1u) << "the second waits for the first";
  EXPECT_EQ(at(pods()[0], "/metadata/name"), "db-0");
  settle();
  ASSERT_EQ(pods().size(), 2u);
  const kube::Json pod = pods()[1];
  EXPECT_EQ(at(pod, "/metadata/labels/statefulset.kubernetes.io~1pod-name"), "db-1");
  EXPECT_EQ(at(pod, "/metadata/labels/apps.kubernetes.io~1pod-index"), "1");
  EXPECT_EQ(at(pod, "/spec/hostname"), "db-1");
  EXPECT_EQ(at(pod, "/spec/subdomain"), "db");
  for (const char* field : {"replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"}) {
    EXPECT_EQ(status(field), 2) << field;
  }

  remove(path_of_pod(pod));
  controllers();
  EXPECT_EQ(pods().size(), 2u) << "its name is not free yet";
  EXPECT_EQ(at(api.object(path_of_pod(pod)), "/metadata/uid"), at(pod, "/metadata/uid"));
  EXPECT_EQ(status("readyReplicas"), 1);
  settle();
  EXPECT_NE(at(api.object(path_of_pod(pod)), "/metadata/uid"), at(pod, "/metadata/uid"));
  EXPECT_EQ(status("readyReplicas"), 2);

  patch(R"({"spec":{"replicas":1}})");
  settle();
  ASSERT_EQ(pods().size(), 1u);
  EXPECT_EQ(at(pods()[0], "/metadata/name"), "db-0");
}

TEST_F(WorkloadsTest, AStatefulSetReplacesPodsThatFailedOrAreOutdated) {
  create("apps/v1/statefulsets", "db", spec(R"(,"replicas":2)"));
  settle();
  const std::string uid = at(pods()[0], "/metadata/uid");
  finish(pods()[0], "Failed");
  settle();
  EXPECT_NE(at(pods()[0], "/metadata/uid"), uid);
  const std::string revision = at(api.object(owner_), "/status/updateRevision");
  patch(R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x:2"}]}}}})");
  controllers();
  EXPECT_TRUE(pods()[1].at("/metadata/deletionTimestamp").exists()) << "the last goes first";
  EXPECT_FALSE(pods()[0].at("/metadata/deletionTimestamp").exists());
  settle();
  for (const kube::Json& pod : pods()) EXPECT_EQ(at(pod, "/spec/containers/0/image"), "x:2");
  EXPECT_NE(at(api.object(owner_), "/status/currentRevision"), revision);
}

TEST_F(WorkloadsTest, ADaemonSetHasOnePodOnEachNodeAlsoWhenCordoned) {
  create("apps/v1/daemonsets", "agent", spec(""));
  settle();
  ASSERT_EQ(pods().size(), 3u);
  std::set<std::string> nodes;
  for (const kube::Json& pod : pods()) nodes.insert(at(pod, "/spec/nodeName"));
  EXPECT_EQ(nodes, (std::set<std::string>{"a", "b", "c"}));
  EXPECT_EQ(at(pods()[0], "/spec/tolerations/5/key"), "node.kubernetes.io/unschedulable");
  for (const char* field : {"desiredNumberScheduled", "currentNumberScheduled", "numberReady", "numberAvailable"}) {
    EXPECT_EQ(status(field), 3) << field;
  }

  api.merge("/api/v1/nodes/a", *kube::Json::parse(R"({"spec":{"unschedulable":true}})"));
  for (const kube::Json& pod : pods()) {
    if (at(pod, "/spec/nodeName") == "a") remove(path_of_pod(pod));
  }
  settle();
  EXPECT_EQ(pods().size(), 3u) << "it comes back on the cordoned node";
  EXPECT_EQ(status("numberReady"), 3);

  add_node("d");
  api.merge("/api/v1/nodes/b", *kube::Json::parse(R"({"spec":{"taints":[{"key":"k","effect":"NoExecute"}]}})"));
  settle();
  nodes.clear();
  for (const kube::Json& pod : pods()) nodes.insert(at(pod, "/spec/nodeName"));
  EXPECT_EQ(nodes, (std::set<std::string>{"a", "c", "d"}));
  EXPECT_EQ(status("desiredNumberScheduled"), 3);
}

TEST_F(WorkloadsTest, ADaemonSetRollsOutOneNodeAtATime) {
  create("apps/v1/daemonsets", "agent", spec(""));
  settle();
  patch(R"({"spec":{"template":{"spec":{"containers":[{"name":"main","image":"x:2"}]}}}})");
  controllers();
  int going = 0;
  for (const kube::Json& pod : pods()) going += pod.at("/metadata/deletionTimestamp").exists() ? 1 : 0;
  EXPECT_EQ(going, 1);
  settle(20);
  ASSERT_EQ(pods().size(), 3u);
  for (const kube::Json& pod : pods()) EXPECT_EQ(at(pod, "/spec/containers/0/image"), "x:2");
  EXPECT_EQ(status("updatedNumberScheduled"), 3);
}

constexpr std::string_view kJob = R"({"completions":3,"parallelism":2,"template":{"spec":{"restartPolicy":"Never",
    "containers":[{"name":"main","image":"x:1"}]}}})";

TEST_F(WorkloadsTest, AJobRunsToItsEnd) {
  create("batch/v1/jobs", "once", kJob);
  settle();
  ASSERT_EQ(pods().size(), 2u);
  EXPECT_EQ(at(pods()[0], "/metadata/labels/job-name"), "once");
  EXPECT_EQ(at(pods()[0], "/metadata/finalizers/0"), "batch.kubernetes.io/job-tracking");
  EXPECT_EQ(status("active"), 2);
  finish(pods()[0], "Succeeded");
  finish(pods()[1], "Succeeded");
  settle();
  EXPECT_EQ(status("succeeded"), 2);
  ASSERT_EQ(pods().size(), 3u);
  for (const kube::Json& pod : pods()) {
    if (at(pod, "/status/phase") == "Running") finish(pod, "Succeeded");
  }
  settle();
  EXPECT_EQ(status("succeeded"), 3);
  EXPECT_EQ(at(api.object(owner_), "/status/conditions/1/type"), "Complete");
  EXPECT_NE(at(api.object(owner_), "/status/completionTime"), "");
  for (const kube::Json& pod : pods()) EXPECT_FALSE(pod.at("/metadata/finalizers").exists());
}

TEST_F(WorkloadsTest, AJobReplacesPodsThatWereTakenAway) {
  create("batch/v1/jobs", "once", kJob);
  settle();
  time.run_for(io::minutes{1});
  remove(path_of_pod(pods()[0]));
  controllers();
  EXPECT_EQ(pods().size(), 3u) << "one that had run for long is replaced at once";
  EXPECT_EQ(status("failed"), 1);
  EXPECT_EQ(status("terminating"), 1);
  settle();
  EXPECT_EQ(pods().size(), 2u) << "nothing holds the old one";

  const kube::Json young = pods()[0];
  finish(young, "Failed");
  settle();
  EXPECT_EQ(status("active"), 1) << "the next one waits, twice as long after the second failure";
  time.run_for(io::seconds{15});
  EXPECT_EQ(status("active"), 1);
  time.run_for(io::seconds{10});
  EXPECT_EQ(status("active"), 2);
}

TEST_F(WorkloadsTest, AJobGivesUpAfterItsLimit) {
  create("batch/v1/jobs", "once",
         R"({"backoffLimit":0,"template":{"spec":{"restartPolicy":"Never",
             "containers":[{"name":"main","image":"x:1"}]}}})");
  settle();
  finish(pods()[0], "Failed");
  settle();
  EXPECT_EQ(at(api.object(owner_), "/status/conditions/1/type"), "Failed");
  EXPECT_EQ(at(api.object(owner_), "/status/conditions/1/reason"), "BackoffLimitExceeded");
  time.run_for(io::hours{1});
  EXPECT_EQ(pods().size(), 1u);
}

TEST_F(WorkloadsTest, WithoutWorkloadsNothingHappens) {
  const uint64_t version = api.version();
  for (int i = 0; i < 100; ++i) add_node("n" + std::to_string(i));
  time.run_for(io::hours{1});
  EXPECT_EQ(api.version(), version + 100);
}

}  // namespace
}  // namespace careen::sim
