#include "drain/engine.h"

#include <algorithm>

#include "drain/engine_core.h"
#include "drain/reason.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/disruption_budget.h"
#include "kube/node.h"

namespace careen::drain {

namespace {

constexpr int kReadsInFlight = 8;

}  // namespace

Engine::Core::Meters::Meters(io::Metrics& metrics)
    : pending(metrics.gauge("careen_drain_pods_pending", "Pods that have to leave nodes that are drained.")),
      blocked(metrics.gauge("careen_drain_blocked_pods", "Of these, pods that a budget or the server holds back.")),
      running(metrics.gauge("careen_drains_running", "Drains that are not complete.")),
      duration(metrics.histogram("careen_drain_duration_seconds", "How long drains took until the node was empty.",
                                 {1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200})) {
  for (const char* result : {"accepted", "blocked", "gone", "error"}) {
    evictions[result] = &metrics.counter("careen_drain_evictions_total",
                                         "Requests to evict or delete a pod, by how they ended.", {{"result", result}});
  }
}

Engine::Core::Core(Engine& owner, EngineParts parts, EngineOptions given)
    : engine(owner),
      p(std::move(parts)),
      options(std::move(given)),
      coverage(p.budgets),
      slots(std::max(options.requests_in_flight, 1)),
      reads(p.loop, kReadsInFlight),
      stopped(p.loop),
      flush_alarm(p.loop, [this] { flush(); }),
      meters(p.metrics) {
  subscriptions.push_back(
      p.pods.subscribe([this](const kube::Pod* before, const kube::Pod* after) { pod_changed(before, after); }));
  subscriptions.push_back(
      p.budgets.subscribe([this](const kube::DisruptionBudget* before, const kube::DisruptionBudget* after) {
        budget_changed(before, after);
      }));
  if (p.nodes) {
    subscriptions.push_back(
        p.nodes->subscribe([this](const kube::Node* before, const kube::Node* after) { node_changed(before, after); }));
  }
  if (p.pauses) subscriptions.push_back(p.pauses->subscribe([this] { pauses_changed(); }));
}

void Engine::Core::begin(const Key& key, const std::string& node_uid, Options wanted) {
  if (const auto known = drains.find(key); known != drains.end()) {
    if (known->second->progress.node_uid == node_uid) {
      if (known->second->options != wanted) set_options(*known->second, std::move(wanted));
      return;
    }
    end(key);
  }
  const uint64_t id = ++sequence;
  auto made = std::make_unique<Drain>(
      p.loop,
      [this, id] {
        if (Drain* late = find_drain(id)) time_is_over(*late);
      },
      [this, id] {
        if (Drain* waiting = find_drain(id)) start_list(*waiting);
      },
      [this, id] {
        if (Drain* waiting = find_drain(id)) consider_all(*waiting);
      });
  Drain& drain = *drains.emplace(key, std::move(made)).first->second;
  drain.key = key;
  drain.id = id;
  drain.begun_at = p.loop.now();
  drain.progress.begun = p.loop.wall_now();
  drain.progress.node_uid = node_uid;
  drain.rules = rules_of(key.node);
  by_node[key.node].push_back(&drain);
  p.log.info("drain begins", "node", key.node, "owner", key.owner);
  follow_pause(drain);
  set_options(drain, std::move(wanted));
  start_list(drain);
}

void Engine::Core::set_options(Drain& drain, Options wanted) {
  drain.options = std::move(wanted);
  drain.timed_out = false;
  set_deadline(drain);
  join_all(drain);
}

// All pods are judged before any is considered: one that must not be touched keeps the others.
void Engine::Core::join_all(Drain& drain) {
  std::vector<kube::Pod> bound;
  p.pods.for_each_on(drain.key.node, [&](const kube::Pod& pod) { bound.push_back(pod); });
  std::sort(bound.begin(), bound.end(),
            [](const auto& a, const auto& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
  for (const kube::Pod& pod : bound) join(drain, pod);
  update_phase(drain);
  consider_all(drain);
  tell(drain);
}

void Engine::Core::end(const Key& key) {
  const auto known = drains.find(key);
  if (known == drains.end()) return;
  Drain& drain = *known->second;
  p.log.info("drain ends", "node", key.node, "owner", key.owner);
  auto& there = by_node[key.node];
  std::erase(there, &drain);
  if (there.empty()) by_node.erase(key.node);
  std::vector<Target*> left;
  for (const auto& [name, target] : drain.pods) left.push_back(target);
  for (Target* target : left) {
    leave(drain, *target);
    consider(*target);
    drop_if_unused(*target);
  }
  drains.erase(known);
  if (drains.empty()) slots.forget();
  if (drains.empty()) std::erase_if(lanes, [&](const auto& lane) { return lane.second->lane.idle(p.loop.now()); });
  if (!flush_alarm.pending()) flush_alarm.set(p.loop.now());
}

void Engine::Core::time_is_over(Drain& drain) {
  if (drain.progress.phase == Progress::Phase::drained || drain.lost) return;
  drain.timed_out = true;
  drain.progress.errors.clear();
  for (const auto& [name, target] : drain.pods) {
    const Membership* membership = target->membership(drain);
    const auto pod = pod_of(*target);
    if (!membership->pending() || !pod) continue;
    if (membership->given_up.empty()) {
      drain.progress.errors.push_back(
          timeout_text(*pod, pod->terminating() || target->accepted.has_value(), drain.options.timeout));
    } else {
      drain.progress.errors.push_back(membership->given_up);
    }
  }
  p.log.warn("drain has not ended in time", "node", drain.key.node, "owner", drain.key.owner, "timeout",
             go_duration_text(drain.options.timeout));
  update_phase(drain);
}

bool Engine::Core::is_active(const Drain& drain) const {
  if (drain.lost) return false;
  if (!pods_are_known || !drain.rules.known) return false;
  if (drain.timed_out || drain.refusals > 0 || drain.paused_since) return false;
  return drain.listing == Drain::Listing::done || !drain.may_be_refused();
}

void Engine::Core::update_phase(Drain& drain) {
  using Phase = Progress::Phase;
  const bool empty = pods_are_known && drain.listing == Drain::Listing::done && drain.pending == 0;
  const bool failed = drain.timed_out || drain.lost || drain.is_hopeless();
  const Phase phase = failed               ? Phase::failed
                      : drain.refusals > 0 ? Phase::refused
                      : empty              ? Phase::drained
                                           : Phase::draining;
  Progress& progress = drain.progress;
  if (phase == progress.phase) return;
  progress.phase = phase;
  progress.drained_at.reset();
  if (phase == Phase::drained) {
    progress.drained_at = p.loop.wall_now();
    p.log.info("node is drained", "node", drain.key.node, "owner", drain.key.owner);
    for (const std::string& line : left_alone(drain)) {
      p.log.info("pods stay on a drained node", "node", drain.key.node, "owner", drain.key.owner, "why", line);
    }
    if (!std::exchange(drain.measured, true)) {
      meters.duration.observe(io::to_seconds(p.loop.now() - drain.begun_at));
    }
  }
  consider_all(drain);
  tell(drain);
}

Engine::Engine(EngineParts parts, EngineOptions options)
    : core_(std::make_unique<Core>(*this, std::move(parts), std::move(options))) {}

Engine::~Engine() = default;

io::Subscription Engine::subscribe(Listener listener) { return core_->listeners.subscribe(std::move(listener)); }

void Engine::begin(const Key& key, const std::string& node_uid, Options options) {
  core_->begin(key, node_uid, std::move(options));
}

void Engine::end(const Key& key) { core_->end(key); }

bool Engine::has(const Key& key) const { return core_->drains.contains(key); }

std::vector<Key> Engine::keys() const {
  std::vector<Key> all;
  for (const auto& [key, drain] : core_->drains) all.push_back(key);
  return all;
}

std::optional<Progress::Phase> Engine::phase(const Key& key) const {
  const auto it = core_->drains.find(key);
  if (it == core_->drains.end()) return std::nullopt;
  return it->second->progress.phase;
}

const Progress* Engine::progress(const Key& key) const {
  const auto it = core_->drains.find(key);
  return it == core_->drains.end() ? nullptr : &core_->progress_of(*it->second);
}

void Engine::pods_known() {
  if (std::exchange(core_->pods_are_known, true)) return;
  core_->resume();
}

void Engine::budgets_known() {
  core_->p.problems.clear("drain budgets");
  if (std::exchange(core_->budget_state, Core::Budgets::known) == Core::Budgets::known) return;
  core_->resume();
}

void Engine::budgets_unavailable(std::string why) {
  core_->p.problems.raise("drain budgets", "disruption budgets cannot be watched: " + why +
                                               "; evictions that one forbids are tried again after a while");
  if (std::exchange(core_->budget_state, Core::Budgets::unavailable) == Core::Budgets::unavailable) return;
  core_->resume();
}

void Engine::daemon_sets_known() {
  std::vector<kube::Pod> controlled;
  for (const auto& [uid, target] : core_->targets) {
    const auto pod = core_->pod_of(*target);
    if (pod && pod->flags.daemon_set) controlled.push_back(*pod);
  }
  for (const kube::Pod& pod : controlled) core_->pod_seen(pod);
}

void Engine::rules_changed() {
  for (const auto& [key, drain] : core_->drains) {
    drain->rules = core_->rules_of(key.node);
    core_->join_all(*drain);
  }
}

NodeRules Engine::rules_of(const std::string& node) const { return core_->rules_of(node); }

io::Task<void> Engine::run() {
  io::Scope sending(core_->p.loop);
  struct Running {
    Core& core;
    io::Scope& sending;
    ~Running() {
      sending.cancel();
      core.abandon();
    }
  } running{*core_, sending};
  core_->sending = &sending;
  core_->stopping = false;
  core_->resume();
  co_await core_->stopped.wait();
}

io::Task<void> Engine::stop() {
  core_->stopping = true;
  for (const std::string& uid : core_->slots.waiting()) core_->withdraw(uid);
  if (!core_->sending) co_return;
  co_await core_->sending->join();
  core_->stopped.notify();
}

std::vector<std::pair<std::string_view, size_t>> Engine::unfinished() const {
  size_t on_their_way = 0, nobodys = 0, waiting = 0;
  for (const auto& [uid, target] : core_->targets) {
    if (target->in_flight != Action::none) ++on_their_way;
    if (target->memberships.empty()) ++nobodys;
  }
  for (const auto& [budget, lane] : core_->lanes) waiting += lane->waiting.size();
  return {{"requests for pods on their way", on_their_way},
          {"pods that nobody drains", nobodys},
          {"pods in the queue of a budget", waiting}};
}

}  // namespace careen::drain
