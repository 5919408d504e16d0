// The whole of careen on the model cluster, in virtual time.
#include "replica/model_process.h"

#include <gtest/gtest.h>

#include "budget/ledger.h"
#include "budget/ledger_record.h"
#include "io/problems.h"
#include "kube/json.h"
#include "kube/lock.h"
#include "sim/cluster.h"
#include "sim/object_store.h"

namespace careen::replica {
namespace {

constexpr const char* kRoundConfig = R"(
intervals: {requeue: 30s}
instances:
  check:
  - {name: go, type: hasLabel, config: {key: go}}
  - {name: fresh, type: hasLabel, config: {key: done}}
  - {name: stay, type: wait, config: {duration: 10m}}
  - {name: max, type: maxMaintenance, config: {max: 2}}
  trigger:
  - {name: finish, type: alterLabel, config: {key: done, value: "true"}}
profiles:
- name: p
  operational: {transitions: [{check: go && !fresh, next: maintenance-required}]}
  maintenance-required: {transitions: [{check: max, next: in-maintenance}]}
  in-maintenance: {transitions: [{check: stay, next: operational, trigger: finish}]}
)";

class ModelProcessTest : public testing::Test {
 protected:
  void add_nodes() {
    for (const char* name : {"a", "b", "c"}) {
      auto node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
      node.set({"metadata", "labels", "go"}, "").set({"metadata", "labels", "cloud.sap/maintenance-profile"}, "p");
      cluster.api.put(std::string("/api/v1/nodes/") + name, std::move(node));
    }
  }
  io::VirtualTime time;
  std::unique_ptr<io::Loop> server = time.make_loop();
  sim::Cluster cluster{*server};
};

TEST_F(ModelProcessTest, TakesTheLockAndBringsNodesThrough) {
  add_nodes();
  ModelProcess careen(time, cluster, kRoundConfig);
  const auto all_done = [&] {
    int done = 0;
    cluster.api.for_each("/api/v1/nodes", [&](const std::string&, const sim::Text& text) {
      done += text->find("\"done\":\"true\"") != std::string::npos;
    });
    return done == 3;
  };
  EXPECT_TRUE(time.run_until(all_done, io::hours{1}));
  EXPECT_GT(time.now().time_since_epoch(), io::minutes{20});
  EXPECT_TRUE(careen.replica().problems().open().empty());
  EXPECT_FALSE(careen.exit_code());
}

// A leader that slept through the end of its lease finds work when it wakes, and must not do it.
TEST_F(ModelProcessTest, SendsNothingUnderALeaseThatMayHaveEnded) {
  ModelProcess careen(time, cluster, kRoundConfig);
  ASSERT_TRUE(time.run_until([&] { return careen.replica().election().leading(); }, io::minutes{1}));
  time.run_for(io::seconds{2});
  careen.suspend();
  add_nodes();
  time.run_for(io::minutes{1});
  careen.resume();
  time.run_for(io::minutes{1});
  EXPECT_EQ(cluster.api.count("PATCH nodes"), 0);
  EXPECT_EQ(careen.exit_code(), 1);
}

// Whatever has been switched off since cannot settle what it had admitted.
TEST_F(ModelProcessTest, WhatAControllerHadAdmittedThatIsNotRunAnyMoreIsGivenBack) {
  budget::LedgerRecord record{.epoch = 1, .writer = "before", .write = 1, .admitted = {}};
  for (const char* by : {"request/rebooter", "nodemaintenance/disk", "somebody"}) {
    const budget::Admission admission{.uid = "u", .node = "a", .by = by};
    record.admitted[admission.key()] = admission;
  }
  auto lease = kube::Json::object({{"kind", "Lease"}, {"apiVersion", "coordination.k8s.io/v1"}});
  lease.set({"metadata", "annotations", std::string(budget::Ledger::kAnnotation)}, record.text());
  cluster.api.put("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/careen-ledger", std::move(lease));
  ModelProcess careen(time, cluster, kRoundConfig);
  time.run_for(io::minutes{10});
  EXPECT_EQ(careen.replica().ledger().entries().size(), 3u);
  time.run_for(io::minutes{12});
  ASSERT_EQ(careen.replica().ledger().entries().size(), 1u);
  EXPECT_EQ(careen.replica().ledger().entries().begin()->second.admission.by, "somebody");
}

}  // namespace
}  // namespace careen::replica
