// What the NodeMaintenance controller counts in addition to what every controller counts.
#pragma once

#include <map>
#include <string>

#include "controllers/nodemaintenance/roster.h"
#include "kube/controller_meters.h"

namespace careen::nodemaintenance {

struct Meters : kube::ControllerMeters {
  explicit Meters(io::Metrics& m) : ControllerMeters(m, "nodemaintenance") {}

  void show(io::Steady now, const Roster& roster) {
    show_work(now);
    std::map<Phase, double> count{{Phase::none, 0}, {Phase::running, 0}, {Phase::succeeded, 0}, {Phase::failed, 0}};
    roster.for_each([&](const Maintenance& one) { ++count[one.status.phase]; });
    for (const auto& [phase, number] : count) {
      const std::string name(phase == Phase::none ? "New" : name_of(phase));
      metrics.gauge("careen_nodemaintenances", "NodeMaintenances by phase.", {{"phase", name}}).set(number);
    }
  }
};

}  // namespace careen::nodemaintenance
