// What the profiles controller counts in addition to what every controller counts.
#pragma once

#include <memory>
#include <string>
#include <unordered_set>

#include "controllers/profiles/decision.h"
#include "io/task.h"
#include "kube/controller_meters.h"

namespace careen::io {
class Loop;
}

namespace careen::kube {
class WorkQueue;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct Config;

struct NodeMeters : kube::ControllerMeters {
  explicit NodeMeters(io::Metrics& m)
      : ControllerMeters(m, "node"),
        late(m.counter("careen_sweep_late_total", "Decisions that only the slow sweep found; it should stay zero.")) {}

  // Made; those that were found to stand are only among controller_runtime_reconcile_total.
  io::Counter& decisions(const std::string& result) {
    return metrics.counter("careen_decisions_total", "Decisions about nodes that were made.", {{"result", result}});
  }
  // Names are those of a program that looks at each node again after the requeue interval, and says so.
  void decided(const std::string& node, const Decision& decision) {
    decisions(decision.failing() ? "error" : "success").add();
    reconciles(decision.failing() ? "error" : decision.gone() ? "success" : "requeue_after").add();
    lately.insert(node);
  }
  io::Counter& failures(const std::string& profile) {
    return metrics.counter("maintenance_controller_transition_failure_count",
                           "Failures while a profile was being processed.", {{"profile", profile}});
  }
  io::Counter& transitions(const Moved& moved) {
    return metrics.counter("careen_transitions_total", "State changes that were written.",
                           {{"profile", moved.profile}, {"to", std::string(name_of(moved.to))}});
  }
  io::Counter& writes(const std::string& outcome) {
    return metrics.counter("careen_node_writes_total", "Node writes by outcome.", {{"outcome", outcome}});
  }

  // Counts, after each requeue interval, the nodes whose decisions stand. Runs until it is cancelled.
  io::Task<void> count_standing(io::Loop& loop, const kube::Store<kube::Node>& nodes, const kube::WorkQueue& queue,
                                const std::shared_ptr<const Config>& config);

  io::Counter& late;
  std::unordered_set<std::string> lately;  // nodes that were decided since the standing ones were counted
};

}  // namespace careen::profiles
