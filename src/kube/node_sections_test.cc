#include "kube/node_sections.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/node_decoder.h"
#include "kube/node_document.h"
#include "kube/sink.h"

namespace careen::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kSectionedNode = R"({
  "metadata": {
    "name": "a", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2026-01-02T03:04:05Z",
    "labels": {"zone": "b", "example.com/x": "1"}, "annotations": {"note": "n"}, "finalizers": ["example.com/keep"],
    "managedFields": [{"manager": "kubelet"}], "generation": 3
  },
  "spec": {"podCIDR": "10.0.0.0/24", "providerID": "vm://\"a\"" , "unschedulable": true,
           "taints": [{"key": "k", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"}]},
  "status": {"capacity": {"cpu": "4", "memory": "8Gi"}, "conditions": [
               {"type": "Ready", "lastHeartbeatTime": "2026-01-02T03:05:05Z", "status": "True", "reason": "x"},
               {"type": "Disk", "status": "False", "lastHeartbeatTime": "2026-01-02T03:05:05Z"}],
             "nodeInfo": {"kubeletVersion": "v1.36.3", "kernelVersion": "6.1", "swap": {"capacity": 12}},
             "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}
})";

class NodeSectionsTest : public testing::Test {
 protected:
  Node node(std::set<std::string> pointers, std::string_view json = kSectionedNode) {
    auto decoded = decode_node(json, atoms, NodeSections(pointers));
    EXPECT_TRUE(decoded) << decoded.error().message;
    return *decoded;
  }
  std::string section(const std::string& pointer) {
    const Node decoded = node({pointer});
    const std::string* text = decoded.section(pointer);
    return text ? *text : "(none)";
  }
  static std::string beat(std::string json) {
    json.replace(json.find("\"7\""), 3, "\"8\"");
    for (size_t at = json.find("03:05:05"); at != std::string::npos; at = json.find("03:05:05")) {
      json.replace(at, 8, "03:05:15");
    }
    return json;
  }

  AtomPool atoms;
};

TEST_F(NodeSectionsTest, PointersAreSortedAndCoverOneAnother) {
  EXPECT_THAT(
      NodeSections({"/status/nodeInfo/osImage", "/spec/podCIDR", "/status/nodeInfo", "/spec/podCIDR"}).pointers(),
      ElementsAre("/spec/podCIDR", "/status/nodeInfo"));
  // A pointer that only begins with the same letters is another one.
  EXPECT_THAT(NodeSections({"/spec/podCIDRs", "/spec/podCIDR"}).pointers(),
              ElementsAre("/spec/podCIDR", "/spec/podCIDRs"));
  EXPECT_THAT(NodeSections({"/status/nodeInfo/swap/capacity"}).pointers(), ElementsAre("/status/nodeInfo/swap"));
  EXPECT_THAT(NodeSections({"", "/status/nodeInfo"}).pointers(), ElementsAre("/metadata", "/spec", "/status"));
  EXPECT_THAT(NodeSections({"status"}).pointers(), IsEmpty());
  EXPECT_TRUE(NodeSections().empty());
}

TEST_F(NodeSectionsTest, WhatANodeHoldsAnywayIsNoSection) {
  EXPECT_THAT(NodeSections({"/metadata/labels", "/metadata/labels/zone", "/metadata/name", "/spec/unschedulable",
                            "/status/nodeInfo/kubeletVersion", "/metadata/creationTimestamp"})
                  .pointers(),
              IsEmpty());
  EXPECT_THAT(NodeSections({"/status/nodeInfo"}).pointers(), ElementsAre("/status/nodeInfo"));
}

TEST_F(NodeSectionsTest, KeysOfAPointer) {
  EXPECT_THAT(pointer_keys("/metadata/labels/a~1b~0c"), ElementsAre("metadata", "labels", "a/b~c"));
  EXPECT_THAT(pointer_keys(""), IsEmpty());
}

TEST_F(NodeSectionsTest, PartsAreKeptAsTheyWereSent) {
  EXPECT_EQ(section("/spec/podCIDR"), R"("10.0.0.0/24")");
  EXPECT_EQ(section("/spec/providerID"), R"("vm://\"a\"")");
  EXPECT_EQ(section("/metadata/generation"), "3");
  EXPECT_EQ(section("/status/capacity"), R"({"cpu": "4", "memory": "8Gi"})");
  EXPECT_EQ(section("/status/capacity/cpu"), R"("4")");
  EXPECT_EQ(section("/status/addresses"), R"([{"type": "InternalIP", "address": "10.0.0.1"}])");
  EXPECT_EQ(section("/status/nodeInfo/swap"), R"({"capacity": 12})");
  EXPECT_EQ(section("/status/nothing"), "(none)");
  EXPECT_EQ(section("/spec/podCIDR/deeper"), "(none)");
}

TEST_F(NodeSectionsTest, SeveralPartsAreFoundBesideTheFieldsOfTheNode) {
  const Node decoded = node({"/status/nodeInfo", "/status/conditions", "/spec/podCIDR", "/metadata/generation"});
  EXPECT_EQ(decoded.kubelet_version, "v1.36.3");
  EXPECT_EQ(decoded.conditions.size(), 2u);
  EXPECT_EQ(*decoded.label("zone"), "b");
  ASSERT_EQ(decoded.sections.size(), 4u);
  EXPECT_EQ(decoded.sections[0].first, "/metadata/generation");
  EXPECT_EQ(decoded.sections[3].first, "/status/nodeInfo");
  EXPECT_TRUE(node({}).sections.empty());
}

TEST_F(NodeSectionsTest, HeartbeatsChangeNoPart) {
  EXPECT_EQ(section("/status/conditions"),
            R"([{"type":"Ready","status":"True","reason":"x"},{"type":"Disk","status":"False"}])");
  EXPECT_EQ(section("/metadata"), R"({"name":"a","uid":"u","creationTimestamp":"2026-01-02T03:04:05Z",)"
                                  R"("labels":{"zone": "b", "example.com/x": "1"},"annotations":{"note": "n"},)"
                                  R"("finalizers":["example.com/keep"],"generation":3})");
  EXPECT_THAT(section("/status"), Not(HasSubstr("lastHeartbeatTime")));
  EXPECT_THAT(section("/status"), HasSubstr("kernelVersion"));
  for (const char* pointer : {"", "/status/conditions"}) {
    EXPECT_TRUE(node({pointer}).same_facts(node({pointer}, beat(kSectionedNode)))) << pointer;
  }
}

TEST_F(NodeSectionsTest, APartThatChangesIsAFact) {
  std::string other = kSectionedNode;
  other.replace(other.find("6.1"), 3, "6.2");
  EXPECT_TRUE(node({}).same_facts(node({}, other)));
  EXPECT_TRUE(node({"/status/capacity"}).same_facts(node({"/status/capacity"}, other)));
  EXPECT_FALSE(node({"/status/nodeInfo"}).same_facts(node({"/status/nodeInfo"}, other)));
}

TEST_F(NodeSectionsTest, OddDocumentsAreRead) {
  EXPECT_TRUE(node({"/status/conditions"}, R"({"metadata":{"name":"a","resourceVersion":"1"}})").sections.empty());
  const Node odd =
      node({"/status/conditions", "/spec/podCIDR", "/metadata"},
           R"({"status":{"conditions":[1,null,{}]},"spec":[],"metadata":{"name":"a","resourceVersion":"1"}})");
  EXPECT_EQ(*odd.section("/status/conditions"), "[1,null,{}]");
  EXPECT_EQ(*odd.section("/metadata"), R"({"name":"a"})");
  EXPECT_EQ(odd.section("/spec/podCIDR"), nullptr);
  EXPECT_EQ(
      *node({"/status/conditions"}, R"({"status":{"conditions":null},"metadata":{"name":"a","resourceVersion":"1"}})")
           .section("/status/conditions"),
      "null");
  const std::string whole = kSectionedNode;
  for (size_t length = 0; length + 1 < whole.size(); ++length) {
    ASSERT_FALSE(decode_node(std::string_view(whole).substr(0, length), atoms, NodeSections({"/status", "/spec"})));
  }
}

TEST_F(NodeSectionsTest, TheDecoderSaysWhenItsNodesBecomeOthers) {
  NodeDecoder decoder(atoms);
  EXPECT_TRUE(decoder.decode(kSectionedNode)->sections.empty());
  EXPECT_FALSE(decoder.want(NodeSections()));
  EXPECT_TRUE(decoder.want(NodeSections({"/spec/podCIDR"})));
  EXPECT_FALSE(decoder.want(NodeSections({"/spec/podCIDR", "/metadata/name"})));
  EXPECT_EQ(decoder.decode(kSectionedNode)->sections.size(), 1u);
}

TEST_F(NodeSectionsTest, DocumentOfANodeWithoutSections) {
  EXPECT_EQ(node_document(node({})), *Json::parse(R"({"kind":"Node","apiVersion":"v1",
    "metadata":{"name":"a","uid":"u","resourceVersion":"7","creationTimestamp":"2026-01-02T03:04:05Z",
      "labels":{"zone":"b","example.com/x":"1"},"annotations":{"note":"n"},"finalizers":["example.com/keep"]},
    "spec":{"unschedulable":true,"taints":[{"key":"k","effect":"NoSchedule","timeAdded":"2026-01-02T03:04:05Z"}]},
    "status":{"conditions":[{"type":"Ready","status":"True"},{"type":"Disk","status":"False"}],
      "nodeInfo":{"kubeletVersion":"v1.36.3"}}})"));
}

TEST_F(NodeSectionsTest, DocumentHasTheSectionsAtTheirPlaces) {
  const Json document =
      node_document(node({"/status/conditions", "/status/nodeInfo", "/spec/podCIDR", "/spec/taints"}));
  EXPECT_EQ(document.at("/status/conditions/0/reason").text(), "x");
  EXPECT_EQ(document.at("/status/nodeInfo/kernelVersion").text(), "6.1");
  EXPECT_EQ(document.at("/status/nodeInfo/kubeletVersion").text(), "v1.36.3");
  EXPECT_EQ(document.at("/spec/podCIDR").text(), "10.0.0.0/24");
  EXPECT_TRUE(document.at("/spec/taints/0/timeAdded").exists());
  const Json whole = node_document(node({""}));
  EXPECT_EQ(whole.at("/metadata/resourceVersion").text(), "7");
  EXPECT_EQ(whole.at("/metadata/generation").integer(), 3);
  EXPECT_EQ(whole.at("/status/addresses/0/address").text(), "10.0.0.1");
}

}  // namespace
}  // namespace careen::kube
