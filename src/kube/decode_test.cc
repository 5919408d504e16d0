#include "kube/decode.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class DecodeTest : public testing::Test {
 protected:
  AtomPool atoms;
};

constexpr const char* kWorker = R"({
  "kind": "Node", "apiVersion": "v1",
  "metadata": {
    "name": "worker-1", "uid": "0b1c", "resourceVersion": "1234567890123",
    "creationTimestamp": "2026-01-02T03:04:05Z",
    "labels": {"zone": "b", "app": "", "kubernetes.io/hostname": "worker-1"},
    "annotations": {"z": "1", "note": "line\nbreak \"quoted\" \u00e9"},
    "finalizers": ["example.com/keep"],
    "managedFields": [{"manager": "kubelet", "fieldsV1": {"f:metadata": {"f:name": {}}}}]
  },
  "spec": {"podCIDR": "10.0.0.0/24", "unschedulable": true,
           "taints": [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": null},
                      {"effect": "NoExecute", "value": "v", "key": "k"}]},
  "status": {"capacity": {"cpu": "4"}, "conditions": [
               {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-02T03:05:05Z", "reason": "x",
                "lastTransitionTime": "2026-01-02T03:04:15Z"},
               {"type": "MemoryPressure", "status": "False"}],
             "nodeInfo": {"kubeletVersion": "v1.36.3", "osImage": "x"},
             "images": [{"names": ["a", "b"], "sizeBytes": 12}]}
})";

TEST_F(DecodeTest, ReadsTheFieldsOfANode) {
  const auto node = decode_node(kWorker, atoms);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "worker-1");
  EXPECT_EQ(node->key(), "worker-1");
  EXPECT_EQ(node->uid, "0b1c");
  EXPECT_EQ(node->version, 1234567890123u);
  EXPECT_EQ(io::format_rfc3339(node->created), "2026-01-02T03:04:05Z");
  EXPECT_FALSE(node->deleting);
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->kubelet_version, "v1.36.3");
  EXPECT_THAT(node->finalizers, ElementsAre("example.com/keep"));

  ASSERT_EQ(node->labels.size(), 3u);
  EXPECT_EQ(node->labels[0].first, "app");
  EXPECT_EQ(node->labels[2].first, "zone");
  ASSERT_NE(node->label("app"), nullptr);
  EXPECT_EQ(*node->label("app"), "");
  EXPECT_EQ(*node->label("zone"), "b");
  EXPECT_EQ(node->label("zon"), nullptr);
  EXPECT_EQ(*node->annotation("note"), "line\nbreak \"quoted\" \xc3\xa9");
  EXPECT_EQ(node->annotation("absent"), nullptr);

  ASSERT_EQ(node->taints.size(), 2u);
  EXPECT_EQ(node->taints[0].key, "node.kubernetes.io/unschedulable");
  EXPECT_TRUE(node->taints[0].value.empty());
  EXPECT_EQ(node->taints[1].effect, "NoExecute");
  EXPECT_EQ(node->taints[1].value, "v");
  ASSERT_EQ(node->conditions.size(), 2u);
  EXPECT_EQ(node->conditions[0].type, "Ready");
  EXPECT_EQ(node->conditions[0].status, "True");
  EXPECT_EQ(node->conditions[0].reason, "x");
  EXPECT_EQ(io::format_rfc3339(node->conditions[0].since), "2026-01-02T03:04:15Z");
  EXPECT_EQ(node->conditions[1].since, io::Wall{});
  EXPECT_EQ(node->condition("MemoryPressure"), &node->conditions[1]);
  EXPECT_EQ(node->condition("Memory"), nullptr);
}

