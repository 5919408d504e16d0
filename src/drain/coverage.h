// Which disruption budgets cover a pod. Pods of one workload have the same labels, so what was found for one of them is
// remembered for the others: looking through a thousand budgets each time a pod changes would take longer than all
// else that is done about it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace careen::kube {
struct DisruptionBudget;
struct Pod;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::drain {

class Coverage {
 public:
  explicit Coverage(const kube::Store<kube::DisruptionBudget>& budgets) : budgets_(budgets) {}

  // The keys of the budgets, in their order. They stay until the next call.
  const std::vector<std::string>& of(const kube::Pod& pod);
  // A budget of that namespace has come or gone, or selects other pods.
  void forget(std::string_view ns);

 private:
  // More than one drain needs at a time; StatefulSets give each pod labels of its own.
  static constexpr size_t kMostRemembered = 4096;

  const kube::Store<kube::DisruptionBudget>& budgets_;
  std::map<std::string, std::unordered_map<std::string, std::vector<std::string>>, std::less<>> known_;  // by labels
  size_t remembered_ = 0;
};

}  // namespace careen::drain
