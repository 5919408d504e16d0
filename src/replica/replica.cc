#include "replica/replica.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/slot/kind.h"
#include "io/clock_steps.h"
#include "io/loop.h"
#include "io/random.h"
#include "kube/election.h"
#include "kube/json.h"
#include "kube/lock_object.h"
#include "kube/object_writer.h"
#include "replica/controllers.h"
#include "replica/replica_core.h"
#include "web/admission.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr io::Duration kFinishWrites = io::seconds{15};
constexpr io::Duration kFlushEvents = io::seconds{3};
constexpr io::Duration kLookForOthers = io::seconds{30};
// Beyond it nobody holds a lock that he does not renew.
constexpr io::Duration kLongestLease = io::minutes{1};
constexpr const char* kOtherLeader = "other leader";

io::Result<kube::DisruptionBudget> as_budget(kube::RawObject& raw) { return kube::decode_disruption_budget(raw); }

std::optional<kube::NodePreference> marked_pods(const ReplicaOptions& options) {
  for (const auto& choice : options.controllers) {
    if (choice->kind().marked_pods) return choice->kind().marked_pods();
  }
  return std::nullopt;
}

// Without controllers its lock is that of the first there is.
const controllers::Kind& first_kind(const ReplicaOptions& options) {
  return options.controllers.empty() ? *controller_kinds().front() : options.controllers.front()->kind();
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
const kube::Lock& Replica::election() const { return core_->lock_; }
const budget::Ledger& Replica::ledger() const { return core_->ledger_; }
const kube::Store<kube::Node>& Replica::nodes() const { return core_->nodes_.store(); }
const std::vector<controllers::HostedController>& Replica::hosted() const { return core_->hosted_; }
const drain::Engine& Replica::drains() const { return core_->engine_; }
const budget::Pauses& Replica::pauses() const { return core_->pauses_; }
Hub* Replica::hub() { return core_->hub_.get(); }
const Hub* Replica::hub() const { return core_->hub_.get(); }
void Replica::change(kube::Access access) { core_->cluster_.change(std::move(access)); }
limits::Desk* Replica::limits() { return core_->desk_.get(); }
const limits::Desk* Replica::limits() const { return core_->desk_.get(); }
const kube::Store<kube::Object>* Replica::limit_objects() const {
  return core_->limits_watch_ ? &core_->limits_watch_->store() : nullptr;
}
kube::Client& Replica::reader() { return core_->cluster_.client(); }
std::vector<web::Route> Replica::webhooks(io::Log log) {
  const web::WebhookParts parts{core_->loop_, core_->cluster_.client(), core_->metrics_, std::move(log)};
  std::vector<web::Route> all;
  for (const auto& choice : core_->options_.webhooks) {
    for (web::Route& route : choice->webhooks(parts)) all.push_back(std::move(route));
  }
  if (!core_->gate_) return all;
  for (web::Route& route : core_->gate_->webhooks(parts.log)) all.push_back(std::move(route));
  return all;
}
void Replica::webhooks_served(turnstile::Reach reach) {
  if (core_->gate_) core_->gate_->served(std::move(reach));
}
io::Wall Replica::now() const { return core_->loop_.wall_now(); }
io::Loop& Replica::loop() { return core_->loop_; }
const ReplicaOptions& Replica::options() const { return core_->options_; }
const kube::Store<kube::DisruptionBudget>& Replica::disruption_budgets() const { return core_->budgets_.store(); }
bool Replica::running() const { return core_->hosted_.empty() || core_->hosted_.front().controller.running(); }

Replica::Core::Core(const Replica& replica, ReplicaParts p, ReplicaOptions options)
    : replica_(replica),
      loop_(p.loop),
      options_(std::move(options)),
      connect_(p.connect),
      random_(p.random),
      log_(p.log.named("setup")),
      problems_(p.above ? io::Problems(p.above->problems, "cluster " + p.above->cluster)
                        : io::Problems(p.log.named("problems"))),
      metrics_(p.above ? io::Metrics(p.above->metrics, {{"cluster", p.above->cluster}, {"part", "hub"}})
                       : io::Metrics()),
      identity_(fmt::format("{}_{}", options_.host, options_.instance.empty() ? p.random.uuid() : options_.instance)),
      above_(p.above),
      cluster_({loop_, p.random, metrics_, problems_, p.log}, {}, std::move(p.access), std::move(p.connect)),
      home_(above_ ? above_->home : cluster_),
      about_this_(above_ ? part_of_home() : FollowedPlace::all_of(cluster_)),
      client_(cluster_.make_client()),
      home_client_(home_.make_client()),
      lease_client_(home_.make_lease_client()),
      nodes_(cluster_.watched<kube::Node>({.resource = kube::resources::nodes}, cluster_.node_decoder())),
      pods_(cluster_.atoms(), marked_pods(options_)),
      pod_watch_(cluster_.watch_parts("pods"), {.resource = kube::resources::pods}, kube::make_sink(pods_)),
      namespaces_(cluster_.watched<kube::Namespace>({.resource = kube::resources::namespaces}, cluster_.atoms())),
      budgets_(cluster_.watched<kube::DisruptionBudget>({.resource = kube::resources::disruption_budgets}, as_budget)),
      locks_(loop_),
      lock_(above_ ? above_->lock : add_lock(p, first_kind(options_), "leader election")),
      ledger_(loop_, *home_client_, problems_, p.log.named("ledger"), metrics_, ledger_options()),
      events_(loop_, cluster_.client(), metrics_, problems_, options_.host),
      pauses_(above_ ? above_->pauses : watch_pauses(p.log)),
      engine_({loop_, *client_, pods_, budgets_.store(),
               [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); }, &events_, metrics_,
               problems_, p.log.named("drain"), &pauses_, &nodes_.store()},
              {.dry_run = options_.dry_run,
               .own_namespace = options_.own_pod.empty() ? "" : options_.ns,
               .own_pod = options_.own_pod}),
      node_lanes_(std::make_shared<kube::WriteLanes>(loop_)),
      watches_for_controllers_(*this),
      stop_(loop_),
      scope_(loop_),
      leading_(loop_) {
  // Our pod will be created again elsewhere: the sooner we let go, the shorter the time without a leader.
  engine_.on_own_eviction = [this] { stop(); };
  open_desk();
  for (const auto& choice : options_.controllers) host(p, *choice);
  open_gate(p.random, p.log);
  p.connect = connect_;
  if (options_.hub) open_hub(p);
  for (const auto& lock : locks_) {
    lock->report_to(metrics_);
    lock->on_event([this, &lock = *lock](std::string message) { record_election(lock, std::move(message)); });
  }
  guard_writes();
}

