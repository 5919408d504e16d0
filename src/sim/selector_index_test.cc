// The index never leaves out a selector that matches, and passes over those that require another label.
#include "sim/selector_index.h"

#include <gtest/gtest.h>

namespace careen::sim {
namespace {

using Names = SelectorIndex::Names;
using Labels = std::map<std::string, std::string>;

kube::LabelSelector selector(std::string_view text) { return *kube::LabelSelector::parse(text); }

TEST(SelectorIndex, FindsThoseThatMayMatch) {
  SelectorIndex index;
  index.set("of-a", selector("app=a"));
  index.set("of-b", selector("app=b,tier=front"));
  index.set("either", selector("app in (a,b)"));
  index.set("not-c", selector("app!=c"));
  EXPECT_EQ(index.candidates(Labels{{"app", "a"}}), (Names{"either", "not-c", "of-a"}));
  EXPECT_EQ(index.candidates(Labels{{"app", "b"}}), (Names{"either", "not-c", "of-b"}));
  EXPECT_EQ(index.candidates(Labels{}), (Names{"either", "not-c"}));
}

TEST(SelectorIndex, FollowsChanges) {
  SelectorIndex index;
  index.set("one", selector("app=a"));
  index.set("one", selector("app=b"));
  EXPECT_EQ(index.candidates(Labels{{"app", "a"}}), Names{});
  EXPECT_EQ(index.candidates(Labels{{"app", "b"}}), Names{"one"});
  index.set("one", selector(""));
  EXPECT_EQ(index.candidates(Labels{}), Names{"one"});
  index.erase("one");
  index.erase("one");
  EXPECT_EQ(index.candidates(Labels{{"app", "b"}}), Names{});
}

TEST(SelectorIndex, ReadsTheLabelsOfAnObject) {
  SelectorIndex index;
  index.set("one", selector("app=a"));
  const json::value labels = {{"app", "a"}, {"odd", 1}};
  EXPECT_EQ(index.candidates(&labels), Names{"one"});
  const json::value* none = nullptr;
  EXPECT_EQ(index.candidates(none), Names{});
}

}  // namespace
}  // namespace careen::sim
