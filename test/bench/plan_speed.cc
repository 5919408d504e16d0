// How long a plan takes: a fleet that waits for an update, planned for fourteen days with a nightly window, a limit by
// zone and approvals; with --drain each node has that many pods, some of them under budgets, which are drained. Prints
// one line of JSON for a plan: user_seconds is what to compare on a machine that does other things, too. A plan that
// takes longer than a minute is given up, and its line says how far it came. Without a number of nodes it makes all
// plans of docs/performance.md, each in a process of its own, because memory is measured by its peak.
//
//   plan_speed [NODES [--drain [PODS]]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "plan/planner.h"
#include "plan/test_snapshot.h"

namespace {

using namespace careen;

constexpr const char* kMore =
    "  - {name: night, type: timeWindow, config: {start: \"00:30\", end: \"05:30\", weekdays: [mon, tue, wed, thu, "
    "fri, "
    "sat, sun]}}\n"
    "  - {name: in_zone, type: maxMaintenance, config: {max: \"3%\", groupLabel: topology.kubernetes.io/zone}}\n"
    "  - {name: approved, type: hasAnnotation, config: {key: approved, value: \"yes\"}}\n";

constexpr int kPodsOnANode = 10;
constexpr int kPodsOfAWorkload = 50;
constexpr double kLongest = 60;  // seconds of a plan

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

rusage used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double user_seconds() {
  const timeval time = used().ru_utime;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

int measure(int nodes, bool drain, int on_a_node) {
  plan::Snapshot snapshot = plan::sample_snapshot(nodes);
  const int workloads = drain ? nodes * on_a_node / kPodsOfAWorkload : 0;
  for (int i = 0; i < workloads; ++i) {
    plan::add_workload(snapshot, fmt::format("app-{}", i), kPodsOfAWorkload, i % 3 == 0 ? 5 : 0, i * 17 % nodes);
  }
  const std::string config =
      plan::sample_config("night && in_zone && approved", kMore, 1, drain ? std::string_view("drain") : "");
  const auto begin = std::chrono::steady_clock::now();
  const double user_before = user_seconds();
  auto planner = plan::Planner::make(std::move(snapshot), config, {});
  if (!planner) {
    fmt::print(stderr, "{}\n", planner.error().message);
    return 1;
  }
  (*planner)->advance([&] { return (*planner)->progress() > 0; });
  const double loaded = seconds_since(begin);
  (*planner)->advance([&] { return seconds_since(begin) > kLongest; });
  const plan::Plan plan = (*planner)->plan();
  fmt::print(
      R"({{"nodes": {}, "drain": {}, "pods": {}, "rows": {}, "stuck": {}, "left": {}, "at_once": {}, "complete": {}, )"
      R"("progress": {:.3f}, "loaded_in": {:.2f}, "seconds": {:.2f}, "user_seconds": {:.2f}, "peak_megabytes": {}}})"
      "\n",
      nodes, drain, workloads * kPodsOfAWorkload, plan.rows.size(), plan.stuck.size(), plan.left.size(), plan.at_once,
      plan.complete, (*planner)->progress(), loaded, seconds_since(begin), user_seconds() - user_before,
      used().ru_maxrss / 1024);
  return 0;
}

// The rows of docs/performance.md.
int measure_all(const std::string& program) {
  for (const char* plan : {"5000", "60 --drain 30", "500 --drain 10", "1000 --drain 30", "5000 --drain 30"}) {
    if (std::system((program + " " + plan).c_str()) != 0) return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return measure_all(argv[0]);
  const bool drain = argc > 2 && std::string_view(argv[2]) == "--drain";
  return measure(std::atoi(argv[1]), drain, argc > 3 ? std::atoi(argv[3]) : kPodsOnANode);
}