TEST_F(DecodeTest, AConditionThatDoesNotSayWhyHasTheManagerThatWroteItLast) {
  const auto read = [&](const std::string& condition) {
    const auto entry = [](const char* manager, const char* time, const char* type) {
      return fmt::format(
          R"({{"manager":"{}","time":"{}","subresource":"status","fieldsV1":{{"f:status":{{"f:conditions":
          {{".":{{}},"k:{{\"type\":\"{}\"}}":{{".":{{}},"f:status":{{}}}}}}}}}}}})",
          manager, time, type);
    };
    auto node = decode_node(R"({"metadata":{"name":"n","resourceVersion":"7","managedFields":[)" +
                                entry("first", "2026-03-01T10:00:00Z", "Drained") + "," +
                                entry("last", "2026-03-02T10:00:00Z", "Drained") + "," +
                                entry("other", "2026-03-03T10:00:00Z", "DrainInProgress") +
                                R"(]},"status":{"conditions":[{"type":"Ready","status":"True"},)" + condition + "]}}",
                            atoms);
    EXPECT_TRUE(node) << condition;
    return std::string(node->condition_manager("Drained"));
  };
  EXPECT_EQ(read(R"({"type":"Drained","status":"True"})"), "last");
  EXPECT_EQ(read(R"({"type":"Drained","status":"True","reason":"Mine"})"), "") << "nobody needs it";
  EXPECT_EQ(read(R"({"type":"Drained","status":"False"})"), "");
  EXPECT_EQ(read(R"({"type":"Drained\"","status":"True"})"), "");
}

TEST_F(DecodeTest, ACordonHasTheManagerThatSetItLast) {
  const auto read = [&](const std::string& entries, bool cordoned = true) {
    auto node = decode_node(
        R"({"metadata":{"managedFields":)" + entries +
            R"(,"name":"n","labels":{"a":"b"},"resourceVersion":"7"},"spec":{"providerID":"p","unschedulable":)" +
            (cordoned ? "true" : "false") + "}}",
        atoms, NodeSections({"/spec/providerID"}));
    EXPECT_TRUE(node) << entries;
    EXPECT_EQ(*node->label("a"), "b");
    EXPECT_NE(node->section("/spec/providerID"), nullptr);
    return std::string(node->cordoned_by.view()) +
           (node->cordoned == io::Wall{} ? "" : " " + io::format_rfc3339(node->cordoned));
  };
  const auto entry = [](const std::string& manager, const std::string& time, const std::string& spec) {
    return R"({"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:unschedulable":{}},"f:spec":)" +
           spec + R"(},"manager":")" + manager + R"(","operation":"Update","time":")" + time + "\"}";
  };
  const std::string kubectl = entry("kubectl", "2026-03-01T10:00:00Z", R"({"f:taints":{},"f:unschedulable":{}})");
  const std::string kubelet = entry("kubelet", "2026-03-01T12:00:00Z", R"({"f:podCIDR":{}})");
  const std::string kured = entry("kured", "2026-03-01T11:00:00Z", R"({"f:unschedulable":{}})");
  EXPECT_EQ(read("[" + kubelet + "," + kubectl + "]"), "kubectl 2026-03-01T10:00:00Z");
  EXPECT_EQ(read("[" + kured + "," + kubectl + "," + kubelet + "]"), "kured 2026-03-01T11:00:00Z");
  EXPECT_EQ(read("[" + kubectl + "," + kured + "]"), "kured 2026-03-01T11:00:00Z");
  EXPECT_EQ(read("[" + kubectl + "]", false), "");
  EXPECT_EQ(read("[" + kubelet + "]"), "");
  EXPECT_EQ(read("[" + entry("k", "soon", R"({"f:unschedulable":{}})") + "]"), "k");
  EXPECT_EQ(read(R"([7,null,{"manager":{},"fieldsV1":{"f:spec":{"f:unschedulable":{}}}},{"fieldsV1":{"f:spec":7}}])"),
            "");
  EXPECT_EQ(read("7"), "");
}

TEST_F(DecodeTest, TheOrderOfFieldsDoesNotMatter) {
  const auto node = decode_node(
      R"({"status":{"nodeInfo":{"kubeletVersion":"v1"}},"spec":{"unschedulable":true},
          "metadata":{"labels":{"a":"b"},"deletionTimestamp":"2026-01-02T03:04:05Z","resourceVersion":"7","name":"n"}})",
      atoms);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->name, "n");
  EXPECT_EQ(node->version, 7u);
  EXPECT_TRUE(node->deleting);
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->kubelet_version, "v1");
}

