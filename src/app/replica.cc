#include "app/replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "profiles/hypervisors.h"
#include "profiles/names.h"

namespace careen::app {

using io::Task;

namespace {

constexpr io::Duration kFinishWrites = io::seconds{15};
constexpr io::Duration kFlushEvents = io::seconds{3};

Task<void> wait_for(io::Gate& gate) { co_await gate.wait(); }
Task<bool> completed(Task<void> task) {
  co_await std::move(task);
  co_return true;
}

kube::ReflectorOptions reflector_options(const kube::Resource& resource) {
  kube::ReflectorOptions options;
  options.resource = resource;
  return options;
}

}  // namespace

Replica::Replica(ReplicaParts p, ReplicaOptions options)
    : loop_(p.loop),
      options_(std::move(options)),
      log_(p.log.named("setup")),
      problems_(p.log.named("problems")),
      identity_(fmt::format("{}_{}", options_.host, p.random.uuid())),
      client_(loop_, p.transport, metrics_, p.random),
      open_client_(loop_, p.transport, metrics_, p.random),
      lease_client_(loop_, p.lease_transport, metrics_, p.random),
      pods_(atoms_, profiles::prefers_operational()),
      node_sink_(kube::make_sink(nodes_, decoder_)),
      pod_sink_(kube::make_sink(pods_)),
      node_reflector_(loop_, open_client_, metrics_, problems_, p.random, *node_sink_,
                      reflector_options(kube::resources::nodes), p.log.named("nodes")),
      pod_reflector_(loop_, open_client_, metrics_, problems_, p.random, *pod_sink_,
                     reflector_options(kube::resources::pods), p.log.named("pods")),
      election_(loop_, lease_client_, p.random, problems_, p.log.named("election"),
                {.ns = options_.ns, .name = kLock, .identity = identity_}),
      ledger_(loop_, client_, problems_, p.log.named("ledger"), metrics_, ledger_options()),
      events_(loop_, open_client_, metrics_, problems_, options_.host),
      slack_threads_(loop_),
      outside_{loop_, p.http, p.mail, client_, slack_threads_},
      controller_({loop_, client_, atoms_, decoder_, nodes_, pods_, leases_, hypervisors_, ledger_, outside_, events_,
                   metrics_, problems_, p.random, p.log.named("controllers.maintenance")},
                  options_.controller),
      shuffles_(shuffle_parts()),
      config_(
          loop_, p.files, options_.config, std::move(p.environment), metrics_, problems_, p.log.named("config"),
          [this](std::shared_ptr<const profiles::Config> config) { take_config(std::move(config)); },
          options_.strict_config),
      random_(p.random),
      root_log_(p.log),
      stop_(loop_),
      scope_(loop_),
      leading_(loop_) {
  if (!options_.slack_api.empty()) outside_.slack_api = options_.slack_api;
  controller_.on_maintenance = [this](const kube::Node& node, const std::string& profile) {
    shuffles_.entered_maintenance(node.name, profile);
  };
  election_.report_to(metrics_);
  election_.on_event([this](std::string message) { record_election(std::move(message)); });
  if (options_.controller.dry_run) {
    client_.set_write_guard([] { return std::nullopt; });
  } else if (options_.leader_election) {
    client_.set_write_guard([this] { return election_.write_window(); });
  }
}

std::optional<budget::LedgerOptions> Replica::ledger_options() const {
  if (!options_.leader_election) return std::nullopt;
  return budget::LedgerOptions{.ns = options_.ns, .identity = identity_};
}

// As client-go records it, on the Lease.
void Replica::record_election(std::string message) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"coordination.k8s.io/v1", "Lease", options_.ns, kLock, election_.uid(), ""};
  event.reason = "LeaderElection";
  event.note = std::move(message);
  event.controller = identity_;
  events_.record(std::move(event));
}

profiles::ShuffleParts Replica::shuffle_parts() {
  const auto all_known = [this] {
    return workload_watches_.size() == kube::kWorkloadKinds.size() &&
           std::all_of(workload_watches_.begin(), workload_watches_.end(),
                       [](const WorkloadWatch& watch) { return watch.reflector->synced(); });
  };
  const auto processed = [this](const kube::Node& node) {
    const kube::Atom* label = node.label(profiles::kProfileLabel);
    auto names = profiles::profiles_of(label ? std::optional(label->view()) : std::nullopt);
    const profiles::Config* config = controller_.config();
    std::erase_if(names, [&](const std::string& name) { return !config || !config->find_profile(name); });
    return names;
  };
  return {loop_, metrics_, problems_, nodes_, pods_, workloads_, all_known, processed};
}

std::unique_ptr<kube::Reflector> Replica::make_reflector(kube::Sink& sink, kube::ReflectorOptions options) {
  const std::string name = options.name.empty() ? options.resource.plural : options.name;
  return std::make_unique<kube::Reflector>(loop_, open_client_, metrics_, problems_, random_, sink, std::move(options),
                                           root_log_.named(name));
}