void Replica::Core::open_desk() {
  const auto hosts = [this](auto&& fits) {
    return std::ranges::any_of(options_.controllers, [&](const auto& choice) { return fits(choice->kind()); });
  };
  if (!hosts([](const controllers::Kind& kind) { return kind.claims; })) return;
  const bool approves = hosts([](const controllers::Kind& kind) { return kind.approves_others; });
  LimitsWatchOptions options{.closed_without_right = approves,
                             .places_told = [this, approves] { return places_told(approves); }};
  limits_watch_ = std::make_unique<LimitsWatch>(
      LimitsWatchParts{loop_, home_.client(), problems_, about_this_.watch("limits")}, std::move(options));
  desk_ = std::make_unique<limits::Desk>(loop_, nodes_.store(), limits_watch_->store(), ledger_);
  limits_watch_->tell(*desk_);
  desk_->follow(limits::WorkloadSources{.pods = pods_,
                                        .workloads = workloads_,
                                        .namespaces = namespaces_.store(),
                                        .knows_pods = [this] { return pod_watch_.synced(); },
                                        .knows = [this](kube::WorkloadKind kind) { return knows(kind); },
                                        .knows_namespaces = [this] { return namespaces_.synced(); }},
                [this](const limits::WorkloadLimits& limits) { watch_for(limits); });
  pod_watch_.on_synced([this] { desk_->workloads_known(); });
  namespaces_.on_synced([this] { desk_->workloads_known(); });
  desk_->follow(other_objects_);
  if (!options_.counted_taints.empty()) desk_->count(options_.counted_taints);
  others_watch_ = std::make_unique<OtherObjectsWatch>(
      OtherObjectsParts{.cluster = cluster_,
                        .objects = other_objects_,
                        .desk = *desk_,
                        .know_machines = [this](bool wanted) { know_machines(wanted); },
                        .cluster_api = about_this_});
  limits_report_ = std::make_unique<limits::Report>(*desk_, metrics_, events_, nodes_.store(),
                                                    [this] { return !options_.dry_run && controls(); });
}

