// Pods get nodes: the one with most room among those that take them, or a reason why none does.
#include "sim/scheduler.h"

#include <gtest/gtest.h>

#include "io/virtual_time.h"

namespace careen::sim {
namespace {

class SchedulerTest : public ::testing::Test {
 protected:
  void add_node(const std::string& name, std::string_view spec = "{}", std::string_view cpu = "4",
                std::string_view zone = "z1") {
    api.put("/api/v1/nodes/" + name,
            *kube::Json::parse(R"({"metadata":{"labels":{"kubernetes.io/hostname":")" + name + R"(","zone":")" +
                               std::string(zone) + R"("}},"spec":)" + std::string(spec) +
                               R"(,"status":{"conditions":[{"type":"Ready","status":"True"}],
                               "allocatable":{"cpu":")" +
                               std::string(cpu) + R"(","memory":"8Gi","pods":"3"}}})"));
  }
  void add_pod(const std::string& name, std::string_view spec = "{}", std::string_view labels = "{}") {
    json::value pod = {{"metadata", {{"name", name}}}};
    pod.at("metadata").get_object()["labels"] = json::parse(labels);
    pod.get_object()["spec"] = json::parse(spec);
    if (!member(pod.at("spec"), "containers")) {
      pod.at("spec").get_object()["containers"] = json::parse(R"([{"name":"main","image":"x:1"}])");
    }
    const auto response = api.handle({.method = "POST",
                                      .path = "/api/v1/namespaces/default/pods",
                                      .content_type = "application/json",
                                      .body = json::serialize(pod)});
    ASSERT_EQ(response.status, 201) << response.body;
  }
  static std::string asking(std::string_view cpu) {
    return R"({"containers":[{"name":"main","image":"x:1","resources":{"requests":{"cpu":")" + std::string(cpu) +
           R"("}}}]})";
  }
  std::string path(const std::string& name) const { return "/api/v1/namespaces/default/pods/" + name; }
  std::string node_of(const std::string& name) {
    return std::string(api.object(path(name)).at("/spec/nodeName").text().value_or("(none)"));
  }
  std::string condition(const std::string& name, const std::string& field) {
    return std::string(api.object(path(name)).at("/status/conditions/0/" + field).text().value_or("(none)"));
  }
  void settle() { time.run_for(io::milliseconds{20}); }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  ApiServer api{*loop};
  Scheduler scheduler{*loop, api};
};

TEST_F(SchedulerTest, PodsGoWhereMostRoomIsAndTiesGoByName) {
  add_node("b");
  add_node("a");
  add_pod("p1", asking("1"));
  EXPECT_EQ(node_of("p1"), "(none)") << "never inside the change itself";
  settle();
  EXPECT_EQ(node_of("p1"), "a");
  add_pod("p2", asking("2"));
  add_pod("p3", asking("500m"));
  settle();
  EXPECT_EQ(node_of("p2"), "b");
  EXPECT_EQ(node_of("p3"), "a");
  EXPECT_EQ(condition("p1", "type"), "PodScheduled");
  EXPECT_EQ(condition("p1", "status"), "True");
}

TEST_F(SchedulerTest, APodThatFitsNowhereSaysWhyAndIsTriedAgain) {
  add_node("full", "{}", "500m");
  add_node("cordoned", R"({"unschedulable":true})");
  add_node("tainted", R"({"taints":[{"key":"k","effect":"NoExecute"}]})");
  add_pod("p", asking("1"));
  settle();
  EXPECT_EQ(node_of("p"), "(none)");
  EXPECT_EQ(condition("p", "reason"), "Unschedulable");
  EXPECT_EQ(condition("p", "message"),
            "0/3 nodes are available: 1 Insufficient cpu, 1 node(s) had untolerated taint(s), 1 node(s) were "
            "unschedulable.");
  const uint64_t version = api.version();
  time.run_for(io::hours{1});
  EXPECT_EQ(api.version(), version) << "nothing happens while nothing changes";
  api.merge("/api/v1/nodes/cordoned", *kube::Json::parse(R"({"spec":{"unschedulable":null}})"));
  settle();
  EXPECT_EQ(node_of("p"), "cordoned");
  EXPECT_EQ(api.object(path("p")).at("/status/conditions").size(), 1u);
  EXPECT_EQ(scheduler.refused(), 0u);
}

