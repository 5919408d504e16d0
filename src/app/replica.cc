#include "app/replica.h"

#include <fmt/format.h>

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
      node_sink_(kube::make_sink(nodes_, atoms_)),
      pod_sink_(kube::make_sink(pods_)),
      node_reflector_(loop_, open_client_, metrics_, problems_, p.random, *node_sink_,
                      reflector_options(kube::resources::nodes), p.log.named("nodes")),
      pod_reflector_(loop_, open_client_, metrics_, problems_, p.random, *pod_sink_,
                     reflector_options(kube::resources::pods), p.log.named("pods")),
      election_(loop_, lease_client_, p.random, problems_, p.log.named("election"),
                {.ns = options_.ns, .name = kLock, .identity = identity_}),
      ledger_(loop_, client_, problems_, p.log.named("ledger"), metrics_, ledger_options()),
      events_(loop_, open_client_, metrics_, problems_, options_.host),
      controller_({loop_, client_, atoms_, nodes_, ledger_, events_, metrics_, problems_,
                   p.log.named("controllers.maintenance")},
                  options_.controller),
      config_(loop_, p.files, options_.config, std::move(p.environment), metrics_, problems_, p.log.named("config"),
              [this](std::shared_ptr<const profiles::Config> config) {
                controller_.set_config(std::move(config));
                if (on_config) on_config();
              }),
      stop_(loop_),
      scope_(loop_),
      leading_(loop_) {
  election_.report_to(metrics_);
  election_.on_event([this](std::string message) { record_election(std::move(message)); });
  if (options_.leader_election) client_.set_write_guard([this] { return election_.write_window(); });
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

Task<void> Replica::announce_synced() {
  co_await node_reflector_.synced_gate().wait();
  if (options_.cache_pods) co_await pod_reflector_.synced_gate().wait();
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
  } else {
    log_.warn(
        "leader election is off: limits hold within this process; a second one would not know of its admissions, "
        "nor would this one after a crash in the middle of a write");
    co_await node_reflector_.synced_gate().wait();
  }
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
  if (options_.cache_pods) scope_.spawn(pod_reflector_.run());
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
