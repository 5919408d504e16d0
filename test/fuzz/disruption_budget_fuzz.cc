// Disruption budgets out of any text: what is read has a name and a version, is the same each time, lies in a cache
// where its namespace finds it, and what has no readable selector covers no pod.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "kube/cache.h"
#include "kube/disruption_budget.h"
#include "kube/pod_store.h"

namespace {

using namespace careen::kube;

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "disruption budget fuzz: %s\n", what);
  std::abort();
}

void expect_found(const DisruptionBudget& budget) {
  Store<DisruptionBudget> store;
  store.put(budget);
  Pod pod;
  pod.ns = budget.ns;
  pod.name = "p";
  const bool matches =
      budget.selector.matches([](std::string_view) -> std::optional<std::string_view> { return std::nullopt; });
  expect(budgets_of(store, pod).size() == (matches ? 1U : 0U), "a pod is not found under its budget");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto budget = decode_disruption_budget(text);
  if (!budget) {
    expect(!budget.error().message.empty(), "refused without a message");
    return 0;
  }
  expect(!budget->name.empty(), "a budget without a name");
  const auto again = decode_disruption_budget(text);
  expect(again && again->same_facts(*budget) && again->version == budget->version, "read another way the second time");
  expect(std::is_sorted(budget->disrupted_pods.begin(), budget->disrupted_pods.end()), "pods are in no order");
  if (text.find("selector") == std::string_view::npos) {
    expect(!budget->selector.empty(), "without a selector it covers everything");
  }
  expect_found(*budget);
  return 0;
}