// What is watched there counts and complains as a part of this cluster.
FollowedPlace Replica::Core::part_of_home() {
  const size_t slash = above_->cluster.find('/');
  return {home_.client(),
          [this](std::string_view name) {
            return kube::WatchParts{loop_, home_.client(), metrics_, problems_, random_, log_.named(name)};
          },
          above_->cluster.substr(0, slash), above_->cluster.substr(slash + 1)};
}

void Replica::Core::open_hub(const ReplicaParts& parts) {
  hub_ = std::make_unique<Hub>(HubParts{.process = parts,
                                        .home = cluster_,
                                        .lock = lock_,
                                        .write_window = [this] { return write_window(lock_); },
                                        .pauses = pauses_,
                                        .log = parts.log.named("hub")},
                               options_);
}

budget::Pauses& Replica::Core::watch_pauses(const io::Log& log) {
  pause_watch_.emplace(PauseWatchParts{cluster_, events_, log.named("pause")},
                       PauseWatchOptions{.ns = options_.ns, .identity = identity_, .patient = options_.awaits_pauses},
                       [this] { return !options_.dry_run && controls(); });
  return pause_watch_->pauses();
}

// Whoever is not careen waits for the one who approves.
void Replica::Core::open_gate(io::Random& random, const io::Log& log) {
  const auto found = std::ranges::find_if(hosting_, [](const auto& one) { return one->kind.approves_others; });
  if (found == hosting_.end() || !desk_ || options_.dry_run) return;
  Hosting& hosting = **found;
  gate_ = std::make_unique<Gate>(GateParts{
      .loop = loop_,
      .cluster = cluster_,
      .client = *hosting.client,
      .nodes = nodes_.store(),
      .pods = pods_,
      .desk = *desk_,
      .state = limit_webhook_,
      .ledger = ledger_,
      .events = events_,
      .metrics = metrics_,
      .problems = problems_,
      .random = random,
      .log = log.named("limits"),
      .configuration = options_.limit_webhook,
      .break_glass_group = options_.break_glass_group,
      .leads = [this, &hosting] { return !options_.leader_election || write_window(hosting.lock).has_value(); },
      .others_know =
          [this] {
            return std::ranges::all_of(hosted_, [](const controllers::HostedController& one) {
              return !one.kind.claims || one.controller.running();
            });
          },
      .watch_pods = [this] { watches_for_controllers_.pods([] {}); },
      .knows_nodes = [this] { return nodes_.synced(); },
      .knows_pods = [this] { return pod_watch_.synced(); }});
}

void Replica::Core::guard(kube::Client& client, const kube::Lock& lock) {
  if (options_.dry_run) {
    client.set_write_guard([] { return std::nullopt; });
  } else if (options_.leader_election) {
    client.set_write_guard([this, &lock] { return write_window(lock); });
  }
}

