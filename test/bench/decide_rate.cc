// How many nodes a core decides on in a second: the usual case, a node that wants maintenance and has to wait for its
// turn under a chain of ten checks. Nothing is sent, nobody is asked, and no reasons are put into words. Prints one
// line of JSON; the time is the CPU time of the process, so that a busy machine counts less.
//
//   decide_rate [NODES [SECONDS]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "budget/ledger.h"
#include "budget/occupancy.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/profile_states.h"
#include "controllers/profiles/stagger_leases.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/virtual_time.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"
#include "observe/prometheus_observations.h"
#include "sim/outside.h"
#include "sim/test_api.h"

namespace {

using namespace careen;

// Each zone has its one place taken, and so are both leases: every node that asks has to wait, and learns for what.
constexpr const char* kConfig = R"(
intervals: {requeue: 60s}
instances:
  check:
  - {name: approved, type: hasAnnotation, config: {key: example.net/approved, value: "true"}}
  - {name: wanted, type: hasLabel, config: {key: example.net/update, value: wanted}}
  - {name: ready, type: condition, config: {type: Ready, status: "True"}}
  - {name: halted, type: anyLabel, config: {key: example.net/halt}}
  - {name: enough, type: nodeCount, config: {count: 10}}
  - name: weekday
    type: timeWindow
    config: {start: "00:01", end: "23:59", weekdays: [mon, tue, wed, thu, fri, sat, sun]}
  - {name: settled, type: wait, config: {duration: 10m}}
  - {name: one_per_zone, type: maxMaintenance, config: {max: 1, groupBy: [topology.kubernetes.io/zone]}}
  - {name: spaced, type: stagger, config: {duration: 10m, leaseName: turn, leaseNamespace: bench, parallel: 2}}
  - {name: polite, type: affinity, config: {minOperational: 2}}
profiles:
- name: update
  maintenance-required:
    transitions:
    - check: approved && wanted && ready && !halted && enough && weekday && settled && one_per_zone && spaced && polite
      next: in-maintenance
)";
constexpr size_t kZones = 3;
constexpr int kMaintained = static_cast<int>(kZones);  // one a zone

