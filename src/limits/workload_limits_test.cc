// Which workloads keep a node from a place, and what is remembered of those that have one.
#include "limits/workload_limits.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/pod_store.h"

namespace careen::limits {
namespace {

using kube::WorkloadKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class WorkloadLimitsTest : public testing::Test {
 protected:
  void limit(const std::string& name, const std::string& spec) {
    const auto object = kube::decode_object(
        fmt::format(R"({{"metadata":{{"name":"{}","resourceVersion":"1"}},"spec":{}}})", name, spec));
    ASSERT_TRUE(object);
    limits.put(parse_limit(*object));
  }
  void workload(WorkloadKind kind, const std::string& ns, const std::string& name, int64_t wanted,
                const std::string& label = "", bool degraded = false) {
    kube::Workload one;
    one.kind = kind;
    one.ns = atoms.intern(ns);
    one.name = name;
    one.uid = "u";
    one.version = ++version;
    one.wanted = wanted;
    one.degraded = degraded;
    if (!label.empty()) one.labels = {{atoms.intern("app"), atoms.intern(label)}};
    workloads.of(kind).put(std::move(one));
  }
  void deployment(const std::string& name, int64_t wanted, const std::string& label = "") {
    workload(WorkloadKind::deployment, "shop", name, wanted, label);
  }
  void pod(const std::string& node, const std::string& kind, const std::string& owner, const std::string& ns = "shop",
           kube::PodPhase phase = kube::PodPhase::running) {
    const std::string name = fmt::format("{}-{}", owner, ++version);
    const std::string uid = fmt::format("00000000-0000-0000-0000-{:012}", version);
    const bool deployed = kind == "Deployment";
    const std::string set = deployed ? owner + "-abc" : owner, of = deployed ? "ReplicaSet" : kind;
    kube::PodFacts facts;
    facts.ns = ns;
    facts.name = name;
    facts.uid = uid;
    facts.version = version;
    facts.node = node;
    facts.owner_kind = of;
    facts.owner_name = set;
    facts.phase = phase;
    if (deployed) facts.labels = {{"pod-template-hash", "abc"}};
    pods.put(facts);
    names.emplace(node, ns + "/" + name);
  }
  void evict_all(const std::string& node) {
    const auto [first, last] = names.equal_range(node);
    for (auto it = first; it != last; ++it) {
      const size_t slash = it->second.find('/');
      pods.remove(it->second.substr(0, slash), it->second.substr(slash + 1), ++version);
    }
    names.erase(first, last);
  }
  void space(const std::string& name, const std::string& tier) {
    kube::Namespace one;
    one.name = name;
    one.version = ++version;
    one.labels = {{atoms.intern("tier"), atoms.intern(tier)}};
    namespaces.put(std::move(one));
  }
  // limit: why
  std::vector<std::string> refusals(const std::string& node) {
    std::vector<std::string> out;
    limits.refusals(node, [&](const WorkloadLimits::Refusal& refusal) {
      out.push_back(refusal.limit->name + ": " + refusal.why);
      return true;
    });
    return out;
  }

  kube::AtomPool atoms;
  kube::PodStore pods{atoms};
  kube::Workloads workloads;
  kube::Store<kube::Namespace> namespaces;
  bool pods_known = true, kinds_known = true, namespaces_known = true;
  uint64_t version = 1;
  std::multimap<std::string, std::string> names;
  WorkloadLimits limits{{pods, workloads, namespaces, [this] { return pods_known; },
                         [this](WorkloadKind) { return kinds_known; }, [this] { return namespaces_known; }}};
};

TEST_F(WorkloadLimitsTest, OneNodeWithPodsOfAWorkloadAtATime) {
  limit("web", R"({"type":"deployment","maxUnavailable":1})");
  deployment("web", 3);
  for (const char* node : {"n1", "n2", "n3"}) pod(node, "Deployment", "web");
  EXPECT_THAT(refusals("n1"), IsEmpty());
  EXPECT_THAT(limits.take("n1"), SizeIs(1));
  EXPECT_THAT(refusals("n2"), ElementsAre("web: deployment shop/web: 1 of 1: n1"));
  EXPECT_THAT(refusals("n4"), IsEmpty());
  EXPECT_TRUE(limits.release("n1"));
  EXPECT_THAT(refusals("n2"), IsEmpty());
  EXPECT_FALSE(limits.release("n1"));
}

TEST_F(WorkloadLimitsTest, EvictedPodsStillCount) {
  limit("web", R"({"type":"deployment","maxUnavailable":1})");
  deployment("web", 3);
  for (const char* node : {"n1", "n2"}) pod(node, "Deployment", "web");
  limits.take("n1");
  evict_all("n1");
  EXPECT_THAT(refusals("n2"), ElementsAre(HasSubstr("1 of 1: n1")));
  // Also after it was taken again, by somebody else.
  limits.take("n1");
  EXPECT_THAT(refusals("n2"), ElementsAre(HasSubstr("1 of 1: n1")));
  EXPECT_THAT(refusals("n1"), IsEmpty());
}

TEST_F(WorkloadLimitsTest, ASuccessorReadsWhatWasRemembered) {
  limit("web", R"({"type":"deployment","maxUnavailable":1})");
  deployment("web", 3);
  pod("n1", "Deployment", "web");
  pod("n2", "Deployment", "web");
  const std::vector<std::string> record = limits.take("n1");
  limits.release("n1");
  evict_all("n1");
  EXPECT_EQ(limits.take("n1", record), record);
  EXPECT_THAT(refusals("n2"), ElementsAre("web: deployment shop/web: 1 of 1: n1"));
  limits.release("n1");
  // What cannot be read counts for everything.
  limits.take("n1", {"no mark"});
  EXPECT_THAT(refusals("n2"), ElementsAre(HasSubstr("1 of 1: n1")));
}

TEST_F(WorkloadLimitsTest, EachWorkloadCountsForItself) {
  limit("half", R"({"type":"deployment","limit":50})");
  deployment("web", 4);
  deployment("db", 1);
  for (const char* node : {"n1", "n2", "n3"}) pod(node, "Deployment", "web");
  pod("n4", "Deployment", "db");
  limits.take("n1");
  EXPECT_THAT(refusals("n2"), IsEmpty());
  EXPECT_THAT(refusals("n4"), IsEmpty());
  limits.take("n2");
  EXPECT_THAT(refusals("n3"), ElementsAre("half: deployment shop/web: 2 of 2: n1, n2"));
}

TEST_F(WorkloadLimitsTest, SelectsByLabelsOfWorkloadsAndOfTheirNamespaces) {
  limit("prod", R"({"type":"statefulset","maxUnavailable":0,"selector":{"matchLabels":{"app":"db"}},
    "namespaceSelector":{"matchLabels":{"tier":"prod"}}})");
  EXPECT_TRUE(limits.needs_namespaces());
  space("shop", "prod");
  space("lab", "test");
  workload(WorkloadKind::stateful_set, "shop", "db", 3, "db");
  workload(WorkloadKind::stateful_set, "shop", "cache", 3, "cache");
  workload(WorkloadKind::stateful_set, "lab", "db", 3, "db");
  workload(WorkloadKind::stateful_set, "new", "db", 3, "db");
  deployment("db", 3, "db");
  pod("n1", "StatefulSet", "db");
  pod("n2", "StatefulSet", "cache");
  pod("n3", "StatefulSet", "db", "lab");
  pod("n4", "Deployment", "db");
  pod("n5", "StatefulSet", "db", "new");
  EXPECT_THAT(refusals("n1"), ElementsAre("prod: statefulset shop/db: 0 of 0"));
  for (const char* node : {"n2", "n3", "n4"}) EXPECT_THAT(refusals(node), IsEmpty()) << node;
  // Its namespace has not been heard of yet.
  EXPECT_THAT(refusals("n5"), SizeIs(1));
}

TEST_F(WorkloadLimitsTest, DaemonSetsCountByThePodsThatThereShouldBe) {
  limit("agents", R"({"type":"daemonset","maxUnavailable":"20%"})");
  workload(WorkloadKind::daemon_set, "kube-system", "proxy", 10);
  for (const char* node : {"n1", "n2", "n3"}) pod(node, "DaemonSet", "proxy", "kube-system");
  limits.take("n1");
  EXPECT_THAT(refusals("n3"), IsEmpty());
  limits.take("n2");
  EXPECT_THAT(refusals("n3"), ElementsAre("agents: daemonset kube-system/proxy: 2 of 2: n1, n2"));
}

TEST_F(WorkloadLimitsTest, ThePolicyNotReadySparesWhatIsDegraded) {
  limit("web", R"({"type":"deployment","maxUnavailable":2,"policies":["Unschedulable","NotReady"]})");
  limit("careless", R"({"type":"deployment","maxUnavailable":2,"policies":["Unschedulable"]})");
  workload(WorkloadKind::deployment, "shop", "web", 3, "", true);
  pod("n1", "Deployment", "web");
  EXPECT_THAT(refusals("n1"), ElementsAre("web: deployment shop/web is not ready"));
  deployment("web", 3);
  EXPECT_THAT(refusals("n1"), IsEmpty());
}

TEST_F(WorkloadLimitsTest, WhatIsNotWantedOrHasEndedIsNotMissed) {
  limit("none", R"({"type":"deployment","maxUnavailable":0})");
  deployment("web", 0);
  deployment("batch", 3);
  pod("n1", "Deployment", "web");
  pod("n1", "Deployment", "batch", "shop", kube::PodPhase::succeeded);
  pod("n1", "Deployment", "gone");
  EXPECT_THAT(refusals("n1"), IsEmpty());
}

TEST_F(WorkloadLimitsTest, WhatIsNotKnownHoldsBack) {
  EXPECT_THAT(refusals("n1"), IsEmpty());
  limit("web", R"({"type":"deployment","maxUnavailable":1})");
  for (bool* known : {&pods_known, &kinds_known}) {
    *known = false;
    EXPECT_THAT(refusals("n1"), ElementsAre("web: it is not known yet which pods and workloads there are"));
    *known = true;
  }
  namespaces_known = false;
  EXPECT_THAT(refusals("n1"), IsEmpty());
  limit("web", R"({"type":"deployment","maxUnavailable":1,"namespaceSelector":{"matchLabels":{"a":"b"}}})");
  EXPECT_THAT(refusals("n1"), SizeIs(1));
}

TEST_F(WorkloadLimitsTest, AMistakeHoldsBackWhatTheLimitIsAbout) {
  limit("web", R"({"type":"deployment","maxUnavailable":"many"})");
  deployment("web", 3);
  pod("n1", "Deployment", "web");
  EXPECT_THAT(refusals("n1"), ElementsAre(HasSubstr("mended: spec.maxUnavailable")));
  EXPECT_THAT(refusals("n2"), IsEmpty());
  limits.remove("web");
  EXPECT_TRUE(limits.empty());
  EXPECT_THAT(refusals("n1"), IsEmpty());
}

TEST_F(WorkloadLimitsTest, ANodeWithVeryManyWorkloadsCountsForAll) {
  limit("all", R"({"type":"deployment","maxUnavailable":1})");
  for (int i = 0; i < 70; ++i) {
    deployment(fmt::format("web{}", i), 3);
    pod("n1", "Deployment", fmt::format("web{}", i));
  }
  deployment("other", 3);
  pod("n2", "Deployment", "other");
  EXPECT_THAT(limits.take("n1"), ElementsAre("*"));
  EXPECT_THAT(refusals("n2"), ElementsAre("all: deployment shop/other: 1 of 1: n1"));
  limits.release("n1");
  EXPECT_THAT(refusals("n2"), IsEmpty());
}

// What was found on a node is kept, and must not outlive what it was found in.
TEST_F(WorkloadLimitsTest, FollowsPodsWorkloadsAndLimits) {
  std::vector<std::string> heard;
  WorkloadLimits following(
      {pods, workloads, namespaces, [] { return true; }, [](WorkloadKind) { return true; }, [] { return true; }},
      {[&](std::string_view node) { heard.emplace_back(node); }, [&] { heard.emplace_back("workloads"); }});
  const auto refused = [&](const std::string& node) {
    size_t count = 0;
    following.refusals(node, [&](const WorkloadLimits::Refusal&) { return ++count > 0; });
    return count > 0;
  };
  const auto none = kube::decode_object(
      R"({"metadata":{"name":"web","resourceVersion":"1"},"spec":{"type":"deployment","maxUnavailable":0,
      "selector":{"matchLabels":{"app":"web"}}}})");
  following.put(parse_limit(*none));
  deployment("web", 3);
  pod("n1", "Deployment", "web");
  EXPECT_THAT(heard, ElementsAre("workloads", "n1"));
  EXPECT_FALSE(refused("n1"));
  deployment("web", 3, "web");
  EXPECT_TRUE(refused("n1"));
  evict_all("n1");
  EXPECT_FALSE(refused("n1"));
  pod("n1", "Deployment", "web");
  EXPECT_TRUE(refused("n1"));
  workloads.of(WorkloadKind::deployment).remove("shop/web", ++version);
  EXPECT_FALSE(refused("n1"));
  deployment("web", 3, "web");
  EXPECT_TRUE(refused("n1"));
  following.remove("web");
  EXPECT_FALSE(refused("n1"));
}

TEST_F(WorkloadLimitsTest, SaysWhatHasToBeWatched) {
  EXPECT_THAT(limits.kinds(), IsEmpty());
  limit("a", R"({"type":"deployment","maxUnavailable":1})");
  limit("b", R"({"type":"daemonset","maxUnavailable":1})");
  EXPECT_THAT(limits.kinds(), ElementsAre(WorkloadKind::deployment, WorkloadKind::daemon_set));
  EXPECT_FALSE(limits.needs_namespaces());
}

}  // namespace
}  // namespace careen::limits
