#include "replica/replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "drain/pod_request.h"
#include "io/clock_steps.h"
#include "io/loop.h"
#include "io/random.h"
#include "nodemaintenance/names.h"
#include "nodemaintenance/webhooks.h"
#include "profiles/fleet.h"
#include "profiles/names.h"
#include "profiles/pod_events.h"
#include "replica/replica_core.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr io::Duration kFinishWrites = io::seconds{15};
constexpr io::Duration kFlushEvents = io::seconds{3};

Task<void> race_both(io::Loop& loop, Task<void> first, Task<void> second) {
  co_await io::race(loop, std::move(first), std::move(second));
}

}  // namespace

Replica::Replica(ReplicaParts parts, ReplicaOptions options)
    : core_(std::make_unique<Core>(*this, std::move(parts), std::move(options))) {}
Replica::~Replica() = default;

void Replica::listen(ReplicaListener listener) { core_->listen(std::move(listener)); }
Task<int> Replica::main() { return core_->main(); }
void Replica::stop() { core_->stop(); }

io::Metrics& Replica::metrics() { return core_->metrics_; }
io::Problems& Replica::problems() { return core_->problems_; }
const std::string& Replica::identity() const { return core_->identity_; }
const kube::Election& Replica::election() const { return core_->election_; }
const budget::Ledger& Replica::ledger() const { return core_->ledger_; }
const kube::Store<kube::Node>& Replica::nodes() const { return core_->nodes_; }
const profiles::Controller& Replica::controller() const { return core_->controller_; }
const nodemaintenance::Controller& Replica::maintenances() const { return core_->maintenance_; }
const drain::Engine& Replica::drains() const { return core_->engine_; }
const budget::Pauses& Replica::pauses() const { return core_->pause_watch_.pauses(); }
const kube::Store<kube::Object>* Replica::known_maintenances() const {
  return core_->options_.maintenances ? &core_->maintenances_ : nullptr;
}
kube::Client& Replica::reader() { return core_->open_client_; }
std::vector<web::Route> Replica::webhooks(io::Log log) {
  const web::WebhookParts parts{core_->loop_, core_->open_client_, core_->metrics_, std::move(log)};
  return nodemaintenance::webhooks(parts, core_->options_.maintenance);
}
io::Wall Replica::now() const { return core_->loop_.wall_now(); }
io::Loop& Replica::loop() { return core_->loop_; }
const ReplicaOptions& Replica::options() const { return core_->options_; }
const kube::Store<kube::DisruptionBudget>& Replica::disruption_budgets() const { return core_->budgets_; }
bool Replica::running() const { return core_->options_.profiles ? core_->controller_.running() : core_->maintaining_; }

