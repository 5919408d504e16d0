// What the profiles controller counts.
#pragma once

#include <string>

#include "io/metrics.h"
#include "profiles/controller.h"

namespace careen::profiles {

struct Controller::Meters {
  explicit Meters(io::Metrics& m)
      : metrics(m),
        reconcile_time(m.histogram("controller_runtime_reconcile_time_seconds", "Time of one decision.",
                                   {0.00001, 0.0001, 0.001, 0.01, 0.1, 1}, {{"controller", "node"}})),
        queue_depth(m.gauge("workqueue_depth", "Keys that are due.", {{"name", "node"}})),
        queue_wait(m.histogram("workqueue_queue_duration_seconds", "How long keys were due before their turn.",
                               {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, {{"name", "node"}})),
        late(m.counter("careen_sweep_late_total", "Decisions that only the slow sweep found; it should stay zero.")) {
    for (const char* result : {"success", "error"}) reconciles(result);
    errors();
  }
  io::Counter& reconciles(const std::string& result) {
    return metrics.counter("controller_runtime_reconcile_total", "Decisions by result.",
                           {{"controller", "node"}, {"result", result}});
  }
  io::Counter& errors() {
    return metrics.counter("controller_runtime_reconcile_errors_total", "Decisions with a failing plugin.",
                           {{"controller", "node"}});
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
  io::Metrics& metrics;
  io::Histogram& reconcile_time;
  io::Gauge& queue_depth;
  io::Histogram& queue_wait;
  io::Counter& late;
};

}  // namespace careen::profiles
