// What the profiles controller counts. Names and labels are those of the Go library that the replaced program is made
// with, so that dashboards and alerts go on; what cannot happen here (a panic, a time-out of a decision) stays zero.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "io/metrics.h"
#include "profiles/controller.h"

namespace careen::profiles {

struct Controller::Meters {
  inline static const io::Labels kController{{"controller", "node"}};
  inline static const io::Labels kQueue{{"controller", "node"}, {"name", "node"}};

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
        active(m.gauge("controller_runtime_active_workers", "Nodes being worked on.", kController)),
        unfinished(m.gauge("workqueue_unfinished_work_seconds", "Time spent so far on keys being worked on.", kQueue)),
        longest(m.gauge("workqueue_longest_running_processor_seconds", "The longest of them.", kQueue)),
        late(m.counter("careen_sweep_late_total", "Decisions that only the slow sweep found; it should stay zero.")) {
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) reconciles(result);
    errors();
    m.gauge("controller_runtime_max_concurrent_reconciles", "Decisions made at once.", kController).set(1);
    m.counter("controller_runtime_terminal_reconcile_errors_total", "Always zero.", kController);
    m.counter("controller_runtime_reconcile_panics_total", "Always zero.", kController);
    m.counter("controller_runtime_reconcile_timeouts_total", "Always zero.", kController);
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
  void show_work(io::Steady now) {
    io::Duration sum{0}, most{0};
    for (const auto& [key, begun] : since) {
      sum += now - begun;
      most = std::max(most, now - begun);
    }
    active.set(static_cast<double>(since.size()));
    unfinished.set(io::to_seconds(sum));
    longest.set(io::to_seconds(most));
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
  io::Counter& adds;
  io::Counter& retries;
  io::Histogram& work_time;
  io::Gauge& active;
  io::Gauge& unfinished;
  io::Gauge& longest;
  std::map<std::string, io::Steady> since;  // keys being worked on
  io::Counter& late;
};

}  // namespace careen::profiles
