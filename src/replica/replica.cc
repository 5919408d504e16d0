#include "replica/replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/pod_events.h"
#include "controllers/slot/kind.h"
#include "drain/pod_request.h"
#include "io/clock_steps.h"
#include "io/loop.h"
#include "io/random.h"
#include "kube/election.h"
#include "replica/replica_core.h"
#include "web/admission.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr io::Duration kFinishWrites = io::seconds{15};
constexpr io::Duration kFlushEvents = io::seconds{3};

io::Result<kube::Object> as_object(kube::RawObject& raw) { return kube::decode_object(raw); }
io::Result<kube::DisruptionBudget> as_budget(kube::RawObject& raw) { return kube::decode_disruption_budget(raw); }

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
const kube::Lock& Replica::election() const { return core_->lock_; }
const budget::Ledger& Replica::ledger() const { return core_->ledger_; }
const kube::Store<kube::Node>& Replica::nodes() const { return core_->nodes_.store(); }
const profiles::Controller& Replica::controller() const { return core_->controller_; }
const std::vector<HostedController>& Replica::hosted() const { return core_->hosted_; }
const drain::Engine& Replica::drains() const { return core_->engine_; }
const budget::Pauses& Replica::pauses() const { return core_->pause_watch_.pauses(); }
kube::Client& Replica::reader() { return core_->cluster_.client(); }
std::vector<web::Route> Replica::webhooks(io::Log log) {
  const web::WebhookParts parts{core_->loop_, core_->cluster_.client(), core_->metrics_, std::move(log)};
  std::vector<web::Route> all;
  for (const auto& choice : core_->options_.webhooks) {
    for (web::Route& route : choice->webhooks(parts)) all.push_back(std::move(route));
  }
  return all;
}
io::Wall Replica::now() const { return core_->loop_.wall_now(); }
io::Loop& Replica::loop() { return core_->loop_; }
const ReplicaOptions& Replica::options() const { return core_->options_; }
const kube::Store<kube::DisruptionBudget>& Replica::disruption_budgets() const { return core_->budgets_.store(); }
bool Replica::running() const {
  if (core_->options_.profiles) return core_->controller_.running();
  return std::all_of(core_->hosted_.begin(), core_->hosted_.end(),
                     [](const HostedController& one) { return one.controller.running(); });
}

