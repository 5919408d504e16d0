// What a drain makes of MachineDrainRules: orders, and rules that are not known yet, that change, and that nobody
// understands.
#include "drain/options.h"
#include "drain/rules.h"
#include "drain/test_cluster.h"
#include "kube/objects.h"

namespace careen::drain {
namespace {

using io::milliseconds;
using io::minutes;
using io::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;

class EngineRulesTest : public EngineTest {
 protected:
  void heed() {
    engine().rules = [this](const std::string& node) { return node == "n1" ? rules : NodeRules{}; };
    engine().rules_changed();
  }
  void add(const std::string& name, const std::string& app, const std::string& drain) {
    kube::Object object;
    object.ns = "fleet";
    object.name = name;
    object.document = *kube::Json::parse(fmt::format(
        R"({{"spec":{{"drain":{},"pods":[{{"selector":{{"matchLabels":{{"app":"{}"}}}}}}]}}}})", drain, app));
    rules.rules.push_back(std::make_shared<const Rule>(*read_rule(object)));
  }
  NodeRules rules;
};

TEST_F(EngineRulesTest, OneOrderAfterTheOther) {
  add_node("n1");
  add_pod("store", "n1", PodWish{.app = "store", .annotations = R"({"model.careen.dev/termination-time":"5"})"});
  add_pod("web");
  add_pod("first", "n1", PodWish{.app = "first", .annotations = R"({"model.careen.dev/termination-time":"5"})"});
  add("store", "store", R"({"behavior":"Drain","order":100})");
  add("first", "first", R"({"behavior":"Drain","order":-1})");
  launch();
  heed();
  begin();
  time.run_for(seconds{1});
  EXPECT_THAT(evicted(), ElementsAre("first"));
  EXPECT_EQ(reason("web"), "waits for order -1: 1 pod, which a MachineDrainRule lets leave earlier");
  EXPECT_EQ(reason("store"), "waits for order -1: 1 pod, by MachineDrainRule fleet/store");
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_THAT(evicted(), ElementsAre("first", "web", "store"));
}

TEST_F(EngineRulesTest, TheDrainsOwnTiersComeBeforeOrdersAndPrioritiesAfterThem) {
  add_node("n1");
  add_pod("late-low", "n1", PodWish{.app = "late", .more = R"("priority":1,)"});
  add_pod("late-high", "n1", PodWish{.app = "late", .more = R"("priority":2,)"});
  add_pod("web", "n1", PodWish{.more = R"("priority":9,)"});
  add_pod("tier", "n1", PodWish{.app = "tier", .more = R"("priority":9,)"});
  add("late", "late", R"({"behavior":"Drain","order":1})");
  add("tier", "tier", R"({"behavior":"Drain","order":2})");
  launch();
  heed();
  Options options = usual();
  options.tiers = {*kube::LabelSelector::parse("app=tier")};
  options.by_priority = true;
  begin(options);
  ASSERT_TRUE(drains_within(minutes{1}));
  EXPECT_THAT(evicted(), ElementsAre("tier", "web", "late-low", "late-high"));
}

TEST_F(EngineRulesTest, LaterOrdersWaitForWhatIsAwaited) {
  add_node("n1");
  add_pod("job", "n1", PodWish{.app = "job", .owner = "Job", .annotations = R"({"model.careen.dev/run-time":"600"})"});
  add_pod("web");
  add_pod("store", "n1", PodWish{.app = "store"});
  add("job", "job", R"({"behavior":"WaitCompleted"})");
  add("store", "store", R"({"behavior":"Drain","order":1})");
  launch();
  heed();
  begin();
  time.run_for(minutes{5});
  EXPECT_THAT(evicted(), ElementsAre("web"));
  EXPECT_EQ(reason("job"), "left to end by itself: MachineDrainRule fleet/job says WaitCompleted");
  EXPECT_EQ(reason("store"), "waits for order 0: 1 pod, by MachineDrainRule fleet/store");
  ASSERT_TRUE(drains_within(minutes{10}));
  EXPECT_THAT(evicted(), ElementsAre("web", "job", "store"));
}

TEST_F(EngineRulesTest, NothingIsEvictedBeforeTheRulesAreKnown) {
  add_node("n1");
  add_pod("web");
  add_pod("agent", "n1", PodWish{.app = "agent"});
  launch();
  rules.known = false;
  heed();
  begin();
  time.run_for(minutes{1});
  EXPECT_TRUE(evicted().empty());
  EXPECT_EQ(reason("web"), "waits until MachineDrainRules have been read");
  EXPECT_EQ(progress().pods_to_evict, 0) << "which of them have to go is not known";
  rules.known = true;
  add("agent", "agent", R"({"behavior":"Skip"})");
  heed();
  ASSERT_TRUE(drains_within(seconds{10}));
  EXPECT_THAT(evicted(), ElementsAre("web"));
  EXPECT_EQ(progress().pods_to_evict, 1);
  EXPECT_EQ(progress().warnings, "WARNING: left alone: MachineDrainRule fleet/agent says Skip: shop/agent");
}

TEST_F(EngineRulesTest, WhatRulesSayMayChangeDuringTheDrain) {
  add_node("n1");
  add_node("n2");
  add_pod("agent", "n1", PodWish{.app = "agent"});
  add_pod("other", "n2", PodWish{.app = "agent"});
  add_budget("agent", "agent", 2);
  launch();
  heed();
  begin();
  time.run_for(minutes{1});
  EXPECT_FALSE(drained());
  add("agent", "agent", R"({"behavior":"Skip"})");
  heed();
  EXPECT_TRUE(drains_within(seconds{1}));
  rules.rules.clear();
  heed();
  EXPECT_FALSE(drained());
  begin(usual(), "n2");
  set_minimum("agent", 0);
  EXPECT_TRUE(drains_within(minutes{5}));
  EXPECT_TRUE(drains_within(minutes{5}, "n2"));
}

TEST_F(EngineRulesTest, ARuleThatNobodyUnderstandsKeepsAllPodsOfTheNode) {
  add_node("n1");
  add_node("n2");
  add_pod("web");
  add_pod("other", "n2");
  launch();
  rules.mistake = "MachineDrainRule fleet/odd: spec.pods[0].selector: what";
  heed();
  begin();
  begin(usual(), "n2");
  ASSERT_TRUE(drains_within(seconds{10}, "n2"));
  time.run_for(minutes{5});
  EXPECT_THAT(evicted(), ElementsAre("other"));
  EXPECT_EQ(progress().phase, Progress::Phase::refused);
  EXPECT_THAT(progress().errors,
              ElementsAre("cannot delete Pods, because of MachineDrainRule fleet/odd: spec.pods[0].selector: what: "
                          "shop/web"));
  rules.mistake.clear();
  heed();
  EXPECT_TRUE(drains_within(seconds{10}));
}

TEST_F(EngineRulesTest, OurOwnPodDoesNotWaitForWhatIsAwaited) {
  add_node("n1");
  add_pod("job", "n1", PodWish{.app = "job"});
  add_pod("store", "n1", PodWish{.app = "store"});
  add_pod("careen", "n1", PodWish{.app = "careen"});
  add("job", "job", R"({"behavior":"WaitCompleted"})");
  add("store", "store", R"({"behavior":"Drain","order":-1})");
  launch({.own_namespace = "shop", .own_pod = "careen"});
  heed();
  begin();
  time.run_for(minutes{1});
  EXPECT_THAT(evicted(), ElementsAre("store", "careen"));
}

}  // namespace
}  // namespace careen::drain
