// Triggers that change the node beyond its labels and annotations: alterFinalizer and eviction.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/profiles/plugins/plugin_fixture.h"
#include "drain/holds.h"

namespace careen::profiles {
namespace {

using kube::Json;
using testing::HasSubstr;

class NodeTriggersTest : public PluginFixture {
 protected:
  NodeTriggersTest() : node(node_called("a")) {}

  // The patch after the trigger ran, without its precondition.
  std::string patch_by(std::string_view type, std::string_view settings) {
    const auto trigger = make_trigger(type, settings);
    EXPECT_EQ(trigger->type(), type);
    NodeDraft draft(node);
    HypervisorDraft hypervisor;
    TriggerContext context{draft, hypervisors, hypervisor, "p", false, now};
    const TriggerResult result = trigger->apply(context);
    EXPECT_EQ(result.error, "");
    EXPECT_FALSE(result.pending || result.retry);
    Json patch = *Json::parse(draft.merge_patch());
    patch.remove({"metadata", "resourceVersion"});
    return patch.dump();
  }

  // The node is cordoned, and its annotation says for whom.
  void hold(std::string holds) {
    node.unschedulable = true;
    node.annotations = {{atoms.intern(drain::kHoldsAnnotation), std::move(holds)}};
  }

  kube::Node node;
};

TEST_F(NodeTriggersTest, AddsAFinalizer) {
  EXPECT_EQ(patch_by("alterFinalizer", "{key: example.com/f}"), R"({"metadata":{"finalizers":["example.com/f"]}})");
  node.finalizers = {"example.com/e"};
  EXPECT_EQ(patch_by("alterFinalizer", "{key: example.com/f}"),
            R"({"metadata":{"finalizers":["example.com/e","example.com/f"]}})");
  EXPECT_EQ(patch_by("alterFinalizer", "{key: example.com/e, remove: false}"), R"({"metadata":{}})");
}

TEST_F(NodeTriggersTest, RemovesAFinalizer) {
  node.finalizers = {"example.com/e", "example.com/f"};
  EXPECT_EQ(patch_by("alterFinalizer", "{key: example.com/e, remove: true}"),
            R"({"metadata":{"finalizers":["example.com/f"]}})");
  EXPECT_EQ(patch_by("alterFinalizer", "{key: example.com/none, remove: true}"), R"({"metadata":{}})");
  EXPECT_THAT(refused("trigger", "alterFinalizer", "{remove: true}"), HasSubstr("\"key\" is required"));
}

TEST_F(NodeTriggersTest, CordonsWithAHoldAndUncordons) {
  const Json cordoned = *Json::parse(patch_by("eviction", "{action: cordon}"));
  EXPECT_EQ(cordoned["spec"].dump(), R"({"unschedulable":true})");
  const std::string holds(*cordoned["metadata"]["annotations"][drain::kHoldsAnnotation].text());
  EXPECT_THAT(holds, HasSubstr(R"({"holds":{"profile/p":{"since":")"));
  EXPECT_THAT(holds, HasSubstr(R"("cordon":true}}})"));
  EXPECT_EQ(patch_by("eviction", "{action: uncordon}"), R"({"metadata":{}})");

  hold(holds);
  EXPECT_EQ(patch_by("eviction", "{action: cordon}"), R"({"metadata":{}})");
  EXPECT_EQ(patch_by("eviction", "{action: uncordon}"),
            R"({"metadata":{"annotations":{"careen.dev/holds":null}},"spec":{"unschedulable":null}})");
}

TEST_F(NodeTriggersTest, UncordonsWhatSomebodyCordonedWithoutAHold) {
  node.unschedulable = true;
  EXPECT_EQ(patch_by("eviction", "{action: uncordon}"), R"({"metadata":{},"spec":{"unschedulable":null}})");
  EXPECT_EQ(Json::parse(patch_by("eviction", "{action: cordon}"))->operator[]("spec").dump(), "null");
}

TEST_F(NodeTriggersTest, UncordonDoesNotBreakTheHoldOfAnotherController) {
  hold(R"({"holds":{"nodemaintenance/m":{"cordon":true},"profile/p":{"cordon":true}},"before":{"cordon":true}})");
  EXPECT_EQ(patch_by("eviction", "{action: uncordon}"),
            R"({"metadata":{"annotations":{"careen.dev/holds":)"
            R"("{\"holds\":{\"nodemaintenance/m\":{\"since\":\"1970-01-01T00:00:00Z\",\"cordon\":true}}}"}}})");
}

TEST_F(NodeTriggersTest, NothingIsDrainedWithoutAnEngine) {
  const auto trigger = make_trigger("eviction", "{action: drain}");
  NodeDraft draft(node);
  HypervisorDraft hypervisor;
  TriggerContext context{draft, hypervisors, hypervisor, "p"};
  EXPECT_THAT(trigger->apply(context).error, HasSubstr("without an eviction engine"));
  EXPECT_FALSE(draft.changed());
}

TEST_F(NodeTriggersTest, EvictionSettings) {
  EXPECT_EQ(
      refused("trigger", "eviction", "{action: cordon, forceEviction: true, deletionTimeout: 5m, evictionTimeout: 90}"),
      "");
  EXPECT_THAT(refused("trigger", "eviction", "{}"), HasSubstr("\"action\" is required"));
  EXPECT_THAT(refused("trigger", "eviction", "{action: Cordon}"),
              HasSubstr("\"action\" must be cordon, uncordon or drain; did you mean \"cordon\"?"));
  EXPECT_THAT(refused("trigger", "eviction", "{action: reboot}"),
              HasSubstr("\"action\" must be cordon, uncordon or drain\n"));
  EXPECT_EQ(refused("trigger", "eviction", "{action: drain, forceEviction: true, deletionTimeout: 1m}"), "");
  EXPECT_THAT(refused("trigger", "eviction", "{action: cordon, forceEviction: perhaps}"),
              HasSubstr("\"forceEviction\" must be true or false"));
  EXPECT_THAT(refused("trigger", "eviction", "{action: cordon, deletionTimeout: long}"),
              HasSubstr("\"deletionTimeout\" must be a duration"));
  EXPECT_THAT(refused("trigger", "eviction", "{action: cordon, evictionTimeout: long}"),
              HasSubstr("\"evictionTimeout\" must be a duration"));
}

}  // namespace
}  // namespace careen::profiles