Replica::Core::Core(const Replica& replica, ReplicaParts p, ReplicaOptions options)
    : replica_(replica),
      loop_(p.loop),
      options_(std::move(options)),
      log_(p.log.named("setup")),
      problems_(p.log.named("problems")),
      identity_(fmt::format("{}_{}", options_.host, options_.instance.empty() ? p.random.uuid() : options_.instance)),
      cluster_({loop_, p.random, metrics_, problems_, p.log}, {}, std::move(p.access), std::move(p.connect)),
      client_(cluster_.make_client()),
      lease_client_(cluster_.make_lease_client()),
      nodes_(cluster_.watched<kube::Node>({.resource = kube::resources::nodes}, cluster_.node_decoder())),
      pods_(cluster_.atoms(), profiles::prefers_operational()),
      pod_watch_(cluster_.watch_parts("pods"), {.resource = kube::resources::pods}, kube::make_sink(pods_)),
      hypervisors_(cluster_.watched<kube::Object>({.resource = profiles::kHypervisorResource}, as_object)),
      budgets_(cluster_.watched<kube::DisruptionBudget>({.resource = kube::resources::disruption_budgets}, as_budget)),
      locks_(loop_),
      lock_(add_lock(p, first_lock(), "leader election")),
      ledger_(loop_, *client_, problems_, p.log.named("ledger"), metrics_, ledger_options()),
      events_(loop_, cluster_.client(), metrics_, problems_, options_.host),
      pause_watch_({cluster_, events_, p.log.named("pause")}, {.ns = options_.ns, .identity = identity_},
                   [this] { return !options_.controller.dry_run && controls(); }),
      slack_threads_(loop_),
      outside_{loop_, p.http, p.mail, *client_, slack_threads_},
      engine_({loop_, *client_, pods_, budgets_.store(),
               [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); }, &events_, metrics_,
               problems_, p.log.named("drain"), &pause_watch_.pauses(), &nodes_.store()},
              {.dry_run = options_.controller.dry_run,
               .own_namespace = options_.own_pod.empty() ? "" : options_.ns,
               .own_pod = options_.own_pod}),
      node_lanes_(std::make_shared<kube::WriteLanes>(loop_)),
      controller_({loop_, *client_, cluster_.atoms(), cluster_.node_decoder(), nodes_.store(), pods_, leases_,
                   hypervisors_.store(), ledger_, outside_, events_, metrics_, problems_, p.random,
                   p.log.named("controllers.maintenance"), &engine_, &pause_watch_.pauses(), node_lanes_},
                  options_.controller),
      watches_for_controllers_(*this),
      shuffles_(shuffle_parts()),
      config_(
          loop_, p.files, options_.config, std::move(p.environment), metrics_, problems_, p.log.named("config"),
          [this](std::shared_ptr<const profiles::Config> config) { take_config(std::move(config)); },
          options_.strict_config, options_.adjust_config),
      stop_(loop_),
      scope_(loop_),
      leading_(loop_) {
  if (!options_.slack_api.empty()) outside_.slack_api = options_.slack_api;
  controller_.on_maintenance = [this](const kube::Node& node, const std::string& profile) {
    shuffles_.entered_maintenance(node.name, profile);
  };
  engine_.on_request = [this](const drain::PodRequest& request) {
    if (!profiles::is_of_profile(request)) return false;
    if (options_.controller.pod_events) events_.record(profiles::pod_event(request, nodes_.store().find(request.node)));
    return true;
  };
  // Our pod will be created again elsewhere: the sooner we let go, the shorter the time without a leader.
  engine_.on_own_eviction = [this] { stop(); };
  for (const auto& choice : options_.controllers) host(p, *choice);
  for (const auto& lock : locks_) {
    lock->report_to(metrics_);
    lock->on_event([this, &lock = *lock](std::string message) { record_election(lock, std::move(message)); });
  }
  guard_writes();
  tell_when_known();
}

void Replica::Core::guard_writes() {
  const auto guard = [this](kube::Client& client, const kube::Lock& lock) {
    if (options_.controller.dry_run) {
      client.set_write_guard([] { return std::nullopt; });
    } else if (options_.leader_election) {
      client.set_write_guard([this, &lock] { return locks_.write_window(lock); });
    }
  };
  guard(*client_, lock_);
  for (const auto& one : hosting_) guard(*one->client, one->lock);
}

std::string Replica::Core::first_lock() const {
  if (options_.profiles || options_.controllers.empty()) return kLock;
  return std::string(options_.controllers.front()->kind().lock);
}

void Replica::Core::host(const ReplicaParts& p, const controllers::Choice& choice) {
  const controllers::Kind& kind = choice.kind();
  const bool first = !options_.profiles && hosting_.empty();
  kube::Lock& lock =
      first ? lock_
            : add_lock(p, std::string(kind.lock), fmt::format("leader election for {} objects", kind.object.kind));
  auto client = cluster_.make_client();
  auto controller = choice.make({loop_, *client, cluster_.atoms(), cluster_.node_decoder(), nodes_.store(), pods_,
                                 leases_, engine_, ledger_, pause_watch_.pauses(), events_, metrics_, problems_,
                                 p.random, p.log.named("controllers." + kind.object.kind), watches_for_controllers_,
                                 [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); },
                                 options_.controller.dry_run, node_lanes_});
  hosted_.push_back({kind, *controller});
  hosting_.push_back(std::make_unique<Hosting>(Hosting{kind, std::move(client), lock, std::move(controller)}));
}

kube::Lock& Replica::Core::add_lock(const ReplicaParts& p, std::string name, std::string problem) {
  return locks_.add(std::make_unique<kube::Election>(
      loop_, *lease_client_, p.random, problems_, p.log.named("election"),
      kube::ElectionOptions{
          .ns = options_.ns, .name = std::move(name), .identity = identity_, .problem = std::move(problem)}));
}

