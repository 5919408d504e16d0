// Which budgets cover a pod, as it is remembered while budgets come, change and go.
#include "drain/coverage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/cache.h"
#include "kube/disruption_budget.h"
#include "kube/pod_store.h"

namespace careen::drain {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class CoverageTest : public testing::Test {
 protected:
  void put(const std::string& ns, const std::string& name, const std::string& selector) {
    kube::DisruptionBudget budget;
    budget.ns = ns;
    budget.name = name;
    budget.uid = name;
    budget.version = ++version_;
    budget.selector = *kube::LabelSelector::parse(selector);
    budgets.put(std::move(budget));
  }
  std::vector<std::string> of(const std::string& ns, const std::string& app) {
    const std::string labels = "app" + std::string(1, '\0') + app + std::string(1, '\0');
    kube::Pod pod;
    pod.ns = ns;
    pod.label_set = labels;
    return coverage.of(pod);
  }

  kube::Store<kube::DisruptionBudget> budgets;
  Coverage coverage{budgets};

 private:
  uint64_t version_ = 0;
};

TEST_F(CoverageTest, IsThatOfThePodsNamespaceAndLabels) {
  put("shop", "a", "app");
  put("shop", "b", "app=web");
  put("bank", "c", "app=web");
  EXPECT_THAT(of("shop", "web"), ElementsAre("shop/a", "shop/b"));
  EXPECT_THAT(of("shop", "db"), ElementsAre("shop/a"));
  EXPECT_THAT(of("bank", "web"), ElementsAre("bank/c"));
  EXPECT_THAT(of("other", "web"), IsEmpty());
}

TEST_F(CoverageTest, IsLookedUpAnewOnceItWasForgotten) {
  EXPECT_THAT(of("shop", "web"), IsEmpty());
  EXPECT_THAT(of("bank", "web"), IsEmpty());
  put("shop", "a", "app=web");
  put("bank", "a", "app=web");
  coverage.forget("shop");
  coverage.forget("never seen");
  EXPECT_THAT(of("shop", "web"), ElementsAre("shop/a"));
  EXPECT_THAT(of("bank", "web"), IsEmpty()) << "nobody has said that anything changed there";
}

TEST_F(CoverageTest, StaysRightForMoreLabelsThanAreRemembered) {
  put("shop", "a", "app in (x0,x9999)");
  for (int i = 0; i < 10'000; ++i) of("shop", fmt::format("x{}", i));
  EXPECT_THAT(of("shop", "x0"), ElementsAre("shop/a"));
  EXPECT_THAT(of("shop", "x9999"), ElementsAre("shop/a"));
  EXPECT_THAT(of("shop", "x1"), IsEmpty());
}

}  // namespace
}  // namespace careen::drain
