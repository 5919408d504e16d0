// Limits about workloads at the desk: whoever asks, waits, has a place or has inherited one.
#include "kube/pod_store.h"
#include "kube/workload.h"
#include "limits/test_desk.h"
#include "limits/workload_limits.h"

namespace careen::limits {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kOne = R"({"type":"deployment","maxUnavailable":1})";

class DeskWorkloadsTest : public testing::Test, protected DeskWorld {
 protected:
  DeskWorkloadsTest() {
    for (const char* name : {"n1", "n2", "n3"}) node(name);
    open();
  }
  void follow() {
    desk->follow({pods, workloads, namespaces, [this] { return pods_known; }, [](kube::WorkloadKind) { return true; },
                  [] { return true; }},
                 [this](const WorkloadLimits& all) { watched = all.kinds(); });
  }
  void web_on(const std::string& node) {
    kube::PodFacts facts;
    const std::string name = "web-abc-" + node;
    const std::string uid = "00000000-0000-0000-0000-0000000000" + node;
    facts.ns = "shop";
    facts.name = name;
    facts.uid = uid;
    facts.version = ++version;
    facts.node = node;
    facts.owner_kind = "ReplicaSet";
    facts.owner_name = "web-abc";
    facts.labels = {{"pod-template-hash", "abc"}};
    facts.phase = kube::PodPhase::running;
    pods.put(facts);
  }
  void evict_from(const std::string& node) { pods.remove("shop", "web-abc-" + node, ++version); }
  void web_wants(int64_t replicas) {
    kube::Workload web;
    web.ns = atoms.intern("shop");
    web.name = "web";
    web.uid = "u";
    web.version = ++version;
    web.wanted = replicas;
    workloads.of(kube::WorkloadKind::deployment).put(std::move(web));
  }
  void everywhere() {
    web_wants(3);
    for (const char* node : {"n1", "n2"}) web_on(node);
    follow();
    limit("web", kOne);
    desk->inherit();
  }
  std::vector<std::string> recorded() const {
    std::vector<std::string> keys;
    for (const auto& [key, entry] : ledger->entries()) {
      if (entry.admission.by == "workloads") keys.push_back(key);
    }
    return keys;
  }