std::optional<budget::LedgerOptions> Replica::Core::ledger_options() const {
  if (!options_.leader_election) return std::nullopt;
  return budget::LedgerOptions{.ns = options_.ns, .identity = identity_};
}

// As client-go records it, on the lock's object.
void Replica::Core::record_election(const kube::Lock& lock, std::string message) {
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding = lock.reference();
  event.reason = "LeaderElection";
  event.note = std::move(message);
  event.controller = identity_;
  events_.record(std::move(event));
}

Task<void> Replica::Core::announce_synced() {
  co_await nodes_.synced_gate().wait();
  log_.info("nodes are known", "count", nodes_.store().size());
  for (const auto& one : hosting_) co_await one->controller->synced();
  if (replica_.on_synced) replica_.on_synced();
}

// Decides and writes, under the lock if there is one.
Task<void> Replica::Core::lead() {
  if (options_.leader_election) {
    co_await lock_.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", lock_.ns(), lock_.name()), "identity", identity_);
    // First the ledger, then the nodes: what a predecessor admitted is either in one or in the other.
    if (needs_ledger()) co_await ledger_.take_over();
    co_await nodes_.refresh();
    if (needs_ledger()) leading_.spawn(ledger_.run());
  } else if (options_.controller.dry_run) {
    log_.info("dry run: nothing is written and nothing is sent");
    co_await nodes_.synced_gate().wait();
  } else {
    if (needs_ledger()) {
      log_.warn(
          "leader election is off: limits hold within this process; a second one would not know of its admissions, "
          "nor would this one after a crash in the middle of a write");
    }
    co_await nodes_.synced_gate().wait();
  }
  // Not before it is known what is paused, as of now.
  co_await pause_watch_.fresh();
  leading_.spawn(engine_.run());
  for (const auto& one : hosting_) leading_.spawn(lead(*one));
  if (!options_.profiles) co_return;
  if (options_.cache_pods) shuffles_.begin();
  co_await controller_.run();
}

bool Replica::Core::needs_ledger() const {
  return options_.profiles ||
         std::any_of(hosted_.begin(), hosted_.end(), [](const HostedController& one) { return one.kind.claims; });
}

bool Replica::Core::controls() const { return !options_.leader_election || lock_.leading(); }

Task<void> Replica::Core::lead(Hosting& hosting) {
  if (&hosting.lock != &lock_ && options_.leader_election) {
    co_await hosting.lock.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", hosting.lock.ns(), hosting.lock.name()));
  }
  co_await hosting.controller->lead();
}

// Returns when this process must not go on.
Task<void> Replica::Core::until_lost() {
  if (!options_.leader_election) {
    co_await ledger_.fenced_gate().wait();
    co_return;
  }
  co_await io::race(loop_, locks_.run(), io::wait_for(ledger_.fenced_gate()));
}

Task<int> Replica::Core::main() {
  nodes_.start();
  scope_.spawn(pause_watch_.run());
  scope_.spawn(io::follow_clock(loop_, [this](io::Duration by) { clock_stepped(by); }));
  if (options_.profiles && options_.cache_pods) {
    pod_watch_.start();
    for (const kube::WorkloadKind kind : kube::kWorkloadKinds) watch_workload(kind);
  }
  for (const auto& one : hosting_) one->controller->watch();
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
  for (const auto& one : hosting_) one->controller->clock_stepped(by);
}

Task<void> Replica::Core::wind_down() {
  co_await io::with_timeout(loop_, kFinishWrites, io::completed(stop_controllers()));
  leading_.cancel();
  if (options_.leader_election) co_await locks_.release();
  co_await events_.flush(kFlushEvents);
}

Task<void> Replica::Core::stop_controllers() {
  for (const auto& one : hosting_) co_await one->controller->stop();
  co_await engine_.stop();
  co_await controller_.stop();
}

}  // namespace careen::replica