Replica::Core::Core(const Replica& replica, ReplicaParts p, ReplicaOptions options)
    : replica_(replica),
      loop_(p.loop),
      options_(std::move(options)),
      log_(p.log.named("setup")),
      problems_(p.log.named("problems")),
      identity_(fmt::format("{}_{}", options_.host, options_.instance.empty() ? p.random.uuid() : options_.instance)),
      client_(loop_, p.transport, metrics_, p.random),
      maintenance_client_(loop_, p.transport, metrics_, p.random),
      open_client_(loop_, p.transport, metrics_, p.random),
      lease_client_(loop_, p.lease_transport, metrics_, p.random),
      pods_(atoms_, profiles::prefers_operational()),
      node_sink_(kube::make_sink(nodes_, decoder_)),
      pod_sink_(kube::make_sink(pods_)),
      node_reflector_(loop_, open_client_, metrics_, problems_, p.random, *node_sink_,
                      {.resource = kube::resources::nodes}, p.log.named("nodes")),
      pod_reflector_(loop_, open_client_, metrics_, problems_, p.random, *pod_sink_,
                     {.resource = kube::resources::pods}, p.log.named("pods")),
      election_(loop_, lease_client_, p.random, problems_, p.log.named("election"),
                {.ns = options_.ns, .name = lock(), .identity = identity_}),
      maintenance_election_(further_lock(p)),
      ledger_(loop_, client_, problems_, p.log.named("ledger"), metrics_, ledger_options()),
      events_(loop_, open_client_, metrics_, problems_, options_.host),
      pause_watch_({loop_, open_client_, atoms_, metrics_, problems_, p.random, events_, p.log.named("pause")},
                   {.ns = options_.ns, .identity = identity_},
                   [this] { return !options_.controller.dry_run && controls(); }),
      slack_threads_(loop_),
      outside_{loop_, p.http, p.mail, client_, slack_threads_},
      engine_({loop_, client_, pods_, budgets_,
               [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); }, &events_, metrics_,
               problems_, p.log.named("drain"), &pause_watch_.pauses(), &nodes_},
              {.dry_run = options_.controller.dry_run,
               .own_namespace = options_.own_pod.empty() ? "" : options_.ns,
               .own_pod = options_.own_pod}),
      controller_(
          {loop_, client_, atoms_, decoder_, nodes_, pods_, leases_, hypervisors_, ledger_, outside_, events_, metrics_,
           problems_, p.random, p.log.named("controllers.maintenance"), &engine_, &pause_watch_.pauses()},
          options_.controller),
      maintenance_(
          {loop_, maintenance_client_, atoms_, decoder_, maintenances_, nodes_, pods_, leases_, engine_, events_,
           metrics_, problems_, p.random, p.log.named("controllers.NodeMaintenance"), &pause_watch_.pauses(),
           [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); }},
          options_.maintenance),
      shuffles_(shuffle_parts()),
      config_(
          loop_, p.files, options_.config, std::move(p.environment), metrics_, problems_, p.log.named("config"),
          [this](std::shared_ptr<const profiles::Config> config) { take_config(std::move(config)); },
          options_.strict_config, options_.adjust_config),
      random_(p.random),
      root_log_(p.log),
      stop_(loop_),
      scope_(loop_),
      leading_(loop_) {
  if (!options_.slack_api.empty()) outside_.slack_api = options_.slack_api;
  controller_.on_maintenance = [this](const kube::Node& node, const std::string& profile) {
    shuffles_.entered_maintenance(node.name, profile);
  };
  engine_.on_request = [this](const drain::PodRequest& request) {
    if (!profiles::is_of_profile(request)) return false;
    if (options_.controller.pod_events) events_.record(profiles::pod_event(request, nodes_.find(request.node)));
    return true;
  };
  // Whoever takes over makes our pod anew elsewhere: the sooner we let go, the shorter nobody leads.
  engine_.on_own_eviction = [this] { stop(); };
  for (kube::Election* election : {&election_, maintenance_election_.get()}) {
    if (!election) continue;
    const std::string name = election == &election_ ? lock() : std::string(nodemaintenance::kLock);
    election->report_to(metrics_);
    election->on_event(
        [this, election, name](std::string message) { record_election(*election, name, std::move(message)); });
  }
  if (options_.controller.dry_run) {
    client_.set_write_guard([] { return std::nullopt; });
    maintenance_client_.set_write_guard([] { return std::nullopt; });
  } else if (options_.leader_election) {
    client_.set_write_guard([this] { return election_.write_window(); });
    maintenance_client_.set_write_guard([this] { return maintenance_window(); });
  }
}

std::string Replica::Core::lock() const { return options_.profiles ? kLock : std::string(nodemaintenance::kLock); }

std::unique_ptr<kube::Election> Replica::Core::further_lock(ReplicaParts& p) {
  if (!options_.profiles || !options_.maintenances) return nullptr;
  return std::make_unique<kube::Election>(
      loop_, lease_client_, p.random, problems_, p.log.named("election"),
      kube::ElectionOptions{.ns = options_.ns,
                            .name = std::string(nodemaintenance::kLock),
                            .identity = identity_,
                            .problem = "leader election for NodeMaintenance objects"});
}

std::optional<io::Duration> Replica::Core::maintenance_window() const {
  const auto first = election_.write_window();
  if (!maintenance_election_ || !first) return first;
  const auto further = maintenance_election_->write_window();
  if (!further) return further;
  return std::min(*first, *further);
}

std::optional<budget::LedgerOptions> Replica::Core::ledger_options() const {
  if (!options_.leader_election) return std::nullopt;
  return budget::LedgerOptions{.ns = options_.ns, .identity = identity_};
}

// As client-go records it, on the Lease.
void Replica::Core::record_election(const kube::Election& election, std::string name, std::string message) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = {"coordination.k8s.io/v1", "Lease", options_.ns, std::move(name), election.uid(), ""};
  event.reason = "LeaderElection";
  event.note = std::move(message);
  event.controller = identity_;
  events_.record(std::move(event));
}