  kube::PodStore pods{atoms};
  kube::Workloads workloads;
  kube::Store<kube::Namespace> namespaces;
  bool pods_known = true;
  std::set<kube::WorkloadKind> watched;
};

TEST_F(DeskWorkloadsTest, TheNextNodeOfAWorkloadWaitsForTheFirst) {
  everywhere();
  EXPECT_THAT(watched, ElementsAre(kube::WorkloadKind::deployment));
  EXPECT_TRUE(desk->limited("n1"));
  EXPECT_TRUE(allows("n1", "profile/os"));
  take("n1", "profile/os");
  EXPECT_FALSE(allows("n2", "profile/os"));
  EXPECT_EQ(why_not("n2", "profile/os"), "limit web about workloads: deployment shop/web: 1 of 1: n1");
  EXPECT_TRUE(allows("n3", "profile/os"));
  desk->wait(asking("n2", "profile/os"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  ASSERT_EQ(desk->queue().size(), 1u);
  EXPECT_THAT(desk->queue()[0].groups, ElementsAre("web"));
  evict_from("n1");
  EXPECT_THAT(whose_turn(), IsEmpty());
  desk->release("n1", "profile/os");
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/os"));
}

TEST_F(DeskWorkloadsTest, WhatANodeRanIsOnRecordAsLongAsItHasAPlace) {
  everywhere();
  take("n1", "profile/os");
  take("n1", "request/mr");
  EXPECT_THAT(recorded(), ElementsAre("workloads@uid-n1"));
  desk->release("n1", "profile/os");
  EXPECT_THAT(recorded(), ElementsAre("workloads@uid-n1"));
  desk->release("n1", "request/mr");
  EXPECT_THAT(recorded(), IsEmpty());
  take("n3", "profile/os");
  EXPECT_THAT(recorded(), IsEmpty());
}

TEST_F(DeskWorkloadsTest, ASuccessorCountsWhatItsPredecessorRecorded) {
  everywhere();
  take("n1", "profile/os");
  evict_from("n1");
  // The ledger stays; all else begins anew.
  desk.emplace(*loop, nodes, limits, *ledger);
  desk->known();
  follow();
  EXPECT_TRUE(allows("n2", "profile/os"));
  desk->inherit();
  EXPECT_FALSE(allows("n2", "profile/os"));
  take("n1", "profile/os");
  time.run_for(io::minutes{11});
  EXPECT_FALSE(allows("n2", "profile/os"));
  desk->release("n1", "profile/os");
  EXPECT_TRUE(allows("n2", "profile/os"));
  EXPECT_THAT(recorded(), IsEmpty());
}

// What it has seen later than the leader must not stand in for what the leader has on record.
TEST_F(DeskWorkloadsTest, AFollowerRecordsNothing) {
  web_wants(3);
  web_on("n1");
  follow();
  limit("web", kOne);
  node("n1", {.holder = "terminal/ana@host"});
  EXPECT_THAT(recorded(), IsEmpty());
  desk->inherit();
  EXPECT_THAT(recorded(), ElementsAre("workloads@uid-n1"));
}

TEST_F(DeskWorkloadsTest, ARecordThatNobodyTakesUpEnds) {
  everywhere();
  take("n1", "profile/os");
  desk.emplace(*loop, nodes, limits, *ledger);
  desk->known();
  follow();
  desk->inherit();
  desk->wait(asking("n2", "profile/os"));
  desk->release("n1", "profile/os");
  time.run_for(io::minutes{9});
  EXPECT_FALSE(allows("n2", "profile/os"));
  time.run_for(io::minutes{2});
  EXPECT_TRUE(allows("n2", "profile/os"));
  EXPECT_THAT(recorded(), IsEmpty());
}

TEST_F(DeskWorkloadsTest, APersonsHoldCountsWithoutAPlace) {
  everywhere();
  node("n1", {.holder = "terminal/ana@host"});
  EXPECT_FALSE(allows("n2", "profile/os"));
  evict_from("n1");
  EXPECT_FALSE(allows("n2", "profile/os"));
  node("n1");
  EXPECT_TRUE(allows("n2", "profile/os"));
}

TEST_F(DeskWorkloadsTest, ANodeThatIsDownAndOthersThanCareenAreNotHeldBack) {
  everywhere();
  take("n1", "profile/os");
  EXPECT_TRUE(allows("n2", "foreign/kubectl"));
  node("n2", {.ready = false});
  EXPECT_TRUE(allows("n2", "nodemaintenance/disk", Rank::repair));
  node("n2");
  EXPECT_FALSE(allows("n2", "nodemaintenance/disk", Rank::repair));
}

TEST_F(DeskWorkloadsTest, WhoeverWaitsIsLookedAtWhenTheWorkloadIsAnother) {
  everywhere();
  take("n1", "profile/os");
  desk->wait(asking("n2", "profile/os"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  evict_from("n2");
  EXPECT_THAT(whose_turn(), ElementsAre("n2 profile/os"));
}

TEST_F(DeskWorkloadsTest, PlacesFromBeforeTheLimitCount) {
  web_wants(3);
  for (const char* node : {"n1", "n2"}) web_on(node);
  take("n1", "profile/os");
  limit("web", kOne);
  EXPECT_EQ(why_not("n2", "profile/os"), "limit web about workloads: workloads are not watched");
  pods_known = false;
  follow();
  EXPECT_THAT(why_not("n2", "profile/os"), HasSubstr("not known yet"));
  desk->wait(asking("n3", "profile/os"));
  EXPECT_THAT(whose_turn(), IsEmpty());
  pods_known = true;
  desk->workloads_known();
  EXPECT_THAT(whose_turn(), ElementsAre("n3 profile/os"));
  EXPECT_THAT(why_not("n2", "profile/os"), HasSubstr("1 of 1: n1"));
  remove_limit("web");
  EXPECT_TRUE(allows("n2", "profile/os"));
  EXPECT_FALSE(desk->limited("n2"));
}

TEST_F(DeskWorkloadsTest, LimitsAboutNodesHoldBesides) {
  everywhere();
  limit("node", R"({"maxUnavailable":1})");
  take("n3", "profile/os");
  EXPECT_THAT(why_not("n1", "profile/os"), HasSubstr("limit node (1 of 1"));
  take("n1", "profile/os");
  EXPECT_THAT(why_not("n2", "profile/os"), HasSubstr("; limit web about workloads: deployment shop/web: 1 of 1: n1"));
}

}  // namespace
}  // namespace careen::limits