std::optional<io::Duration> Replica::Core::write_window(const kube::Lock& lock) const {
  return above_ ? above_->write_window() : locks_.write_window(lock);
}

void Replica::Core::guard_writes() {
  guard(*client_, lock_);
  guard(*home_client_, lock_);
  for (const auto& one : hosting_) guard(*one->client, one->lock);
}

void Replica::Core::host(const ReplicaParts& p, const controllers::Choice& choice) {
  const controllers::Kind& kind = choice.kind();
  kube::Lock& lock =
      hosting_.empty() || above_
          ? lock_
          : add_lock(p, kind,
                     fmt::format("leader election for {}{}", kind.has_objects() ? kind.object.kind : kind.name,
                                 kind.has_objects() ? " objects" : ""));
  auto client = cluster_.make_client();
  auto controller =
      choice.make({.loop = loop_,
                   .client = *client,
                   .atoms = cluster_.atoms(),
                   .decoder = cluster_.node_decoder(),
                   .nodes = nodes_.store(),
                   .pods = pods_,
                   .leases = leases_,
                   .workloads = workloads_,
                   .engine = engine_,
                   .ledger = ledger_,
                   .pauses = pauses_,
                   .events = events_,
                   .metrics = metrics_,
                   .problems = problems_,
                   .random = p.random,
                   .log = p.log.named("controllers." + std::string(kind.event_source)),
                   .watches = watches_for_controllers_,
                   .daemon_sets = [this](std::string_view ns, std::string_view name) { return daemon_set(ns, name); },
                   .dry_run = options_.dry_run,
                   .node_lanes = node_lanes_,
                   .beyond = {&p.files, &p.http, &p.mail, p.environment, p.log},
                   .tell = [this](const controllers::Entry& entry) { tell(&ReplicaListener::told, entry); },
                   .configured = [this] { tell_configured(); },
                   .limits = desk_.get(),
                   .limit_objects = limits_watch_ ? &limits_watch_->store() : nullptr,
                   .limit_webhook = desk_ ? &limit_webhook_ : nullptr,
                   .abroad = {.connect = connect_,
                              .guard = [this, &lock](kube::Client& far) { guard(far, lock); },
                              .reader = &cluster_.client()}});
  hosted_.push_back({kind, *controller});
  hosting_.push_back(std::make_unique<Hosting>(Hosting{kind, std::move(client), lock, std::move(controller)}));
}

void Replica::Core::tell_configured() {
  if (replica_.on_config) replica_.on_config();
  tell(&ReplicaListener::configured);
}

kube::Lock& Replica::Core::add_lock(const ReplicaParts& p, const controllers::Kind& kind, std::string problem) {
  return locks_.add(std::make_unique<kube::Election>(loop_, *lease_client_, p.random, problems_,
                                                     p.log.named("election"),
                                                     kube::ElectionOptions{.ns = options_.ns,
                                                                           .name = std::string(kind.lock),
                                                                           .identity = identity_,
                                                                           .kind = kind.lock_kind,
                                                                           .problem = std::move(problem)}));
}

std::optional<budget::LedgerOptions> Replica::Core::ledger_options() const {
  if (!options_.leader_election) return std::nullopt;
  std::vector<const controllers::Kind*> kinds;
  for (const auto& choice : options_.controllers) kinds.push_back(&choice->kind());
  HomeObject place = ledger_of(kinds);
  // Names of namespaces have no dot.
  if (above_) {
    place.name += "." + about_this_.ns + "." + about_this_.cluster;
  }
  return budget::LedgerOptions{.ns = options_.ns,
                               .name = std::move(place.name),
                               .identity = identity_,
                               .resource = kube::lock_object(place.kind).resource()};
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
  if (needs_nodes()) {
    co_await nodes_.synced_gate().wait();
    log_.info("nodes are known", "count", nodes_.store().size());
  }
  for (const auto& one : hosting_) co_await one->controller->synced();
  if (replica_.on_synced) replica_.on_synced();
}