double cpu_seconds() {
  timespec spent{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

profiles::Config load() {
  auto config = profiles::load_config(kConfig, "bench.yaml", profiles::all_plugins(),
                                      [](std::string_view) { return std::optional<std::string>(); });
  if (config) return std::move(*config);
  for (const config::ConfigError& error : config.error()) std::fprintf(stderr, "%s\n", error.to_text().c_str());
  std::exit(1);
}

// A cluster at a moment at which its nodes wait.
class Waiting {
 public:
  explicit Waiting(int count) {
    for (int i = 0; i < count; ++i) add_node(i);
    pods_.begin_list();
    pods_.end_list(1);
    for (int i = 0; i < 2; ++i) add_lease(i);
    leases_known_.set_known("bench");
    states_.set_config(config_);
    occupancy_.rebuild();
  }

  const std::vector<std::string>& names() const { return names_; }
  profiles::Decision decide(std::string_view name, profiles::Detail detail) const {
    return profiles::decide({nodes_, config_, facts_, deliveries_}, name, now_, detail);
  }

 private:
  // As large as those of a cloud: labels, annotations and conditions that nobody here asks for are looked through too.
  void add_node(int i) {
    const auto state = i < kMaintained ? profiles::State::in_maintenance : profiles::State::maintenance_required;
    const std::string name = fmt::format("node-{:05}.compute.example.net", i);
    profiles::NodeData data;
    data.profiles.emplace("update", profiles::ProfileData{now_ - io::hours{1}, state, state});
    kube::Json node = kube::Json::object({{"kind", "Node"}, {"apiVersion", "v1"}});
    node.set({"metadata", "name"}, name).set({"metadata", "uid"}, fmt::format("00000000-0000-4000-8000-{:012}", i));
    node.set({"metadata", "resourceVersion"}, std::to_string(100 + i));
    const auto label = [&](std::string_view key, std::string_view value) {
      node.set({"metadata", "labels", key}, value);
    };
    label("beta.kubernetes.io/arch", "amd64");
    label("kubernetes.io/arch", "amd64");
    label("kubernetes.io/hostname", name);
    label("kubernetes.io/os", "linux");
    label("node.kubernetes.io/instance-type", "m1.large");
    label("node.kubernetes.io/pool", fmt::format("pool-{}", i % 7));
    label("topology.kubernetes.io/region", "region-1");
    label("topology.kubernetes.io/zone", fmt::format("zone-{}", static_cast<size_t>(i) % kZones));
    label("example.net/update", "wanted");
    label(profiles::kProfileLabel, "update");
    label(profiles::kStateLabel, profiles::name_of(state));
    const auto annotate = [&](std::string_view key, std::string_view value) {
      node.set({"metadata", "annotations", key}, value);
    };
    annotate("csi.volume.kubernetes.io/nodeid", R"({"cinder.csi.openstack.org":"0123"})");
    annotate("node.alpha.kubernetes.io/ttl", "0");
    annotate("volumes.kubernetes.io/controller-managed-attach-detach", "true");
    annotate("example.net/approved", "true");
    annotate(profiles::kDataAnnotation, profiles::format_node_data(data));
    kube::Json conditions = kube::Json::array();
    for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"}) {
      conditions.push_back(kube::Json::object({{"type", type}, {"status", "False"}}));
    }
    conditions.push_back(kube::Json::object({{"type", "Ready"}, {"status", "True"}}));
    node.set({"status", "conditions"}, std::move(conditions));
    nodes_.put(*kube::decode_node(node.dump(), atoms_));
    if (i >= kMaintained) names_.push_back(name);
  }

  void add_lease(int i) {
    kube::Lease lease;
    lease.ns = "bench";
    lease.name = fmt::format("turn-{}", i);
    lease.uid = lease.name;
    lease.version = static_cast<uint64_t>(10 + i);
    lease.holder = "somebody";
    lease.acquired = lease.renewed = now_ - io::minutes{1};
    lease.duration_seconds = 600;
    leases_.put(std::move(lease));
  }

  io::VirtualTime time_;
  std::unique_ptr<io::Loop> loop_ = time_.make_loop();
  io::Wall now_ = *io::parse_rfc3339("2026-11-16T12:00:00Z");
  io::Metrics metrics_;
  io::Random random_{1};
  io::Problems problems_{io::Log{}};
  sim::TestApi api_{*loop_};
  std::unique_ptr<kube::Transport> transport_ = api_.connect(*loop_);
  kube::Client client_{*loop_, *transport_, metrics_, random_};
  kube::AtomPool atoms_;
  kube::Store<kube::Node> nodes_;
  budget::Ledger ledger_{*loop_, client_, problems_, io::Log{}, metrics_, std::nullopt};
  kube::PodStore pods_{atoms_, profiles::prefers_operational()};
  kube::Store<kube::Lease> leases_;
  kube::Store<kube::Object> hypervisor_objects_;
  sim::Outside outside_{*loop_};
  std::unique_ptr<io::HttpClient> http_ = outside_.connect(*loop_);
  profiles::Config config_ = load();
  budget::Topics topics_;
  profiles::ProfileStates states_;
  budget::Occupancy occupancy_{nodes_, ledger_, states_};
  profiles::Fleet fleet_{nodes_, pods_, topics_};
  profiles::StaggerLeases leases_known_{leases_, topics_};
  profiles::Hypervisors hypervisors_{hypervisor_objects_};
  observe::PrometheusObservations observations_{*loop_, *http_, metrics_, {}, [](const observe::PrometheusQuery&) {}};
  profiles::Facts facts_{occupancy_, fleet_, leases_known_, hypervisors_, observations_, topics_};
  profiles::Deliveries deliveries_;
  std::vector<std::string> names_;
};

// Decisions a second of CPU time.
struct Rate {
  double all = 0;
  double fastest_pass = 0;  // over all nodes: what others on the machine have disturbed least
};

// Passes over all nodes until so much CPU time is spent.
Rate measure(const Waiting& cluster, profiles::Detail detail, double seconds) {
  const double count = static_cast<double>(cluster.names().size());
  size_t passes = 0, wrong = 0;
  double spent = 0;
  Rate rate;
  while (spent < seconds) {
    const double begun = cpu_seconds();
    for (const std::string& name : cluster.names()) {
      const profiles::Decision decision = cluster.decide(name, detail);
      // It waits for a place in its zone and for a lease, both at once, and nothing is to be written.
      wrong += decision.effects.patch || decision.failing() || decision.waits.places.size() != 2 ||
               decision.waits.topics.empty();
    }
    const double pass = cpu_seconds() - begun;
    spent += pass;
    ++passes;
    rate.fastest_pass = std::max(rate.fastest_pass, count / pass);
  }
  if (wrong > 0) {
    std::fprintf(stderr, "decide_rate: %zu decisions do not wait as they should:\n%s", wrong,
                 to_text(cluster.decide(cluster.names().front(), profiles::Detail::reasons).why).c_str());
    std::exit(1);
  }
  rate.all = static_cast<double>(passes) * count / spent;
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  const int nodes = argc > 1 ? std::atoi(argv[1]) : 5'000;
  const double seconds = argc > 2 ? std::atof(argv[2]) : 3;
  const Waiting cluster(nodes);
  measure(cluster, profiles::Detail::verdicts, 0.1);  // what is counted at its first use is counted now
  const Rate verdicts = measure(cluster, profiles::Detail::verdicts, seconds);
  const Rate reasons = measure(cluster, profiles::Detail::reasons, seconds / 3);
  fmt::print(R"({{"nodes": {}, "checks": 10, "verdicts_per_second": {:.0f}, "verdicts_in_fastest_pass": {:.0f}, )"
             R"("reasons_per_second": {:.0f}}})"
             "\n",
             nodes, verdicts.all, verdicts.fastest_pass, reasons.all);
  return 0;
}
