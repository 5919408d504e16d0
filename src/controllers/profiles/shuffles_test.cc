#include "controllers/profiles/shuffles.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "controllers/profiles/names.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/decode.h"
#include "kube/pod_owner.h"
#include "kube/pod_store.h"
#include "kube/workload.h"

namespace careen::profiles {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class ShufflesTest : public testing::Test {
 protected:
  void put_node(std::string_view name, std::string_view profiles) {
    auto node = kube::decode_node(fmt::format(R"({{"metadata":{{"name":"{}","uid":"u-{}","resourceVersion":"{}",)"
                                              R"("labels":{{"{}":"{}"}}}}}})",
                                              name, name, ++version, kProfileLabel, profiles),
                                  atoms);
    ASSERT_TRUE(node) << node.error().message;
    nodes.put(std::move(*node));
  }
  // A pod whose name is made of its owner's; `hash` is its template hash label.
  void put_pod(std::string_view name, std::string_view node, std::string_view owner_kind, std::string_view owner,
               std::string_view hash = {}, std::string_view ns = "shop") {
    kube::PodFacts facts;
    const std::string uid = fmt::format("00000000-0000-0000-0000-{:012}", ++version);
    facts.ns = ns;
    facts.name = name;
    facts.uid = uid;
    facts.version = version;
    facts.node = node;
    facts.owner_kind = owner_kind;
    facts.owner_name = owner;
    if (!hash.empty()) facts.labels = {{"pod-template-hash", hash}};
    pods.put(facts);
  }
  void put_workload(kube::WorkloadKind kind, std::string_view name, int64_t replicas, std::string_view ns = "shop") {
    kube::Workload workload;
    workload.kind = kind;
    workload.ns = atoms.intern(ns);
    workload.name = name;
    workload.version = ++version;
    workload.replicas = replicas;
    workloads.of(kind).put(std::move(workload));
  }
  // Of the exposition, without the other spelling.
  std::map<std::string, std::string> scrape() {
    std::map<std::string, std::string> out;
    const std::string text = metrics.expose();
    const std::string_view prefix = "maintenance_controller_pod_";
    for (size_t at = text.find(prefix); at != std::string::npos; at = text.find(prefix, at + 1)) {
      if (at > 0 && text[at - 1] != '\n') continue;
      const std::string line = text.substr(at + prefix.size(), text.find('\n', at) - at - prefix.size());
      const size_t space = line.rfind(' ');
      out.emplace(line.substr(0, space), line.substr(space + 1));
    }
    return out;
  }
  static std::string count(std::string_view owner, std::string_view profile = "p") {
    return fmt::format("shuffle_count{{owner=\"{}\",profile=\"{}\"}}", owner, profile);
  }
  static std::string share(std::string_view owner, std::string_view profile = "p") {
    return fmt::format("shuffles_per_replica{{owner=\"{}\",profile=\"{}\"}}", owner, profile);
  }

  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop = time.make_loop();
  io::Metrics metrics;
  io::Problems problems{io::Log{}};
  kube::AtomPool atoms;
  kube::Store<kube::Node> nodes;
  kube::PodStore pods{atoms};
  kube::Workloads workloads;
  bool known = true;
  int looked_at = 0;  // nodes whose profiles were asked for
  uint64_t version = 0;
  Shuffles shuffles{{*loop, metrics, problems, nodes, pods, workloads, [this] { return known; },
                     [this](const kube::Node& node) {
                       ++looked_at;
                       const std::string label(node.label(kProfileLabel)->view());
                       const size_t split = label.find("--");
                       if (split == std::string::npos) return std::vector<std::string>{label};
                       return std::vector<std::string>{label.substr(0, split), label.substr(split + 2)};
                     }}};
};

TEST_F(ShufflesTest, OwnersByKind) {
  const auto label = [](std::string_view kind, std::string_view name, kube::AtomPool& atoms_, std::string_view hash) {
    kube::PodStore store(atoms_);
    kube::PodFacts facts;
    facts.ns = "n";
    facts.name = "x";
    facts.uid = "8f14e45f-ceea-467f-a0e6-0123456789ab";
    facts.version = 1;
    facts.owner_kind = kind;
    facts.owner_name = name;
    if (!hash.empty()) facts.labels = {{"pod-template-hash", hash}};
    store.put(facts);
    const auto pod = store.find("n", "x");
    const auto owners = owners_of(*pod);
    return owners.empty() ? "" : label_of(owners.front());
  };
  EXPECT_EQ(label("DaemonSet", "proxy", atoms, "abc"), "daemon_set_proxy");
  EXPECT_EQ(label("StatefulSet", "db", atoms, ""), "stateful_set_db");
  EXPECT_EQ(label("ReplicaSet", "web-7d9f8c6b5", atoms, "7d9f8c6b5"), "deployment_web");
  EXPECT_EQ(label("ReplicaSet", "web-7d9f8c6b5", atoms, ""), "replica_set_web-7d9f8c6b5");
  EXPECT_EQ(label("ReplicaSet", "web-7d9f8c6b5", atoms, "another"), "replica_set_web-7d9f8c6b5");
  EXPECT_EQ(label("ReplicaSet", "web7d9f8c6b5", atoms, "7d9f8c6b5"), "replica_set_web7d9f8c6b5");
  EXPECT_EQ(label("ReplicaSet", "-7d9f8c6b5", atoms, "7d9f8c6b5"), "replica_set_-7d9f8c6b5");
  EXPECT_EQ(label("Job", "once", atoms, ""), "");
  EXPECT_EQ(label("", "", atoms, ""), "");
}

TEST_F(ShufflesTest, OwnersThatDoNotControlThePodCountToo) {
  put_node("n1", "p");
  ASSERT_TRUE(pods.put_json(R"({"metadata":{"name":"x","namespace":"ns","resourceVersion":"5","ownerReferences":[
      {"kind":"DaemonSet","name":"proxy"},{"kind":"Job","name":"j"},{"kind":"StatefulSet","name":"db"}]},
      "spec":{"nodeName":"n1"}})"));
  shuffles.begin();
  shuffles.entered_maintenance("n1", "p");
  EXPECT_EQ(scrape().at(count("daemon_set_proxy")), "1");
  EXPECT_EQ(scrape().at(count("stateful_set_db")), "1");
}