// Null, or another type than expected, is the same as nothing.
TEST_F(DecodeTest, FieldsOfAnotherTypeAreAbsent) {
  const auto node = decode_node(
      R"({"metadata":{"name":"n","resourceVersion":"7","labels":null,"annotations":[1,{"a":"b"}],"finalizers":{},
          "uid":12,"creationTimestamp":true},
          "spec":{"unschedulable":"yes","taints":{"key":"x"}},
          "status":{"conditions":null,"nodeInfo":[{"kubeletVersion":"v1"}]}})",
      atoms);
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_EQ(node->version, 7u);
  EXPECT_TRUE(node->labels.empty());
  EXPECT_TRUE(node->annotations.empty());
  EXPECT_TRUE(node->uid.empty());
  EXPECT_FALSE(node->unschedulable);
  EXPECT_TRUE(node->kubelet_version.empty());
  EXPECT_TRUE(decode_node(R"({"metadata":{"name":"n","resourceVersion":"7"},"spec":null,"status":3})", atoms));
}

TEST_F(DecodeTest, WhatIsNoObjectIsAnErrorThatSaysSo) {
  const std::string whole = kWorker;
  EXPECT_THAT(decode_node("", atoms).error().message, HasSubstr("a node"));
  EXPECT_FALSE(decode_node("[]", atoms));
  EXPECT_FALSE(decode_node("null", atoms));
  EXPECT_THAT(decode_node(R"({"metadata":{"resourceVersion":"7"}})", atoms).error().message,
              HasSubstr("without a name"));
  EXPECT_THAT(decode_node(R"({"metadata":{"name":"n"}})", atoms).error().message, HasSubstr("resource version"));
  EXPECT_THAT(decode_node(R"({"metadata":{"name":"n","resourceVersion":"7x"}})", atoms).error().message,
              HasSubstr("\"7x\""));
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    ASSERT_FALSE(decode_node(std::string_view(whole).substr(0, length), atoms)) << length;
  }
}

TEST_F(DecodeTest, AHeartbeatChangesNoFacts) {
  const auto before = decode_node(kWorker, atoms);
  std::string later = kWorker;
  later.replace(later.find("1234567890123"), 13, "1234567890999");
  later.replace(later.find("03:05:05"), 8, "03:05:15");
  later.replace(later.find("03:04:15"), 8, "03:05:15");
  const auto after = decode_node(later, atoms);
  ASSERT_TRUE(before && after);
  EXPECT_NE(before->version, after->version);
  EXPECT_TRUE(before->same_facts(*after));
}

TEST_F(DecodeTest, EveryFactOfANodeCounts) {
  const auto node = *decode_node(kWorker, atoms);
  const auto differs = [&](auto change) {
    Node other = node;
    change(other);
    return !other.same_facts(node);
  };
  EXPECT_TRUE(differs([](Node& n) { n.uid = "other"; }));
  EXPECT_TRUE(differs([&](Node& n) { n.labels[0].second = atoms.intern("x"); }));
  EXPECT_TRUE(differs([](Node& n) { n.annotations[0].second = "x"; }));
  EXPECT_TRUE(differs([](Node& n) { n.finalizers.clear(); }));
  EXPECT_TRUE(differs([](Node& n) { n.taints.pop_back(); }));
  EXPECT_TRUE(differs([&](Node& n) { n.conditions[0].status = atoms.intern("Unknown"); }));
  EXPECT_TRUE(differs([&](Node& n) { n.conditions[0].reason = atoms.intern("y"); }));
  EXPECT_TRUE(differs([](Node& n) { n.conditions.pop_back(); }));
  EXPECT_TRUE(differs([&](Node& n) { n.cordoned_by = atoms.intern("kubectl"); }));
  EXPECT_TRUE(differs([](Node& n) { n.condition_managers.emplace_back(); }));
  EXPECT_TRUE(differs([&](Node& n) { n.kubelet_version = atoms.intern("v2"); }));
  EXPECT_TRUE(differs([](Node& n) { n.unschedulable = false; }));
  EXPECT_TRUE(differs([](Node& n) { n.deleting = true; }));
}

