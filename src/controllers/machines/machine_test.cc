// Documents of Cluster API and of Metal3, in the versions that there are.
#include "controllers/machines/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "kube/json.h"

namespace careen::machines {

namespace {

using kube::Json;

kube::AtomPool& atoms() {
  static kube::AtomPool pool;
  return pool;
}

Machine machine(std::string_view json) {
  auto read = read_machine(json, atoms());
  EXPECT_TRUE(read) << (read ? "" : read.error().message);
  return read.value_or(Machine{});
}

constexpr const char* kBeta1 = R"({
  "apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Machine",
  "metadata": {
    "name": "md-0-x7k2p", "namespace": "fleet", "uid": "u1", "resourceVersion": "41",
    "labels": {"cluster.x-k8s.io/cluster-name": "eu-1",
               "runtime-extension-maintenance-controller.cloud.sap/enabled": "true",
               "runtime-extension-maintenance-controller.cloud.sap/maintenance": "requested"},
    "annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller": "",
                    "pre-drain.delete.hook.machine.cluster.x-k8s.io/z": "z",
                    "pre-drain.delete.hook.machine.cluster.x-k8s.io": "a",
                    "cluster.x-k8s.io/skip-remediation": "",
                    "careen.dev/reboot-host": "requested"},
    "deletionTimestamp": "2026-03-01T10:00:00Z"},
  "spec": {"clusterName": "eu-1", "providerID": "metal3://fleet/h1/i1",
           "bootstrap": {"configRef": {"name": "b1"}},
           "infrastructureRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine",
                                 "name": "i1", "namespace": "fleet"}},
  "status": {"nodeRef": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "un"},
             "conditions": [{"type": "Ready", "status": "True"}],
             "deletion": {"waitForPreDrainHookStartTime": "2026-03-01T10:00:05Z"},
             "v1beta2": {"conditions": [{"type": "Updating", "status": "True"}]}}})";

constexpr const char* kBeta2 = R"({
  "status": {"conditions": [{"type": "Ready", "status": "True"}, {"status": "True", "type": "Updating"}],
             "deprecated": {"v1beta1": {"conditions": [{"type": "Updating", "status": "False"}]}},
             "deletion": {"waitForPreDrainHookStartTime": "2026-03-01T10:00:05Z"},
             "nodeRef": {"name": "n1"}},
  "spec": {"clusterName": "eu-1", "providerID": "metal3://fleet/h1/i1",
           "bootstrap": {"configRef": {"name": "b1"}},
           "infrastructureRef": {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "Metal3Machine", "name": "i1"}},
  "metadata": {
    "annotations": {"pre-drain.delete.hook.machine.cluster.x-k8s.io": "a",
                    "pre-drain.delete.hook.machine.cluster.x-k8s.io/z": "z",
                    "pre-drain.delete.hook.machine.cluster.x-k8s.io/maintenance-controller":
                        "runtime-extension-maintenance-controller",
                    "cluster.x-k8s.io/skip-remediation": "",
                    "careen.dev/reboot-host": "requested"},
    "labels": {"runtime-extension-maintenance-controller.cloud.sap/maintenance": "requested",
               "runtime-extension-maintenance-controller.cloud.sap/enabled": "true"},
    "deletionTimestamp": "2026-03-01T10:00:00Z",
    "name": "md-0-x7k2p", "namespace": "fleet", "uid": "u1", "resourceVersion": "42"},
  "apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine"})";

TEST(ReadMachineTest, BothVersionsSayTheSame) {
  for (const char* json : {kBeta1, kBeta2}) {
    const Machine one = machine(json);
    EXPECT_EQ(one.key(), "fleet/md-0-x7k2p");
    EXPECT_EQ(one.cluster_key(), "fleet/eu-1");
    EXPECT_EQ(one.uid, "u1");
    EXPECT_EQ(one.node, "n1");
    EXPECT_EQ(one.provider_id, "metal3://fleet/h1/i1");
    EXPECT_EQ(one.infrastructure, "i1");
    EXPECT_TRUE(one.enabled);
    EXPECT_EQ(one.asked, Asked::maintenance);
    EXPECT_TRUE(one.hooked);
    EXPECT_THAT(one.other_hooks, testing::ElementsAre("pre-drain.delete.hook.machine.cluster.x-k8s.io",
                                                      "pre-drain.delete.hook.machine.cluster.x-k8s.io/z"));
    EXPECT_EQ(one.skips_remediation, atoms().intern(""));
    EXPECT_EQ(one.reboot_host, atoms().intern("requested"));
    EXPECT_EQ(one.deleting, io::parse_rfc3339("2026-03-01T10:00:00Z"));
    EXPECT_EQ(one.held_since, io::parse_rfc3339("2026-03-01T10:00:05Z"));
    EXPECT_TRUE(one.updating);
  }
  EXPECT_TRUE(machine(kBeta1).same_facts(machine(kBeta2)));
  EXPECT_EQ(machine(kBeta1).version, 41u);
}

