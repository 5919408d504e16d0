#include "kube/disruption_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/cache.h"
#include "kube/pod_store.h"

namespace careen::kube {
namespace {

using testing::ElementsAre;

DisruptionBudget budget(std::string_view ns, std::string_view name, std::string_view selector) {
  DisruptionBudget out;
  out.ns = ns;
  out.name = name;
  out.uid = name;
  out.version = 1;
  out.selector = *LabelSelector::parse(selector);
  return out;
}

TEST(DisruptionBudgetTest, ReadsWhatEvictionsDependOn) {
  const auto read = decode_disruption_budget(
      R"({"metadata":{"name":"db","namespace":"shop","uid":"u","resourceVersion":"7","generation":3},
          "spec":{"selector":{"matchLabels":{"app":"db"}},"unhealthyPodEvictionPolicy":"AlwaysAllow"},
          "status":{"observedGeneration":2,"disruptionsAllowed":1,"currentHealthy":4,"desiredHealthy":3,
                    "expectedPods":5,"disruptedPods":{"db-2":"2026-01-01T00:00:00Z","db-1":"2026-01-01T00:00:00Z"}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->key(), "shop/db");
  EXPECT_EQ(read->uid, "u");
  EXPECT_EQ(read->version, 7U);
  EXPECT_EQ(read->selector.text(), "app=db");
  EXPECT_TRUE(read->evict_unhealthy_always);
  EXPECT_EQ(read->allowed, 1);
  EXPECT_EQ(read->current_healthy, 4);
  EXPECT_EQ(read->desired_healthy, 3);
  EXPECT_EQ(read->expected_pods, 5);
  EXPECT_THAT(read->disrupted_pods, ElementsAre("db-1", "db-2"));
  EXPECT_FALSE(read->current());
}

TEST(DisruptionBudgetTest, WithoutASelectorItCoversNothing) {
  const auto none = [](std::string_view) { return std::optional<std::string_view>(); };
  const auto without =
      decode_disruption_budget(R"({"metadata":{"name":"a","resourceVersion":"1"},"spec":{"selector":null}})");
  ASSERT_TRUE(without);
  EXPECT_FALSE(without->selector.matches(none));
  const auto all =
      decode_disruption_budget(R"({"metadata":{"name":"a","resourceVersion":"1"},"spec":{"selector":{}}})");
  ASSERT_TRUE(all);
  EXPECT_TRUE(all->selector.matches(none));
  EXPECT_TRUE(all->current());
}

TEST(DisruptionBudgetTest, WhatIsBrokenIsAnError) {
  EXPECT_FALSE(decode_disruption_budget(R"({"metadata":{"resourceVersion":"1"}})"));
  EXPECT_FALSE(decode_disruption_budget(R"({"metadata":{"name")"));
}

TEST(DisruptionBudgetTest, AChangeOfTheStatusIsAChange) {
  const DisruptionBudget a = budget("shop", "a", "x=1");
  DisruptionBudget b = a;
  b.version = 9;
  EXPECT_TRUE(a.same_facts(b));
  b.disrupted_pods = {"x"};
  EXPECT_FALSE(a.same_facts(b));
}

TEST(DisruptionBudgetTest, APodFallsUnderThoseOfItsNamespaceThatSelectIt) {
  Store<DisruptionBudget> budgets;
  for (const char* ns : {"shop", "shop-a", "sho", "shop0"}) {
    budgets.put(budget(ns, "b", "app=web"));
    budgets.put(budget(ns, "a", "app"));
    budgets.put(budget(ns, "c", "app=db"));
  }
  const std::string labels("app\0web\0", 8);
  Pod pod;
  pod.ns = "shop";
  pod.label_set = labels;
  std::vector<std::string> keys;
  for (const DisruptionBudget* one : budgets_of(budgets, pod)) keys.push_back(one->key());
  EXPECT_THAT(keys, ElementsAre("shop/a", "shop/b"));
  pod.ns = "other";
  EXPECT_TRUE(budgets_of(budgets, pod).empty());
}

}  // namespace
}  // namespace careen::kube
