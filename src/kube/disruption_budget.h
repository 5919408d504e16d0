// PodDisruptionBudget, with the fields careen uses and no others, and which of them a pod falls under.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "kube/label_selector.h"
#include "kube/objects.h"
#include "kube/resource.h"

namespace careen::kube {

class RawObject;
template <class T>
class Store;
struct Pod;

struct DisruptionBudget {
  std::string ns;
  std::string name;
  std::string uid;
  uint64_t version = 0;
  LabelSelector selector;
  int64_t generation = 0;
  int64_t observed_generation = 0;
  int32_t allowed = 0;  // status.disruptionsAllowed
  int32_t current_healthy = 0;
  int32_t desired_healthy = 0;
  int32_t expected_pods = 0;
  bool evict_unhealthy_always = false;      // unhealthyPodEvictionPolicy: AlwaysAllow
  std::vector<std::string> disrupted_pods;  // status.disruptedPods: evicted, and not seen to go by the controller yet

  std::string key() const { return object_key(ns, name); }
  bool same_facts(const DisruptionBudget& other) const;
  // The controller has looked at the spec as it is.
  bool current() const { return observed_generation >= generation; }
};

io::Result<DisruptionBudget> decode_disruption_budget(RawObject& raw);
io::Result<DisruptionBudget> decode_disruption_budget(std::string_view json);

namespace resources {
extern const Resource disruption_budgets;
}

// In the order of their names.
std::vector<const DisruptionBudget*> budgets_of(const Store<DisruptionBudget>& budgets, const Pod& pod);

}  // namespace careen::kube