TEST_F(ShufflesTest, SeriesAreThereBeforeAnythingHappened) {
  put_node("n1", "p--q");
  put_pod("web-1-a", "n1", "ReplicaSet", "web-1", "1");
  put_pod("web-1-b", "n1", "ReplicaSet", "web-1", "1");
  put_pod("job-a", "n1", "Job", "job");
  put_pod("proxy-a", "", "DaemonSet", "proxy");
  EXPECT_THAT(scrape(), IsEmpty());  // another replica decides
  shuffles.begin();
  EXPECT_EQ(scrape(), (std::map<std::string, std::string>{{count("deployment_web"), "0"},
                                                          {count("deployment_web", "q"), "0"},
                                                          {share("deployment_web"), "0"},
                                                          {share("deployment_web", "q"), "0"}}));
  EXPECT_THAT(
      metrics.expose(),
      AllOf(HasSubstr("maintenance_controller_shuffle_count{owner=\"deployment_web\",profile=\"p\"} 0\n"),
            HasSubstr("maintenance_controller_shuffles_per_replica{owner=\"deployment_web\",profile=\"q\"} 0")));
}

TEST_F(ShufflesTest, EnteringMaintenanceCountsEachPodAndItsShare) {
  put_node("n1", "p");
  put_node("n2", "p");
  put_pod("web-1-a", "n1", "ReplicaSet", "web-1", "1");
  put_pod("web-1-b", "n1", "ReplicaSet", "web-1", "1");
  put_pod("web-1-c", "n2", "ReplicaSet", "web-1", "1");
  put_pod("db-0", "n1", "StatefulSet", "db");
  put_pod("proxy-a", "n1", "DaemonSet", "proxy");
  put_pod("job-a", "n1", "Job", "job");
  put_workload(kube::WorkloadKind::deployment, "web", 4);
  put_workload(kube::WorkloadKind::stateful_set, "db", 1);
  put_workload(kube::WorkloadKind::daemon_set, "proxy", 2);
  shuffles.begin();
  shuffles.entered_maintenance("n1", "p");
  auto series = scrape();
  EXPECT_EQ(series[count("deployment_web")], "2");
  EXPECT_EQ(series[share("deployment_web")], "0.5");
  EXPECT_EQ(series[count("stateful_set_db")], "1");
  EXPECT_EQ(series[share("stateful_set_db")], "1");
  EXPECT_EQ(series[share("daemon_set_proxy")], "0.5");
  EXPECT_EQ(series.size(), 6u);
  EXPECT_THAT(metrics.expose(),
              HasSubstr("maintenance_controller_shuffles_per_replica{owner=\"deployment_web\",profile=\"p\"} 0.5\n"));
  shuffles.entered_maintenance("n2", "p");
  shuffles.entered_maintenance("unknown", "p");
  series = scrape();
  EXPECT_EQ(series[count("deployment_web")], "3");
  EXPECT_EQ(series[share("deployment_web")], "0.75");
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ShufflesTest, NothingIsSmallerThanOne) {
  put_node("n1", "p");
  put_pod("proxy-a", "n1", "DaemonSet", "proxy");
  put_workload(kube::WorkloadKind::daemon_set, "proxy", 0);
  shuffles.begin();
  shuffles.entered_maintenance("n1", "p");
  EXPECT_EQ(scrape()[share("daemon_set_proxy")], "1");
}