TEST(ReadMachineTest, OnlyTheExactWordsCount) {
  const auto asked = [](const char* value) {
    Json json = *Json::parse(kBeta2);
    json.set({"metadata", "labels", "runtime-extension-maintenance-controller.cloud.sap/maintenance"}, value);
    return machine(json.dump()).asked;
  };
  EXPECT_EQ(asked("requested"), Asked::maintenance);
  EXPECT_EQ(asked("approved"), Asked::granted);
  for (const char* other : {"", "Requested", "approve", "true", " requested"}) EXPECT_EQ(asked(other), Asked::nothing);
  for (const char* other : {"", "True", "1", "yes", "false"}) {
    Json json = *Json::parse(kBeta2);
    json.set({"metadata", "labels", "runtime-extension-maintenance-controller.cloud.sap/enabled"}, other);
    EXPECT_FALSE(machine(json.dump()).enabled) << other;
  }
}

TEST(ReadMachineTest, WhatIsAbsentOrOfAnotherTypeIsNotThere) {
  const Machine bare = machine(R"({"metadata":{"name":"m","namespace":"a","resourceVersion":"1"}})");
  EXPECT_EQ(bare.key(), "a/m");
  EXPECT_TRUE(bare.node.empty());
  EXPECT_TRUE(bare.cluster.empty());
  EXPECT_FALSE(bare.enabled || bare.hooked || bare.deleting || bare.skips_remediation || bare.updating);
  const Machine odd = machine(R"({"metadata":{"name":"m","namespace":"a","resourceVersion":"1","labels":null,
      "annotations":[]},"spec":{"clusterName":7,"providerID":null,"infrastructureRef":"x"},
      "status":{"nodeRef":null,"conditions":{},"deletion":null,"v1beta2":7}})");
  EXPECT_TRUE(odd.same_facts(bare));
  const Machine nameless =
      machine(R"({"metadata":{"name":"m","namespace":"a","resourceVersion":"1"},"status":{"nodeRef":{"name":""}}})");
  EXPECT_TRUE(nameless.node.empty());
}

// It is being deleted, whenever that began.
TEST(ReadMachineTest, ADeletionAtATimeThatCannotBeReadIsADeletion) {
  const Machine one = machine(R"({"metadata":{"name":"m","resourceVersion":"1","deletionTimestamp":"yesterday"}})");
  EXPECT_TRUE(one.deleting);
}

TEST(ReadMachineTest, WhatIsNoObjectIsRefused) {
  EXPECT_FALSE(read_machine("{}", atoms()));
  EXPECT_FALSE(read_machine(R"({"metadata":{"name":"m"}})", atoms()));
  EXPECT_FALSE(read_machine(R"({"metadata":{"name":"m","resourceVersion":"x"}})", atoms()));
  EXPECT_FALSE(read_machine("[", atoms()));
}

// Each fact by itself makes a difference.
TEST(ReadMachineTest, EveryFactIsCompared) {
  const Machine one = machine(kBeta2);
  const std::function<void(Json&)> changes[] = {
      [](Json& json) { json.set({"metadata", "uid"}, "u2"); },
      [](Json& json) { json.remove({"metadata", "deletionTimestamp"}); },
      [](Json& json) { json.set({"metadata", "labels"}, Json::object()); },
      [](Json& json) { json.set({"metadata", "annotations"}, Json::object()); },
      [](Json& json) { json.set({"spec", "clusterName"}, "eu-2"); },
      [](Json& json) { json.set({"spec", "providerID"}, ""); },
      [](Json& json) { json.set({"spec", "infrastructureRef", "name"}, "i2"); },
      [](Json& json) { json.set({"status", "nodeRef", "name"}, "n2"); },
      [](Json& json) { json.remove({"status", "deletion"}); },
      [](Json& json) { json.set({"status", "conditions"}, Json::array()); },
  };
  for (const auto& change : changes) {
    Json json = *Json::parse(kBeta2);
    change(json);
    EXPECT_FALSE(machine(json.dump()).same_facts(one)) << json.dump();
  }
  Json json = *Json::parse(kBeta2);
  json.set({"status", "phase"}, "Running");
  EXPECT_TRUE(machine(json.dump()).same_facts(one));
}

