// What the profiles controller counts besides what every controller does.
#pragma once

#include <string>

#include "kube/controller_meters.h"
#include "profiles/controller.h"

namespace careen::profiles {

struct Controller::Meters : kube::ControllerMeters {
  explicit Meters(io::Metrics& m)
      : ControllerMeters(m, "node"),
        late(m.counter("careen_sweep_late_total", "Decisions that only the slow sweep found; it should stay zero.")) {}

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
};

}  // namespace careen::profiles