TEST_F(ShufflesTest, WhatIsNotWatchedIsAsLargeAsItHasPods) {
  put_node("n1", "p");
  put_node("n2", "p");
  put_pod("bare-a", "n1", "ReplicaSet", "bare");
  put_pod("bare-b", "n2", "ReplicaSet", "bare");
  put_pod("bare-c", "n2", "ReplicaSet", "bare");
  put_pod("bare-d", "n2", "ReplicaSet", "bare");
  put_pod("bare-a", "n2", "ReplicaSet", "bare", "", "another-namespace");
  put_pod("gone-1-a", "n1", "ReplicaSet", "gone-1", "1");
  shuffles.begin();
  shuffles.entered_maintenance("n1", "p");
  auto series = scrape();
  EXPECT_EQ(series[share("replica_set_bare")], "0.25");
  EXPECT_EQ(series[share("deployment_gone")], "1");
  pods.remove("shop", "bare-c", ++version);
  pods.remove("shop", "bare-d", ++version);
  shuffles.entered_maintenance("n1", "p");
  EXPECT_EQ(scrape()[share("replica_set_bare")], "0.75");
}

TEST_F(ShufflesTest, WithoutRightsOnlyPodsAreCounted) {
  put_node("n1", "p");
  put_pod("web-1-a", "n1", "ReplicaSet", "web-1", "1");
  put_pod("bare-a", "n1", "ReplicaSet", "bare");
  known = false;
  shuffles.begin();
  scrape();
  EXPECT_THAT(problems.open(), IsEmpty());  // the lists may be under way
  shuffles.entered_maintenance("n1", "p");
  auto series = scrape();
  EXPECT_EQ(series[count("deployment_web")], "1");
  EXPECT_EQ(series[share("deployment_web")], "0");
  EXPECT_EQ(series[share("replica_set_bare")], "1");
  ASSERT_EQ(problems.open().size(), 1u);
  EXPECT_THAT(problems.open().begin()->second, AllOf(HasSubstr("list and watch"), HasSubstr("apps")));

  known = true;
  put_workload(kube::WorkloadKind::deployment, "web", 2);
  shuffles.entered_maintenance("n1", "p");
  EXPECT_EQ(scrape()[share("deployment_web")], "0.5");
  EXPECT_THAT(problems.open(), IsEmpty());
}

TEST_F(ShufflesTest, MissingRightsAreToldEvenIfNothingHappens) {
  known = false;
  shuffles.begin();
  time.run_for(io::seconds{59});
  scrape();
  EXPECT_THAT(problems.open(), IsEmpty());
  time.run_for(io::seconds{10});
  scrape();
  EXPECT_EQ(problems.open().size(), 1u);
}

