// What careen shows of Lanterns, and what it plans with them, without knowing what they are.
#include <gtest/gtest.h>

#include "plan/planner.h"
#include "plan/test_snapshot.h"
#include "test_lanterns.h"
#include "view/chronicle.h"
#include "view/fleet.h"
#include "view/story.h"

namespace careen::lantern {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kFirst = 0;

class LanternShownTest : public LanternTest {
 protected:
  kube::Json document(const std::string& text) const {
    auto json = kube::Json::parse(text);
    EXPECT_TRUE(json) << text;
    return json ? std::move(*json) : kube::Json();
  }
  kube::Json fleet() {
    view::FleetPieces pieces({careen->replica(), *chronicle, "1.2.3"});
    std::string text;
    while (pieces.read(text)) {
    }
    return document(text);
  }
  kube::Json story(const std::string& node) {
    return document(view::story({careen->replica(), *chronicle, "1.2.3"}, node).value_or("null"));
  }
  std::optional<view::Chronicle> chronicle;
};

TEST_F(LanternShownTest, OnTheMapInTheStoryAndOnTheTimeline) {
  chronicle.emplace(start());
  hang("a", "n1");
  hang("b", "n2", "blue");
  run();
  const kube::Json all = fleet();
  EXPECT_EQ(all["lanterns"].size(), 2u);
  EXPECT_EQ(all["lanterns"][kFirst]["phase"].text(), "Lit");
  EXPECT_EQ(all["nodes"][kFirst]["cell"].text(), "in-maintenance");
  EXPECT_EQ(all["nodes"][size_t{1}]["cell"].text(), "maintenance-required");
  EXPECT_EQ(all["nodes"][size_t{2}]["cell"].text(), "none");
  EXPECT_EQ(all["careen"]["leading"].boolean(), true);
  EXPECT_EQ(all["claims"]["count"].integer(), 1) << "the one in the ledger is the one that is lit";
  EXPECT_EQ(all["claims"]["first"][kFirst]["stage"].text(), "out");
  const kube::Json node = story("n2");
  EXPECT_EQ(node["lanterns"][kFirst]["name"].text(), "b");
  EXPECT_THAT(node["why"].dump(), HasSubstr("1 of 1 nodes are lit: n1"));
  EXPECT_THAT(story("n1")["timeline"].dump(), HasSubstr("n1: The lantern is lit"));
  EXPECT_EQ(view::node_of_object(careen->replica(), "lanterns", "b"), "n2");
}

// A leader that has just begun knows it from the events of its predecessor.
TEST_F(LanternShownTest, TheTimelineKnowsThePast) {
  hang("a", "n1");
  start();
  run();
  careen.reset();
  run();
  chronicle.emplace(start());
  run();
  EXPECT_THAT(story("n1")["timeline"].dump(), HasSubstr("n1: The lantern is lit"));
}

TEST(LanternPlan, OneFollowsTheOther) {
  plan::Snapshot snapshot = plan::sample_snapshot(2);
  for (kube::Json& node : snapshot.objects[plan::Kind::nodes]) node.remove({"metadata", "labels", "update"});
  for (const char* number : {"0", "1"}) {
    auto object = kube::Json::object({{"apiVersion", kResource.api_version()}, {"kind", kResource.kind}});
    object.set({"metadata", "name"}, std::string("l") + number).set({"metadata", "uid"}, number);
    object.set({"metadata", "creationTimestamp"}, "2026-03-02T09:59:00Z");
    object.set({"spec", "nodeName"}, std::string("node-000") + number).set({"spec", "color"}, "red");
    snapshot.objects[plan::kind_of(kind())].push_back(std::move(object));
  }
  const auto read = plan::parse_snapshot(plan::snapshot_text(snapshot));
  ASSERT_TRUE(read) << read.error().message;
  plan::PlannerOptions options;
  options.span = io::hours{24};
  const auto plan = plan::make_plan(*read, plan::sample_config(), options);
  ASSERT_TRUE(plan) << plan.error().message;
  ASSERT_EQ(plan->rows.size(), 2u);
  EXPECT_EQ(plan->rows[0].profile, "lantern/l0");
  EXPECT_EQ(plan->rows[1].profile, "lantern/l1");
  ASSERT_TRUE(plan->rows[0].end);
  EXPECT_LE(*plan->rows[0].end, plan->rows[1].begin);
  ASSERT_EQ(plan->campaigns.size(), 1u);
  EXPECT_EQ(plan->campaigns[0].profile, "lantern");
  EXPECT_EQ(plan->campaigns[0].maintained, 2u);
  EXPECT_EQ(plan->campaigns[0].at_once, 1u);
  ASSERT_EQ(plan->limits.size(), 1u);
  EXPECT_EQ(plan->limits[0].what, "the number of lanterns");
}

}  // namespace
}  // namespace careen::lantern