// Starts to watch what the configuration needs; what no longer is needed goes on until the process ends.
void Replica::take_config(std::shared_ptr<const profiles::Config> config) {
  const profiles::Needs& needs = config->needs;
  for (const std::string& ns : needs.lease_namespaces) watch_leases(ns);
  if (needs.hypervisors) watch_hypervisors();
  if (needs.pods) watch_pods();
  if (decoder_.want(kube::NodeSections(needs.node_sections))) node_reflector_.request_relist();
  controller_.set_config(std::move(config));
  shuffles_.profiles_changed();
  if (on_config) on_config();
}

void Replica::watch_leases(const std::string& ns) {
  auto& watch = lease_watches_[ns];
  if (watch) return;
  watch = std::make_unique<LeaseWatch>();
  watch->sink = kube::make_sink(watch->store, atoms_);
  watch->store.subscribe([this](const kube::Lease* before, const kube::Lease* after) {
    if (after) {
      leases_.put(*after);
    } else {
      leases_.remove(before->key(), before->version);
    }
  });
  kube::ReflectorOptions options = reflector_options(kube::resources::leases);
  options.ns = ns;
  options.name = "leases of " + ns;
  watch->reflector = make_reflector(*watch->sink, std::move(options));
  scope_.spawn(watch->reflector->run());
  scope_.spawn(tell_when_known(*watch->reflector, [this, ns] { controller_.leases_known(ns); }));
}

void Replica::watch_hypervisors() {
  if (hypervisor_reflector_) return;
  hypervisor_sink_ = kube::make_sink(hypervisors_, [](kube::RawObject& raw) { return kube::decode_object(raw); });
  hypervisor_reflector_ = make_reflector(*hypervisor_sink_, reflector_options(profiles::kHypervisorResource));
  scope_.spawn(hypervisor_reflector_->run());
  scope_.spawn(tell_when_known(*hypervisor_reflector_, [this] { controller_.hypervisors_known(); }));
}

void Replica::watch_pods() {
  if (std::exchange(pods_watched_, true)) return;
  scope_.spawn(pod_reflector_.run());
  scope_.spawn(tell_when_known(pod_reflector_, [this] { controller_.pods_known(); }));
}

// For the shuffle metrics only, so nothing waits for them.
void Replica::watch_workloads() {
  for (const kube::WorkloadKind kind : kube::kWorkloadKinds) {
    WorkloadWatch watch;
    watch.sink = kube::make_sink(workloads_, kind, atoms_);
    watch.reflector = make_reflector(*watch.sink, reflector_options(kube::resource_of(kind)));
    scope_.spawn(watch.reflector->run());
    workload_watches_.push_back(std::move(watch));
  }
}

Task<void> Replica::tell_when_known(kube::Reflector& reflector, std::function<void()> tell) {
  co_await reflector.synced_gate().wait();
  tell();
}

Task<void> Replica::announce_synced() {
  co_await node_reflector_.synced_gate().wait();
  log_.info("nodes are known", "count", nodes_.size());
  if (on_synced) on_synced();
}

// Decides and writes, under the lock if there is one.
Task<void> Replica::lead() {
  if (options_.leader_election) {
    co_await election_.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", options_.ns, kLock), "identity", identity_);
    // First the ledger, then the nodes: what a predecessor admitted is either in one or in the other.
    co_await ledger_.take_over();
    co_await node_reflector_.refresh();
    leading_.spawn(ledger_.run());
  } else if (options_.controller.dry_run) {
    log_.info("dry run: nothing is written and nothing is sent");
    co_await node_reflector_.synced_gate().wait();
  } else {
    log_.warn(
        "leader election is off: limits hold within this process; a second one would not know of its admissions, "
        "nor would this one after a crash in the middle of a write");
    co_await node_reflector_.synced_gate().wait();
  }
  if (options_.cache_pods) shuffles_.begin();
  co_await controller_.run();
}

// Returns when this process must not go on.
Task<void> Replica::until_lost() {
  if (!options_.leader_election) {
    co_await ledger_.fenced_gate().wait();
    co_return;
  }
  co_await io::race(loop_, election_.run(), wait_for(ledger_.fenced_gate()));
}

Task<int> Replica::main() {
  scope_.spawn(node_reflector_.run());
  if (options_.cache_pods) {
    watch_pods();
    watch_workloads();
  }
  scope_.spawn(events_.run());
  scope_.spawn(announce_synced());
  config_.start();
  leading_.spawn(lead());
  const int ended = co_await io::race(loop_, wait_for(stop_), until_lost());
  if (ended == 1) {
    log_.error("leadership is lost; this process ends so that it starts afresh as a follower");
    co_return 1;
  }
  log_.info("stopping");
  co_await wind_down();
  co_return 0;
}

Task<void> Replica::wind_down() {
  co_await io::with_timeout(loop_, kFinishWrites, completed(controller_.stop()));
  leading_.cancel();
  if (options_.leader_election) co_await election_.release();
  co_await events_.flush(kFlushEvents);
}

}  // namespace careen::app