TEST(ReadNodeTest, WhatIsSaidOnIt) {
  const auto node = read_node(R"({"metadata":{"name":"n1","uid":"un","resourceVersion":"5",
      "labels":{"cloud.sap/maintenance-state":"","kubernetes.io/hostname":"n1",
                "runtime-extension-maintenance-controller.cloud.sap/machine-deleted":"true",
                "runtime-extension-maintenance-controller.cloud.sap/approve-deletion":"true",
                "runtime-extension-maintenance-controller.cloud.sap/approve-maintenance":"no",
                "runtime-extension-maintenance-controller.cloud.sap/enabled":"true",
                "runtime-extension-maintenance-controller.cloud.sap/maintenance":"approved"},
      "annotations":{"cluster.x-k8s.io/machine":"m1","cluster.x-k8s.io/cluster-namespace":"fleet"}},
      "status":{"conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"True"}]}})",
                              atoms());
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->key(), "n1");
  EXPECT_TRUE(node->maintained && node->approves_deletion && node->approval_of_deletion && node->ready);
  EXPECT_FALSE(node->approves_maintenance || node->machine_maintenance || node->deleting);
  EXPECT_TRUE(node->approval_of_maintenance && node->marked());
  EXPECT_EQ(node->machine, "m1");
  EXPECT_EQ(node->machine_ns, "fleet");
}

TEST(ReadHostTest, WhatItsOperatorSays) {
  const auto host = read_host(R"({"metadata":{"name":"h1","namespace":"fleet","uid":"uh","resourceVersion":"6",
      "annotations":{"reboot.metal3.io/runtime-extension-maintenance-controller":"","reboot.metal3.io":"",
                     "baremetalhost.metal3.io/paused":"","baremetalhost.metal3.io/detached":"x"}},
      "spec":{"online":false,"disablePowerOff":true,
              "consumerRef":{"kind":"Metal3Machine","name":"i1","namespace":"fleet"}},
      "status":{"poweredOn":true,"operationalStatus":"servicing","errorType":"servicing error","errorMessage":"disk",
                "provisioning":{"state":"provisioned","ID":"x"}}})",
                              atoms());
  ASSERT_TRUE(host) << host.error().message;
  EXPECT_EQ(host->key(), "fleet/h1");
  EXPECT_TRUE(host->held_off && host->reboots && host->paused && host->detached && host->keeps_power && host->powered);
  EXPECT_FALSE(host->online);
  EXPECT_EQ(host->operational, "servicing");
  EXPECT_EQ(host->error, "servicing error");
  EXPECT_EQ(host->error_message, "disk");
  EXPECT_EQ(host->provisioning, "provisioned");
  EXPECT_EQ(host->consumer_kind, "Metal3Machine");
  EXPECT_EQ(host->consumer_ns, "fleet");
  EXPECT_EQ(host->consumer, "i1");
  const auto bare = read_host(R"({"metadata":{"name":"h1","namespace":"fleet","resourceVersion":"6"}})", atoms());
  ASSERT_TRUE(bare);
  EXPECT_TRUE(bare->online);
  EXPECT_FALSE(bare->powered || bare->keeps_power || bare->held_off);
  EXPECT_FALSE(bare->same_facts(*host));
}

TEST(HostOfTest, TheFormsOfAProviderId) {
  const auto named = [](const char* ns, const char* name, const char* consumer) {
    return std::optional(HostReference{ns, name, consumer, ""});
  };
  EXPECT_EQ(host_of("metal3://fleet/h1/i1"), named("fleet", "h1", "i1"));
  EXPECT_EQ(host_of("metal3://fleet/h1"), named("fleet", "h1", ""));
  EXPECT_EQ(host_of("metal3://fleet/h1/i1/more"), named("fleet", "h1", "i1"));
  EXPECT_EQ(host_of("metal3://d668eb95-5df6-4c10-a01a-fc69f4299fc6"),
            (HostReference{"", "", "", "d668eb95-5df6-4c10-a01a-fc69f4299fc6"}));
  for (const char* other : {"", "/", "//", "metal3", "metal3:", "metal3:/", "metal3://", "metal3:///", "metal3:///h1",
                            "metal3://fleet/", "metal3://fleet//i1", "aws:///eu-1a/i-1", "kind://docker/w1/n1",
                            "Metal3://fleet/h1/i1", " metal3://fleet/h1/i1", "openstack:///d668eb95"}) {
    EXPECT_EQ(host_of(other), std::nullopt) << other;
  }
}

}  // namespace

}  // namespace careen::machines
