// What a controller counts of its work queue and its decisions. Names and labels are those of the Go library that the
// replaced programs are made with, so that dashboards and alerts keep working; what cannot happen here (a panic, a
// time-out of a decision) stays zero.
#pragma once

#include <algorithm>
#include <map>
#include <string>

#include "io/metrics.h"
#include "io/time.h"

namespace careen::kube {

struct ControllerMeters {
  // `controller`: its name in the labels.
  ControllerMeters(io::Metrics& m, const std::string& controller)
      : metrics(m),
        labels{{"controller", controller}},
        queue_labels{{"controller", controller}, {"name", controller}},
        reconcile_time(m.histogram("controller_runtime_reconcile_time_seconds", "Time of one decision.",
                                   {0.00001, 0.0001, 0.001, 0.01, 0.1, 1}, labels)),
        queue_depth(m.gauge("workqueue_depth", "Keys that are due.", queue_labels)),
        queue_wait(m.histogram("workqueue_queue_duration_seconds", "How long keys were due before their turn.",
                               {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, queue_labels)),
        adds(m.counter("workqueue_adds_total", "Keys that became due.", queue_labels)),
        retries(m.counter("workqueue_retries_total", "Keys that are tried again after a failure.", queue_labels)),
        work_time(m.histogram("workqueue_work_duration_seconds", "From a key's turn until its writes are done.",
                              {0.0001, 0.001, 0.01, 0.1, 1, 10, 60}, queue_labels)),
        active(m.gauge("controller_runtime_active_workers", "Objects being worked on.", labels)),
        unfinished(
            m.gauge("workqueue_unfinished_work_seconds", "Time spent so far on keys being worked on.", queue_labels)),
        longest(m.gauge("workqueue_longest_running_processor_seconds", "The longest of them.", queue_labels)) {
    for (const char* result : {"success", "error", "requeue", "requeue_after"}) reconciles(result);
    errors();
    m.gauge("controller_runtime_max_concurrent_reconciles", "Decisions made at once.", labels).set(1);
    m.counter("controller_runtime_terminal_reconcile_errors_total", "Always zero.", labels);
    m.counter("controller_runtime_reconcile_panics_total", "Always zero.", labels);
    m.counter("controller_runtime_reconcile_timeouts_total", "Always zero.", labels);
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
  // That many keys were found to need nothing, without being decided again.
  void stood(size_t keys) {
    adds.add(static_cast<double>(keys));
    reconciles("requeue_after").add(static_cast<double>(keys));
    for (size_t i = 0; i < keys; ++i) {
      for (io::Histogram* time : {&queue_wait, &reconcile_time, &work_time}) time->observe(0);
    }
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
    io::Labels with_result = labels;
    with_result.emplace("result", result);
    return metrics.counter("controller_runtime_reconcile_total", "Decisions by result.", with_result);
  }
  io::Counter& errors() {
    return metrics.counter("controller_runtime_reconcile_errors_total", "Plugins or writes that failed.", labels);
  }

  io::Metrics& metrics;
  const io::Labels labels, queue_labels;
  std::map<std::string, io::Steady> since;  // keys being worked on
  io::Histogram& reconcile_time;
  io::Gauge& queue_depth;
  io::Histogram& queue_wait;
  io::Counter& adds;
  io::Counter& retries;
  io::Histogram& work_time;
  io::Gauge& active;
  io::Gauge& unfinished;
  io::Gauge& longest;
};

}  // namespace careen::kube