// Those whom careen has admitted for others have their places by objects that it must have seen. What others do is
// waited for a moment.
Task<void> Replica::Core::places_told(bool approves) {
  co_await others_watch_->listed();
  if (!approves) co_return;
  for (const auto& one : hosting_) {
    if (one->kind.approves_others) co_await one->controller->refresh();
  }
}

// Decides and writes, under the lock if there is one.
Task<void> Replica::Core::lead() {
  if (options_.leader_election) {
    co_await lock_.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", lock_.ns(), lock_.name()), "identity", identity_);
    if (above_) co_await nobody_else_leads();
    // First the ledger, then the nodes: what a predecessor admitted is either in one or in the other.
    if (needs_ledger()) co_await ledger_.take_over();
    co_await nodes_known(true);
    if (desk_) {
      desk_->inherit();
      leading_.spawn(limits_watch_->lead());
    }
    if (gate_) gate_->take_over();
    if (hub_) leading_.spawn(hub_->lead());
    if (needs_ledger()) {
      leading_.spawn(ledger_.run());
      leading_.spawn(settle_for_nobody());
    }
  } else if (options_.dry_run) {
    log_.info("dry run: nothing is written and nothing is sent");
    co_await nodes_known(false);
  } else {
    if (needs_ledger()) {
      log_.warn(
          "leader election is off: limits hold within this process; a second one would not know of its admissions, "
          "nor would this one after a crash in the middle of a write");
    }
    co_await nodes_known(false);
    if (desk_) leading_.spawn(limits_watch_->lead());
  }
  // Not before it is known what is paused, as of now.
  if (pause_watch_) co_await pause_watch_->fresh();
  leading_.spawn(engine_.run());
  // The first leads in here; the others may have to wait for their locks.
  for (size_t i = 1; i < hosting_.size(); ++i) leading_.spawn(lead(*hosting_[i]));
  if (!hosting_.empty()) co_await lead(*hosting_.front());
}

// What a predecessor admitted for a controller that this careen has been started without: nobody else would ever settle
// it. No write of the predecessor's can arrive so late, and what became of it the node shows.
Task<void> Replica::Core::settle_for_nobody() {
  const auto is_of_nobody = [this](std::string_view by) {
    const auto& all = controller_kinds();
    const auto kind = std::ranges::find_if(all, [by](const controllers::Kind* one) {
      return !one->owner_prefix.empty() && by.starts_with(one->owner_prefix);
    });
    return kind != all.end() && std::ranges::none_of(hosting_, [&](const auto& one) { return &one->kind == *kind; });
  };
  std::set<std::string> seen;
  for (;;) {
    co_await io::sleep_for(loop_, kube::kLongestFlight);
    std::set<std::string> left;
    for (const auto& [key, entry] : ledger_.entries()) {
      if (entry.inherited && is_of_nobody(entry.admission.by)) left.insert(key);
    }
    for (const std::string& key : left) {
      if (!seen.contains(key)) continue;
      log_.info("a place in the ledger is given back: its controller does not run any more", "entry", key);
      ledger_.finish(key);
    }
    seen = std::move(left);
  }
}

bool Replica::Core::needs_nodes() const {
  return hosted_.empty() ||
         std::ranges::any_of(hosted_, [](const controllers::HostedController& one) { return one.kind.nodes; });
}

// Without anybody who is about nodes none are watched: there may be no right to.
Task<void> Replica::Core::nodes_known(bool anew) {
  if (!needs_nodes()) co_return;
  if (anew) {
    co_await nodes_.refresh();
  } else {
    co_await nodes_.synced_gate().wait();
  }
}

bool Replica::Core::needs_ledger() const {
  return std::ranges::any_of(hosted_, [](const controllers::HostedController& one) { return one.kind.claims; });
}

