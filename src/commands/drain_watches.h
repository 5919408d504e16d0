// What a drain from the terminal has to know, kept current by watches: the pods of its nodes, the disruption budgets,
// and which DaemonSets there are.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/filter.h"
#include "kube/disruption_budget.h"
#include "kube/pod_store.h"
#include "kube/watched.h"
#include "kube/workload.h"
#include "session/kube_session.h"

namespace careen::app {

// How the pods of the nodes are followed: by a watch for each node, or by one of all pods that are on any node.
enum class PodWatches { each_node, all_nodes };
// Whichever is the smaller burden for a cluster of so many pods. Not known: the server does not tell.
PodWatches lighter_watches(size_t nodes, std::optional<uint64_t> pods);
// The same for the session's cluster, which is asked how many pods there are if that matters.
io::Task<PodWatches> choose_pod_watches(KubeSession& session, size_t nodes);

class DrainWatches {
 public:
  DrainWatches(KubeSession& session, const std::vector<std::string>& nodes, PodWatches how, int page_size);

  // Ends with this object.
  void start();

  kube::PodStore& pods() { return pods_; }
  kube::Store<kube::DisruptionBudget>& budgets() { return budgets_.store(); }
  // One that cannot be looked up is taken to exist: its pods are then left alone or refused, never evicted.
  drain::DaemonSetState daemon_set(std::string_view ns, std::string_view name) const;

  // The pods of all nodes have been listed, and the DaemonSets too unless that is not possible.
  io::Task<void> pods_known();
  // False when they cannot be read.
  io::Task<bool> budgets_known();

  // Of the session's on_problem: true when it concerned one of these watches that a drain can do without. `told` is
  // what to say about it, once.
  bool takes(std::string_view problem, std::string_view message, std::string& told);
  static bool is_about_pods(std::string_view problem);
  static bool is_about_budgets(std::string_view problem);

 private:
  std::unique_ptr<kube::Watch> watch(std::unique_ptr<kube::Sink> sink, kube::ReflectorOptions options);

  KubeSession& session_;
  kube::PodStore pods_;
  io::Gate daemon_sets_settled_;
  io::Gate budgets_settled_;
  kube::Workloads workloads_;
  std::unique_ptr<kube::Watch> daemon_sets_;
  kube::Watched<kube::DisruptionBudget> budgets_;
  std::vector<std::unique_ptr<kube::Watch>> pod_watches_;  // one, or one a node
};

}  // namespace careen::app
