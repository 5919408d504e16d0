// Why a pod has not left yet, in words for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drain/decide.h"
#include "kube/disruption_budget.h"
#include "kube/pod_store.h"

namespace careen::drain {

// 40 s, 3 min, 2 h, 5 d: one number that is easy to read.
std::string span_text(io::Duration span);
// As kubectl prints it: 30s, 1m30s, 1h0m0s.
std::string go_duration_text(io::Duration span);

std::string terminating_text(const kube::Pod& pod, io::Wall now);
std::string budget_text(const kube::DisruptionBudget& budget, Lane::State state);
std::string several_text(const std::vector<const kube::DisruptionBudget*>& budgets);
// "waits for tier 1: 3 pods". `tier` counts from 1.
std::string turn_text(size_t tier, size_t tiers, int pods);
std::string priority_turn_text(int32_t priority, int pods);
// `by`: the rule that has it wait; empty: the rule of those that leave earlier does.
std::string order_turn_text(int32_t order, int pods, const std::string& by);
std::string setback_text(const Setback& setback, io::Steady now);

// kubectl's words for a pod whose request the server refuses for good.
std::string failure_text(const kube::Pod& pod, bool deleted, const std::string& cause);
// kubectl's words for a pod that was there when the time was over.
std::string timeout_text(const kube::Pod& pod, bool evicted, io::Duration timeout);

}  // namespace careen::drain
