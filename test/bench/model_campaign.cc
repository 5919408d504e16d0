// A campaign on the model cluster in virtual time: every node goes through one round (required, in maintenance for two
// minutes, operational again), at most one percent at once. Careen and the model run in this process. Prints one line
// of JSON.
//
//   model_campaign [NODES [--leader-election]]
#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "io/metrics.h"
#include "replica/model_process.h"
#include "sim/api_server.h"
#include "sim/cluster.h"
#include "sim/kubelets.h"
#include "sim/object_store.h"
#include "sim/value.h"

namespace {

using namespace careen;

constexpr const char* kConfig = R"(
intervals: {{requeue: 60s}}
instances:
  check:
  - {{name: wanted, type: hasLabel, config: {{key: example.net/update, value: wanted}}}}
  - {{name: long_enough, type: wait, config: {{duration: 2m}}}}
  - {{name: one_percent, type: maxMaintenance, config: {{max: {}}}}}
  trigger:
  - {{name: finish, type: alterLabel, config: {{key: example.net/update, value: done}}}}
profiles:
- name: update
  operational: {{transitions: [{{check: wanted, next: maintenance-required}}]}}
  maintenance-required: {{transitions: [{{check: one_percent, next: in-maintenance}}]}}
  in-maintenance: {{transitions: [{{check: long_enough, next: operational, trigger: finish}}]}}
)";

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

long peak_kilobytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class Campaign {
 public:
  Campaign(int nodes, bool leader_election) : nodes_(nodes), leader_election_(leader_election) {
    cluster_.api.observe([this](const sim::Change& change) { follow(change); });
    sim::Kubelets::Machine machine = sim::Kubelets::usual_machine();
    machine.ready_after = {};
    for (int i = 0; i < nodes; ++i) {
      cluster_.kubelets.add(fmt::format("node-{:06}", i),
                            {{"cloud.sap/maintenance-profile", "update"},
                             {"example.net/update", "wanted"},
                             {"topology.kubernetes.io/zone", fmt::format("zone-{}", static_cast<char>('a' + i % 3))}},
                            {}, machine);
    }
  }

  int run() {
    const double made = since(wall_);
    const auto wall = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    const io::Steady begun = time_.now();
    replica::ModelProcess careen(time_, cluster_, fmt::format(kConfig, std::max(1, nodes_ / 100)),
                                 {.leader_election = leader_election_});
    const bool done = time_.run_until([&] { return done_ == nodes_; }, io::hours{24 * 30});
    const double took = since(wall);
    const double hours = io::to_seconds(time_.now() - begun) / 3600;
    fmt::print(
        R"({{"nodes": {}, "through": {}, "most_at_once": {}, "virtual_hours": {:.2f}, "cluster_made_in": {:.2f}, "seconds": {:.2f}, )"
        R"("cpu_seconds": {:.2f}, "node_hours_per_second": {:.0f}, "peak_megabytes": {:.0f}, "node_writes": {}, )"
        R"("late": {}}})"
        "\n",
        nodes_, done_, most_, hours, made, took, cpu_seconds() - cpu, nodes_ * hours / took,
        static_cast<double>(peak_kilobytes()) / 1024, cluster_.api.count("PATCH nodes changed"),
        careen.replica().metrics().counter("careen_sweep_late_total", "").value());
    return done ? 0 : 1;
  }

 private:
  static double since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  // Counts by the text alone: parsing each change would take as long as the campaign.
  void follow(const sim::Change& change) {
    if (change.collection != "/api/v1/nodes") return;
    const auto has = [](const sim::Text& text, std::string_view what) {
      return text && sim::find_text(*text, what) != std::string::npos;
    };
    constexpr std::string_view kIn = R"("cloud.sap/maintenance-state":"in-maintenance")";
    constexpr std::string_view kDone = R"("example.net/update":"done")";
    in_ += has(change.object, kIn) - has(change.before, kIn);
    done_ += has(change.object, kDone) - has(change.before, kDone);
    most_ = std::max(most_, in_);
  }

  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  int nodes_;
  bool leader_election_;
  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  sim::Cluster cluster_{*loop_};
  int in_ = 0;
  int done_ = 0;
  int most_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const bool leader_election = argc > 2 && std::string_view(argv[2]) == "--leader-election";
  return Campaign(nodes, leader_election).run();
}
