#include "controllers/profiles/node_draft.h"

#include <gtest/gtest.h>

#include "controllers/profiles/test_support.h"

namespace careen::profiles {
namespace {

using kube::Json;

class NodeDraftTest : public testing::Test {
 protected:
  Json patch() const { return *Json::parse(draft.merge_patch()); }

  kube::AtomPool atoms;
  kube::Node node =
      *kube::decode_node(node_json("a", "u", 42, {{"zone", "x"}, {"empty", ""}}, {{"note", "hello"}}).dump(), atoms);
  NodeDraft draft{node};
};

TEST_F(NodeDraftTest, ShowsTheNodeUntilItIsChanged) {
  EXPECT_EQ(draft.label("zone"), "x");
  EXPECT_EQ(draft.label("empty"), "");
  EXPECT_EQ(draft.label("none"), std::nullopt);
  EXPECT_EQ(draft.annotation("note"), "hello");
  EXPECT_FALSE(draft.changed());
}

TEST_F(NodeDraftTest, ThePatchHoldsOnlyWhatDiffersAndTheVersionItWasComputedFrom) {
  draft.set_label("zone", "y");
  draft.set_label("new/label", "1");
  draft.remove_annotation("note");
  draft.remove_annotation("absent");
  EXPECT_TRUE(draft.changed());
  EXPECT_EQ(draft.label("zone"), "y");
  EXPECT_EQ(draft.annotation("note"), std::nullopt);
  EXPECT_EQ(patch(), *Json::parse(R"({"metadata":{"resourceVersion":"42",
    "labels":{"zone":"y","new/label":"1"},"annotations":{"note":null}}})"));
}

TEST_F(NodeDraftTest, AChangeThatLeadsBackIsNone) {
  draft.set_label("zone", "y");
  draft.set_label("zone", "x");
  draft.remove_annotation("note");
  draft.set_annotation("note", "hello");
  draft.set_label("passing", "by");
  draft.remove_label("passing");
  EXPECT_FALSE(draft.changed());
}

TEST_F(NodeDraftTest, AnEmptyValueIsNotAnAbsentOne) {
  draft.remove_label("empty");
  EXPECT_EQ(draft.label("empty"), std::nullopt);
  draft.set_label("other", "");
  EXPECT_EQ(draft.label("other"), "");
  EXPECT_EQ(patch()["metadata"]["labels"].dump(), R"({"empty":null,"other":""})");
}

TEST_F(NodeDraftTest, ChangesCanBeGivenBack) {
  draft.set_label("kept", "1");
  const auto before = draft.changes();
  draft.set_label("zone", "y");
  draft.set_annotation("a", "b");
  draft.restore(before);
  EXPECT_EQ(draft.label("zone"), "x");
  EXPECT_EQ(draft.label("kept"), "1");
  EXPECT_EQ(draft.annotation("a"), std::nullopt);
}

TEST_F(NodeDraftTest, FinalizersAreSentAsAWholeList) {
  node.finalizers = {"example.com/one", "example.com/two"};
  EXPECT_TRUE(draft.has_finalizer("example.com/one"));
  EXPECT_FALSE(draft.has_finalizer("example.com"));
  draft.add_finalizer("example.com/three");
  draft.remove_finalizer("example.com/one");
  draft.remove_finalizer("example.com/none");
  EXPECT_TRUE(draft.changed());
  EXPECT_FALSE(draft.has_finalizer("example.com/one"));
  EXPECT_TRUE(draft.has_finalizer("example.com/three"));
  EXPECT_EQ(patch(), *Json::parse(R"({"metadata":{"resourceVersion":"42",
    "finalizers":["example.com/two","example.com/three"]}})"));
}

TEST_F(NodeDraftTest, TheLastFinalizerGoesWithTheList) {
  node.finalizers = {"example.com/one"};
  draft.remove_finalizer("example.com/one");
  EXPECT_EQ(patch(), *Json::parse(R"({"metadata":{"resourceVersion":"42","finalizers":null}})"));
}

TEST_F(NodeDraftTest, FinalizersThatAreThereOrComeBackAreNoChange) {
  node.finalizers = {"example.com/one"};
  draft.add_finalizer("example.com/one");
  draft.remove_finalizer("example.com/none");
  EXPECT_FALSE(draft.changed());
  draft.add_finalizer("example.com/two");
  draft.remove_finalizer("example.com/two");
  EXPECT_FALSE(draft.changed());
}

TEST_F(NodeDraftTest, Cordons) {
  EXPECT_FALSE(draft.unschedulable());
  draft.set_unschedulable(false);
  EXPECT_FALSE(draft.changed());
  draft.set_unschedulable(true);
  EXPECT_TRUE(draft.unschedulable());
  EXPECT_TRUE(draft.changed());
  EXPECT_EQ(patch(), *Json::parse(R"({"metadata":{"resourceVersion":"42"},"spec":{"unschedulable":true}})"));
  draft.set_unschedulable(false);
  EXPECT_FALSE(draft.changed());
}

TEST_F(NodeDraftTest, Uncordons) {
  node.unschedulable = true;
  EXPECT_TRUE(draft.unschedulable());
  draft.set_unschedulable(false);
  EXPECT_FALSE(draft.unschedulable());
  EXPECT_EQ(patch(), *Json::parse(R"({"metadata":{"resourceVersion":"42"},"spec":{"unschedulable":null}})"));
}

TEST_F(NodeDraftTest, FinalizersAndCordonCanBeGivenBack) {
  const auto before = draft.changes();
  draft.add_finalizer("example.com/one");
  draft.set_unschedulable(true);
  draft.restore(before);
  EXPECT_FALSE(draft.changed());
  EXPECT_FALSE(draft.has_finalizer("example.com/one"));
  EXPECT_FALSE(draft.unschedulable());
}

TEST_F(NodeDraftTest, TheDocumentShowsTheNodeAsItWillBe) {
  node.finalizers = {"example.com/one"};
  draft.set_label("new", "1");
  draft.remove_label("zone");
  draft.remove_annotation("note");
  draft.remove_finalizer("example.com/one");
  draft.set_unschedulable(true);
  const Json document = draft.document();
  EXPECT_EQ(document["metadata"]["labels"].dump(), R"({"empty":"","new":"1"})");
  EXPECT_EQ(document["metadata"]["annotations"].size(), 0u);
  EXPECT_FALSE(document["metadata"]["finalizers"].exists());
  EXPECT_EQ(document["spec"]["unschedulable"].boolean(), true);
  EXPECT_EQ(document["metadata"]["name"].text(), "a");
}

}  // namespace
}  // namespace careen::profiles
