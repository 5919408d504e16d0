// What the profiles controller counts in addition to what every controller counts.
#pragma once

#include <string>
#include <unordered_set>

#include "controllers/profiles/controller.h"
#include "kube/controller_meters.h"

namespace careen::profiles {

struct Controller::Meters : kube::ControllerMeters {
  explicit Meters(io::Metrics& m)
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

  io::Counter& late;
  std::unordered_set<std::string> lately;  // nodes that were decided since the standing ones were counted
};

}  // namespace careen::profiles
