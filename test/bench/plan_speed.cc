// How long a plan takes: a fleet that waits for an update, planned for fourteen days with a nightly window, a limit by
// zone and approvals; with --drain each node has that many pods, some of them under budgets, which are drained. Prints
// one line of JSON: cpu_seconds is what to compare on a machine that does other things, too.
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

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

rusage used() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage;
}

double cpu_seconds() {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  const rusage usage = used();
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5000;
  const bool drain = argc > 2 && std::string_view(argv[2]) == "--drain";
  plan::Snapshot snapshot = plan::sample_snapshot(nodes);
  const int on_a_node = !drain ? 0 : argc > 3 ? std::atoi(argv[3]) : kPodsOnANode;
  const int workloads = nodes * on_a_node / kPodsOfAWorkload;
  for (int i = 0; i < workloads; ++i) {
    plan::add_workload(snapshot, fmt::format("app-{}", i), kPodsOfAWorkload, i % 3 == 0 ? 5 : 0, i * 17 % nodes);
  }
  const std::string config =
      plan::sample_config("night && in_zone && approved", kMore, 1, drain ? std::string_view("drain") : "");
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_before = cpu_seconds();
  auto planner = plan::Planner::make(std::move(snapshot), config, {});
  if (!planner) {
    fmt::print(stderr, "{}\n", planner.error().message);
    return 1;
  }
  double loaded = 0;
  (*planner)->advance([&] { return (*planner)->progress() > 0; });
  loaded = seconds_since(begin);
  (*planner)->advance();
  const plan::Plan plan = (*planner)->plan();
  fmt::print(
      R"({{"nodes": {}, "drain": {}, "pods": {}, "rows": {}, "stuck": {}, "left": {}, "at_once": {}, "loaded_in": {:.2f}, )"
      R"("seconds": {:.2f}, "cpu_seconds": {:.2f}, "peak_megabytes": {}}})"
      "\n",
      nodes, drain, workloads * kPodsOfAWorkload, plan.rows.size(), plan.stuck.size(), plan.left.size(), plan.at_once,
      loaded, seconds_since(begin), cpu_seconds() - cpu_before, used().ru_maxrss / 1024);
  return plan.complete ? 0 : 1;
}