Task<void> Replica::Core::announce_synced() {
  co_await node_reflector_.synced_gate().wait();
  log_.info("nodes are known", "count", nodes_.size());
  if (maintenance_reflector_) {
    co_await maintenance_reflector_->synced_gate().wait();
    log_.info("node maintenances are known", "count", maintenances_.size());
  }
  if (replica_.on_synced) replica_.on_synced();
}

// Decides and writes, under the lock if there is one.
Task<void> Replica::Core::lead() {
  if (options_.leader_election) {
    co_await election_.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", options_.ns, lock()), "identity", identity_);
    // First the ledger, then the nodes: what a predecessor admitted is either in one or in the other.
    if (options_.profiles) co_await ledger_.take_over();
    co_await node_reflector_.refresh();
    if (options_.profiles) leading_.spawn(ledger_.run());
  } else if (options_.controller.dry_run) {
    log_.info("dry run: nothing is written and nothing is sent");
    co_await node_reflector_.synced_gate().wait();
  } else {
    if (options_.profiles) {
      log_.warn(
          "leader election is off: limits hold within this process; a second one would not know of its admissions, "
          "nor would this one after a crash in the middle of a write");
    }
    co_await node_reflector_.synced_gate().wait();
  }
  // Not before it is known what is paused, as of now.
  co_await pause_watch_.fresh();
  leading_.spawn(engine_.run());
  if (options_.maintenances) leading_.spawn(lead_maintenances());
  if (!options_.profiles) co_return;
  if (options_.cache_pods) shuffles_.begin();
  co_await controller_.run();
}

bool Replica::Core::controls() const { return !options_.leader_election || election_.leading(); }

Task<void> Replica::Core::lead_maintenances() {
  if (maintenance_election_ && options_.leader_election) {
    co_await maintenance_election_->leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", options_.ns, nodemaintenance::kLock));
  }
  co_await maintenance_reflector_->refresh();
  maintaining_ = true;
  co_await maintenance_.run();
}

// Only while the first is held: then no two replicas hold one each and wait for the other for ever.
Task<void> Replica::Core::hold_further_lock() {
  co_await election_.leading_gate().wait();
  co_await maintenance_election_->run();
}

// Returns when this process must not go on.
Task<void> Replica::Core::until_lost() {
  if (!options_.leader_election) {
    co_await ledger_.fenced_gate().wait();
    co_return;
  }
  Task<void> lost = race_both(loop_, election_.run(), io::wait_for(ledger_.fenced_gate()));
  if (!maintenance_election_) {
    co_await std::move(lost);
    co_return;
  }
  co_await io::race(loop_, std::move(lost), hold_further_lock());
}

Task<int> Replica::Core::main() {
  scope_.spawn(node_reflector_.run());
  scope_.spawn(pause_watch_.run());
  scope_.spawn(io::follow_clock(loop_, [this](io::Duration by) { clock_stepped(by); }));
  if (options_.profiles && options_.cache_pods) {
    watch_pods();
    for (const kube::WorkloadKind kind : kube::kWorkloadKinds) watch_workload(kind);
  }
  if (options_.maintenances) watch_maintenances();
  scope_.spawn(events_.run());
  scope_.spawn(announce_synced());
  if (options_.profiles) config_.start();
  leading_.spawn(lead());
  const int ended = co_await io::race(loop_, io::wait_for(stop_), until_lost());
  if (ended == 1) {
    log_.error("leadership is lost; this process ends so that it starts afresh as a follower");
    co_return 1;
  }
  log_.info("stopping");
  co_await wind_down();
  co_return 0;
}

// Whatever waits for a time of day has set its timer by the old clock, and what was noted by it is not what it says.
void Replica::Core::clock_stepped(io::Duration by) {
  log_.warn("the clock was set, or the machine has slept: everything is decided anew", "by", io::format_duration(by));
  controller_.clock_stepped();
  maintenance_.clock_stepped(by);
}

Task<void> Replica::Core::wind_down() {
  co_await io::with_timeout(loop_, kFinishWrites, io::completed(stop_controllers()));
  leading_.cancel();
  if (options_.leader_election) {
    if (maintenance_election_) co_await maintenance_election_->release();
    co_await election_.release();
  }
  co_await events_.flush(kFlushEvents);
}

Task<void> Replica::Core::stop_controllers() {
  if (options_.maintenances) co_await maintenance_.stop();
  co_await engine_.stop();
  co_await controller_.stop();
}

}  // namespace careen::replica
