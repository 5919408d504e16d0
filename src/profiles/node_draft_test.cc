#include "profiles/node_draft.h"

#include <gtest/gtest.h>

#include "profiles/test_support.h"

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

}  // namespace
}  // namespace careen::profiles