TEST_F(DecodeTest, ReadsALease) {
  const auto lease = decode_lease(
      R"({"metadata":{"name":"lock","namespace":"kube-system","uid":"u","resourceVersion":"5",
          "annotations":{"careen":"{\"epoch\":3}"}},
          "spec":{"holderIdentity":"host_1","leaseDurationSeconds":15,"leaseTransitions":2,
          "acquireTime":"2026-01-02T03:04:05.000000Z","renewTime":"2026-01-02T03:04:06.500000Z"}})",
      atoms);
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->key(), "kube-system/lock");
  EXPECT_EQ(lease->holder, "host_1");
  EXPECT_EQ(lease->duration_seconds, 15);
  EXPECT_EQ(lease->transitions, 2);
  EXPECT_EQ(io::format_rfc3339(*lease->renewed), "2026-01-02T03:04:06.5Z");
  EXPECT_EQ(io::format_rfc3339(*lease->acquired), "2026-01-02T03:04:05Z");
  EXPECT_EQ(*lease->annotation("careen"), "{\"epoch\":3}");

  Lease renewed = *lease;
  renewed.version = 6;
  EXPECT_TRUE(renewed.same_facts(*lease));
  *renewed.renewed += io::seconds{1};
  EXPECT_FALSE(renewed.same_facts(*lease));
}

TEST_F(DecodeTest, AReleasedLeaseHasNoHolder) {
  const auto lease = decode_lease(
      R"({"metadata":{"name":"lock","namespace":"ns","resourceVersion":"5"},
          "spec":{"holderIdentity":"","leaseDurationSeconds":99999999999,"renewTime":null}})",
      atoms);
  ASSERT_TRUE(lease) << lease.error().message;
  EXPECT_EQ(lease->holder, "");
  EXPECT_EQ(lease->renewed, std::nullopt);
  EXPECT_EQ(lease->duration_seconds, std::nullopt);
}

TEST_F(DecodeTest, ReadsANamespace) {
  const auto space = decode_namespace(
      R"({"metadata":{"name":"prod","uid":"u","resourceVersion":"5","labels":{"team":"a"},"annotations":{"b":"c"}},
          "status":{"phase":"Active"}})",
      atoms);
  ASSERT_TRUE(space) << space.error().message;
  EXPECT_EQ(space->key(), "prod");
  EXPECT_EQ(*space->label("team"), "a");
  EXPECT_EQ(*space->annotation("b"), "c");
  EXPECT_FALSE(space->deleting);
}

TEST_F(DecodeTest, AnObjectOfAnyKindKeepsItsDocument) {
  const auto object = decode_object(
      R"({"apiVersion":"example.com/v1","kind":"Thing","metadata":{"name":"t","namespace":"ns","uid":"u",
          "resourceVersion":"5","managedFields":[{"manager":"x"}]},"spec":{"replicas":3,"list":[1,2]}})");
  ASSERT_TRUE(object) << object.error().message;
  EXPECT_EQ(object->key(), "ns/t");
  EXPECT_EQ(object->version, 5u);
  EXPECT_EQ(object->document.at("/spec/replicas").integer(), 3);
  EXPECT_FALSE(object->document.at("/metadata/managedFields"));
  EXPECT_THAT(object->text(), HasSubstr(R"("resourceVersion":"5")"));

  const auto later = decode_object(
      R"({"kind":"Thing","apiVersion":"example.com/v1","spec":{"list":[1,2],"replicas":3},"metadata":{"name":"t",
          "namespace":"ns","uid":"u","resourceVersion":"9"}})");
  ASSERT_TRUE(later);
  EXPECT_TRUE(later->same_facts(*object));
}

TEST_F(DecodeTest, AnyAnswerHasAnIdentity) {
  const auto identity =
      decode_identity(R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns","uid":"u","resourceVersion":"5"}})");
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->name, "p");
  EXPECT_EQ(identity->ns, "ns");
  EXPECT_EQ(identity->uid, "u");
  EXPECT_EQ(identity->version, 5u);
  EXPECT_FALSE(decode_identity(R"({"kind":"Status","metadata":{},"status":"Success"})"));
}

}  // namespace
}  // namespace careen::kube