TEST_F(ShufflesTest, OnlyWhatChangedIsLookedAtAndNotAtEveryScrape) {
  for (int i = 0; i < 100; ++i) {
    const std::string node = "n" + std::to_string(i);
    put_node(node, "p");
    put_pod("proxy-" + std::to_string(i), node, "DaemonSet", "proxy");
  }
  shuffles.begin();
  scrape();
  EXPECT_EQ(looked_at, 100);
  put_pod("db-0", "n7", "StatefulSet", "db");
  time.run_for(io::seconds{9});
  EXPECT_FALSE(scrape().contains(count("stateful_set_db")));
  time.run_for(io::seconds{1});
  EXPECT_TRUE(scrape().contains(count("stateful_set_db")));
  EXPECT_EQ(looked_at, 101);
  shuffles.profiles_changed();
  time.run_for(io::seconds{10});
  scrape();
  EXPECT_EQ(looked_at, 201);
}

TEST_F(ShufflesTest, ANewProfileOfANodeHasItsSeries) {
  put_node("n1", "p");
  put_pod("db-0", "n1", "StatefulSet", "db");
  shuffles.begin();
  EXPECT_FALSE(scrape().contains(count("stateful_set_db", "q")));
  put_node("n1", "q");
  time.run_for(io::seconds{10});
  EXPECT_TRUE(scrape().contains(count("stateful_set_db", "q")));
}

TEST_F(ShufflesTest, SeriesThatNeverCountedGoAnHourAfterTheirPods) {
  put_node("n1", "p");
  put_node("n2", "p");
  put_pod("old-0", "n1", "StatefulSet", "old");
  put_pod("moved-0", "n2", "StatefulSet", "moved");
  put_pod("stays-0", "n2", "StatefulSet", "stays");
  shuffles.begin();
  scrape();
  shuffles.entered_maintenance("n2", "p");
  pods.remove("shop", "old-0", ++version);
  pods.remove("shop", "moved-0", ++version);
  time.run_for(io::seconds{10});
  scrape();
  time.run_for(io::minutes{59});
  EXPECT_TRUE(scrape().contains(count("stateful_set_old")));
  time.run_for(io::minutes{1});
  const auto series = scrape();
  EXPECT_FALSE(series.contains(count("stateful_set_old")));
  EXPECT_FALSE(series.contains(share("stateful_set_old")));
  EXPECT_EQ(series.at(count("stateful_set_moved")), "1");
  EXPECT_TRUE(series.contains(count("stateful_set_stays")));
  EXPECT_THAT(metrics.expose(), Not(HasSubstr("stateful_set_old")));
  // It may come back.
  put_pod("old-0", "n1", "StatefulSet", "old");
  time.run_for(io::seconds{10});
  EXPECT_EQ(scrape().at(count("stateful_set_old")), "0");
}

TEST_F(ShufflesTest, TwoOwnersOfOneNameShareASeriesButNotTheirSize) {
  put_node("n1", "p");
  put_pod("db-0", "n1", "StatefulSet", "db", "", "a");
  put_pod("db-0", "n1", "StatefulSet", "db", "", "b");
  put_workload(kube::WorkloadKind::stateful_set, "db", 2, "a");
  put_workload(kube::WorkloadKind::stateful_set, "db", 4, "b");
  shuffles.begin();
  shuffles.entered_maintenance("n1", "p");
  EXPECT_EQ(scrape()[count("stateful_set_db")], "2");
  EXPECT_EQ(scrape()[share("stateful_set_db")], "0.75");
}

TEST_F(ShufflesTest, ANodeThatIsGoneHoldsNothing) {
  put_node("n1", "p");
  put_pod("db-0", "n1", "StatefulSet", "db");
  shuffles.begin();
  scrape();
  nodes.remove("n1", ++version);
  time.run_for(io::seconds{10});
  scrape();
  time.run_for(io::hours{1});
  EXPECT_THAT(scrape(), IsEmpty());
}

}  // namespace
}  // namespace careen::profiles
