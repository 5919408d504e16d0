#include "drain/coverage.h"

#include "kube/disruption_budget.h"
#include "kube/pod_store.h"

namespace careen::drain {

const std::vector<std::string>& Coverage::of(const kube::Pod& pod) {
  if (remembered_ >= kMostRemembered) {
    known_.clear();
    remembered_ = 0;
  }
  auto in_namespace = known_.find(pod.ns);
  if (in_namespace == known_.end()) in_namespace = known_.try_emplace(std::string(pod.ns)).first;
  const auto [found, is_new] = in_namespace->second.try_emplace(std::string(pod.label_set));
  if (!is_new) return found->second;
  ++remembered_;
  for (const kube::DisruptionBudget* budget : kube::budgets_of(budgets_, pod)) found->second.push_back(budget->key());
  return found->second;
}

void Coverage::forget(std::string_view ns) {
  const auto found = known_.find(ns);
  if (found == known_.end()) return;
  remembered_ -= found->second.size();
  known_.erase(found);
}

}  // namespace careen::drain