TEST_F(SchedulerTest, ThePodsOfANodeAreCountedAndThoseThatEndedAreNot) {
  add_node("a");
  for (const char* name : {"p1", "p2", "p3", "p4", "p5"}) add_pod(name);
  settle();
  EXPECT_EQ(node_of("p3"), "a");
  EXPECT_EQ(node_of("p4"), "(none)");
  EXPECT_EQ(condition("p4", "message"), "0/1 nodes are available: 1 Too many pods.");
  api.erase(path("p1"));
  settle();
  EXPECT_EQ(node_of("p4"), "a");
  EXPECT_EQ(node_of("p5"), "(none)");
  api.merge(path("p2"), *kube::Json::parse(R"({"status":{"phase":"Succeeded"}})"));
  settle();
  EXPECT_EQ(node_of("p5"), "a");
}

TEST_F(SchedulerTest, ANodeThatComesBackHasThePodsItHad) {
  add_node("a");
  add_pod("p1", asking("3"));
  settle();
  const kube::Json kept = api.object("/api/v1/nodes/a");
  api.erase("/api/v1/nodes/a");
  add_pod("p2", asking("3"));
  settle();
  EXPECT_EQ(condition("p2", "message"), "no nodes available to schedule pods");
  add_node("a");
  settle();
  EXPECT_EQ(condition("p2", "message"), "0/1 nodes are available: 1 Insufficient cpu.");
}

TEST_F(SchedulerTest, PodsThatWereThereBeforeTheFirstCount) {
  add_node("a");
  api.put(path("old"), *kube::Json::parse(R"({"spec":{"nodeName":"a","containers":[{"name":"c","resources":
                                              {"requests":{"cpu":"4"}}}]},"status":{"phase":"Running"}})"));
  settle();
  add_pod("p", asking("1"));
  settle();
  EXPECT_EQ(node_of("p"), "(none)");
}

TEST_F(SchedulerTest, TaintsKeepAwayWhoDoesNotBearThem) {
  add_node("batch-1", R"({"taints":[{"key":"batch","effect":"NoSchedule"}]})", "8");
  add_node("batch-2", R"({"taints":[{"key":"batch","effect":"NoSchedule"}]})", "16");
  add_node("closed", R"({"unschedulable":true})", "32");
  add_node("plain", "{}", "4");
  const std::string bears = R"({"tolerations":[{"key":"batch","operator":"Exists"}],)" + asking("3").substr(1);
  add_pod("anyone", asking("3"));
  add_pod("batch-a", bears);
  add_pod("batch-b", bears);
  time.run_for(io::seconds{1});
  EXPECT_EQ(node_of("anyone"), "plain");
  EXPECT_EQ(node_of("batch-a"), "batch-1");
  EXPECT_EQ(node_of("batch-b"), "batch-2");
}

TEST_F(SchedulerTest, PreferencesComeBeforeRoom) {
  add_node("a");
  add_node("b", "{}", "2", "z2");
  add_pod("p", R"({"affinity":{"nodeAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[
    {"weight":1,"preference":{"matchExpressions":[{"key":"zone","operator":"In","values":["z2"]}]}}]}}})");
  settle();
  EXPECT_EQ(node_of("p"), "b");
}

TEST_F(SchedulerTest, AntiAffinityKeepsPodsApartBothWays) {
  add_node("a", "{}", "4", "z1");
  add_node("b", "{}", "4", "z1");
  const std::string apart = R"({"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[
      {"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":"x"}}}]}}})";
  for (const char* name : {"p1", "p2", "p3"}) add_pod(name, apart, R"({"app":"x"})");
  settle();
  EXPECT_EQ(node_of("p1"), "a");
  EXPECT_EQ(node_of("p2"), "b");
  EXPECT_EQ(node_of("p3"), "(none)");
  EXPECT_EQ(condition("p3", "message"), "0/2 nodes are available: 2 node(s) didn't match pod anti-affinity rules.");
  add_pod("plain", "{}", R"({"app":"x"})");
  add_pod("other", "{}", R"({"app":"y"})");
  settle();
  EXPECT_EQ(node_of("plain"), "(none)") << "those that are there do not want it";
  EXPECT_NE(node_of("other"), "(none)");
}

TEST_F(SchedulerTest, HigherPriorityIsServedFirstAndOtherSchedulersAreLeftAlone) {
  add_node("a", "{}", "1");
  add_pod("low", asking("1"));
  json::value high = json::parse(asking("1"));
  high.get_object()["priority"] = 1000;
  add_pod("high", json::serialize(high));
  json::value foreign = json::parse(asking("10m"));
  foreign.get_object()["schedulerName"] = "mine";
  add_pod("foreign", json::serialize(foreign));
  settle();
  EXPECT_EQ(node_of("high"), "a");
  EXPECT_EQ(node_of("low"), "(none)");
  EXPECT_EQ(node_of("foreign"), "(none)");
  EXPECT_EQ(scheduler.refused(), 1u);
}

}  // namespace
}  // namespace careen::sim