// Somebody who runs profiles in the cluster itself would move the same nodes.
Task<void> Replica::Core::nobody_else_leads() {
  for (;; co_await io::sleep_for(loop_, kLookForOthers)) {
    std::string who;
    for (const auto& one : hosting_) {
      kube::CallOptions call;
      call.query = fmt::format("fieldSelector=metadata.name%3D{}", one->kind.lock);
      const kube::Resource resource = kube::lock_object(one->kind.lock_kind).resource();
      const auto answer = co_await cluster_.client().list(resource, "", std::move(call));
      const auto list = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, "");
      if (!list) {
        who = fmt::format("whether somebody else does is not known: {}",
                          answer ? list.error().message : answer.error().message);
        break;
      }
      (*list)["items"].for_each_element([&](kube::JsonView lease) {
        const auto renewed = io::parse_rfc3339(lease["spec"]["renewTime"].text().value_or(""));
        if (!renewed || loop_.wall_now() - *renewed > kLongestLease) return;
        who = fmt::format("{} does, by the lock {}/{}", lease["spec"]["holderIdentity"].text().value_or("somebody"),
                          lease["metadata"]["namespace"].text().value_or(""), one->kind.lock);
      });
    }
    if (who.empty()) break;
    problems_.raise(kOtherLeader, fmt::format("careen does not look after the nodes of this cluster: {}", who));
  }
  problems_.clear(kOtherLeader);
}

bool Replica::Core::controls() const { return !options_.leader_election || lock_.leading(); }

Task<void> Replica::Core::lead(Hosting& hosting) {
  if (&hosting.lock != &lock_ && options_.leader_election) {
    co_await hosting.lock.leading_gate().wait();
    log_.info("this replica leads", "lock", fmt::format("{}/{}", hosting.lock.ns(), hosting.lock.name()));
  }
  if (gate_ && hosting.kind.approves_others) leading_.spawn(gate_->lead());
  co_await hosting.controller->lead();
}

// Returns when this process must not go on.
Task<void> Replica::Core::until_lost() {
  if (!options_.leader_election) {
    co_await ledger_.fenced_gate().wait();
    co_return;
  }
  co_await io::race(loop_, locks_.run(), taken_over());
}

Task<void> Replica::Core::taken_over() {
  if (!hub_) co_return co_await ledger_.fenced_gate().wait();
  co_await io::race(loop_, io::wait_for(ledger_.fenced_gate()), io::wait_for(hub_->lost()));
}

Task<int> Replica::Core::main() {
  if (needs_nodes()) nodes_.start();
  if (pause_watch_) scope_.spawn(pause_watch_->run());
  if (limits_watch_) scope_.spawn(limits_watch_->run());
  if (others_watch_) scope_.spawn(others_watch_->run());
  if (gate_) scope_.spawn(gate_->run());
  scope_.spawn(io::follow_clock(loop_, [this](io::Duration by) { clock_stepped(by); }));
  scope_.spawn(events_.run());
  scope_.spawn(announce_synced());
  for (const auto& one : hosting_) one->controller->watch();
  pod_watch_.on_synced([this] { engine_.pods_known(); });
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
  if (desk_) desk_->clock_stepped();
  for (const auto& one : hosting_) one->controller->clock_stepped(by);
}

Task<void> Replica::Core::wind_down() {
  if (hub_) co_await io::with_timeout(loop_, kFinishWrites, io::completed(hub_->stop()));
  co_await io::with_timeout(loop_, kFinishWrites, io::completed(stop_controllers()));
  leading_.cancel();
  if (options_.leader_election) co_await locks_.release();
  co_await events_.flush(kFlushEvents);
}

// Who has the first lock stops last: evictions are sent under it.
Task<void> Replica::Core::stop_controllers() {
  for (auto one = hosting_.rbegin(); one != hosting_.rend(); ++one) co_await (*one)->controller->stop();
  co_await engine_.stop();
}

}  // namespace careen::replica
