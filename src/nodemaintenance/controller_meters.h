// What the NodeMaintenance controller counts. Names and labels are those of the Go library that the replaced program
// is made with, so that dashboards and alerts go on; what cannot happen here (a panic) stays zero.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "io/metrics.h"
#include "io/time.h"
#include "nodemaintenance/roster.h"

namespace careen::nodemaintenance {

struct Meters {
  inline static const io::Labels kController{{"controller", "nodemaintenance"}};
  inline static const io::Labels kQueue{{"controller", "nodemaintenance"}, {"name", "nodemaintenance"}};

  explicit Meters(io::Metrics& m)
      : metrics(m),
        reconcile_time(m.histogram("controller_runtime_reconcile_time_seconds", "Time of one decision.",
                                   {0.00001, 0.0001, 0.001, 0.01, 0.1, 1}, kController)),
        queue_depth(m.gauge("workqueue_depth", "Keys that are due.", kQueue)),
        queue_wait(m.histogram("workqueue_queue_duration_seconds", "How long keys were due before their turn.",
                               {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, kQueue)),
        adds(m.counter("workqueue_adds_total", "Keys that became due.", kQueue)),
        retries(m.counter("workqueue_retries_total", "Keys that are tried again after a failure.", kQueue)),
        work_time(m.histogram("workqueue_work_duration_seconds", "From a key's turn until its writes are done.",
                              {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, kQueue)),
        active(m.gauge("controller_runtime_active_workers", "Objects being worked on.", kController)),
        unfinished(m.gauge("workqueue_unfinished_work_seconds", "Time spent so far on keys being worked on.", kQueue)),
        longest(m.gauge("workqueue_longest_running_processor_seconds", "The longest of them.", kQueue)) {
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) reconciles(result);
    errors();
    m.gauge("controller_runtime_max_concurrent_reconciles", "Decisions made at once.", kController).set(1);
    m.counter("controller_runtime_terminal_reconcile_errors_total", "Always zero.", kController);
    m.counter("controller_runtime_reconcile_panics_total", "Always zero.", kController);
  }

  void begin_work(const std::string& key, io::Steady now) {
    adds.add();
    since.insert_or_assign(key, now);
  }
  void end_work(const std::string& key, io::Steady now) {
    const auto begun = since.find(key);
    if (begun == since.end()) return;
    work_time.observe(io::to_seconds(now - begun->second));
    since.erase(begun);
  }
  void show(io::Steady now, const Roster& roster) {
    io::Duration sum{0}, most{0};
    for (const auto& [key, begun] : since) {
      sum += now - begun;
      most = std::max(most, now - begun);
    }
    active.set(static_cast<double>(since.size()));
    unfinished.set(io::to_seconds(sum));
    longest.set(io::to_seconds(most));
    std::map<Phase, double> count{{Phase::none, 0}, {Phase::running, 0}, {Phase::succeeded, 0}, {Phase::failed, 0}};
    roster.for_each([&](const Maintenance& one) { ++count[one.status.phase]; });
    for (const auto& [phase, number] : count) {
      const std::string name(phase == Phase::none ? "New" : name_of(phase));
      metrics.gauge("careen_nodemaintenances", "NodeMaintenances by phase.", {{"phase", name}}).set(number);
    }
  }

  io::Counter& reconciles(const std::string& result) {
    return metrics.counter("controller_runtime_reconcile_total", "Decisions by result.",
                           {{"controller", "nodemaintenance"}, {"result", result}});
  }
  io::Counter& errors() {
    return metrics.counter("controller_runtime_reconcile_errors_total", "Writes that failed.", kController);
  }

  io::Metrics& metrics;
  io::Histogram& reconcile_time;
  io::Gauge& queue_depth;
  io::Histogram& queue_wait;
  io::Counter& adds;
  io::Counter& retries;
  io::Histogram& work_time;
  io::Gauge& active;
  io::Gauge& unfinished;
  io::Gauge& longest;
  std::map<std::string, io::Steady> since;  // keys being worked on
};

}  // namespace careen::nodemaintenance
