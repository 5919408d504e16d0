#include "controllers/nodemaintenance/controller.h"

#include <algorithm>

#include "controllers/nodemaintenance/controller_core.h"
#include "controllers/nodemaintenance/names.h"
#include "controllers/nodemaintenance/node_lease.h"
#include "drain/engine.h"
#include "drain/progress.h"
#include "drain/rules.h"
#include "io/steady_at.h"
#include "kube/cache.h"
#include "kube/decode.h"
#include "kube/node.h"
#include "kube/node_decoder.h"
#include "kube/objects.h"

namespace careen::nodemaintenance {

using io::Task;

namespace {

// Eight progress writes a second, of all maintenances together.
constexpr io::Duration kPace = io::milliseconds{125};
// A drain that is not over by then lasts.
constexpr io::Duration kAtOnce = io::seconds{1};
// Of the keys in the queue, those of nodes: no object's name has a slash.
constexpr std::string_view kNodeKey = "node/";

}  // namespace

Controller::Core::Core(controllers::Host host, kube::Store<kube::Object>& store, ControllerOptions wanted)
    : p(std::move(host)),
      options(std::move(wanted)),
      maintenances(
          p.client, kResource, store, [](std::string_view json) { return kube::decode_object(json); }, p.log),
      nodes(
          p.client, kube::resources::nodes, p.nodes, [this](std::string_view json) { return p.decoder.decode(json); },
          p.log, p.node_lanes),
      leases(
          p.client, kube::resources::leases, p.leases,
          [this](std::string_view json) { return kube::decode_lease(json, p.atoms); }, p.log),
      places({.loop = p.loop,
              .desk = p.limits,
              .ledger = p.ledger,
              .nodes = p.nodes,
              .roster = roster,
              .wake = [this](std::string_view name) { queue.wake(std::string(name)); },
              .settle = [this](const limits::Place& place) { acting.spawn(settle_place(place)); }}),
      queue(p.loop),
      meters(p.metrics),
      turns(p.loop, kPace, [this](const std::string& name) { queue.wake(name); }),
      pause_guard(p.loop, &p.pauses),
      acting(p.loop) {
  p.metrics.before_scrape([this] { meters.show(p.loop.now(), roster); });
  store.for_each([this](const kube::Object& object) { roster.put(parse_maintenance(object)); });
  changes.push_back(store.subscribe(
      [this](const kube::Object* before, const kube::Object* after) { maintenance_changed(before, after); }));
  changes.push_back(p.nodes.subscribe(
      [this](const kube::Node* before, const kube::Node* after) { node_changed(after ? after->name : before->name); }));
  changes.push_back(p.leases.subscribe(
      [this](const kube::Lease* before, const kube::Lease* after) { lease_changed(after ? *after : *before); }));
  changes.push_back(p.engine.subscribe([this](const drain::Key& key) { drain_changed(key); }));
  changes.push_back(p.pauses.subscribe([this] { wake_all(); }));
}

void Controller::Core::maintenance_changed(const kube::Object* before, const kube::Object* after) {
  if (before) wake_node(parse_maintenance(*before).node);
  if (after) {
    roster.put(parse_maintenance(*after));
    wake_node(roster.find(after->name)->node);
  } else {
    roster.remove(before->name);
  }
  queue.wake(after ? after->name : before->name);
}

void Controller::Core::node_changed(const std::string& name) {
  places.node_changed(name);
  wake_node(name);
}

// Those who want the node, and the node itself for holds that nobody stands for.
void Controller::Core::wake_node(std::string_view node) {
  for (const Maintenance* one : roster.on(node)) queue.wake(one->name);
  const kube::Node* found = p.nodes.find(node);
  if (found && found->annotation(drain::kHoldsAnnotation)) queue.wake(std::string(kNodeKey) + std::string(node));
}

void Controller::Core::lease_changed(const kube::Lease& lease) {
  if (lease.ns != options.lease_namespace) return;
  roster.for_each([&](const Maintenance& one) {
    if (lease_name(one.node) == lease.name) queue.wake(one.name);
  });
}

void Controller::Core::drain_changed(const drain::Key& key) {
  if (const auto maintenance = maintenance_of(key.owner)) queue.wake(*maintenance);
}

void Controller::Core::wake_all() {
  roster.for_each([this](const Maintenance& one) { queue.wake(one.name); });
  p.nodes.for_each([this](const kube::Node& node) {
    if (node.annotation(drain::kHoldsAnnotation)) queue.wake(std::string(kNodeKey) + node.name);
  });
}

World Controller::Core::world() const {
  return {roster,
          p.nodes,
          p.leases,
          leases_known,
          options.lease_namespace,
          [this](const drain::Key& key) { return p.engine.progress(key); },
          p.atoms,
          options.node_conditions,
          pause(),
          pods_known ? &p.pods : nullptr,
          p.daemon_sets,
          options.correct_drift,
          options.restore_cordon,
          p.limits,
          &p.ledger,
          [this](const std::string& node) { return p.engine.rules_of(node); }};
}

// Of another object under the same name nothing is known.
Memory& Controller::Core::memory_of(const Maintenance& maintenance) {
  Memory& memory = memories[maintenance.name];
  const Status& found = maintenance.status;
  // By somebody else, or by a write that was given up and has arrived all the same: ours, or a predecessor's.
  const bool rewritten = maintenance.version > memory.written_version &&
                         (found.phase != memory.written.phase || found.last_update != memory.written.last_update);
  if (memory.uid == maintenance.uid && !rewritten) return memory;
  if (memory.uid != maintenance.uid) {
    memory = {};
    memory.uid = maintenance.uid;
    memory.met = p.loop.wall_now();
  }
  memory.written = found;
  memory.written_version = maintenance.version;
  memory.bare = memory.written.phase != Phase::none && memory.written.conditions.empty();
  return memory;
}

void Controller::Core::decide_one(const std::string& key) {
  meters.queue_wait.observe(io::to_seconds(queue.last_wait()));
  meters.queue_depth.set(static_cast<double>(queue.depth()));
  meters.begin_work(key, p.loop.now());
  if (!key.starts_with(kNodeKey)) return decide_maintenance(key);
  const std::string name = key.substr(kNodeKey.size());
  const kube::Node* node = p.nodes.find(name);
  if (!node || options.dry_run || orphaned_hold(world(), *node).empty()) return done(key);
  acting.spawn(release_orphan(name));
}

void Controller::Core::decide_maintenance(const std::string& name) {
  const Maintenance* maintenance = roster.find(name);
  Memory none;
  Memory& memory = maintenance ? memory_of(*maintenance) : none;
  const io::Steady begun = p.loop.now();
  Decision decision = decide(world(), name, memory, p.loop.wall_now());
  meters.reconciles(decision.wake ? "requeue_after" : "success").add();
  meters.reconcile_time.observe(io::to_seconds(p.loop.now() - begun));
  // Nothing has waited since the decision: its place is taken before the next one is made.
  places.follow(name, maintenance, decision);
  follow_drain(name, decision);
  if (decision.gone) {
    forget(name);
    return done(name);
  }
  remember(memory, *maintenance, decision);
  say_that_it_lasts(name, decision);
  if (decision.wake) queue.wake_at(name, io::steady_at(p.loop, *decision.wake));
  if (options.dry_run) {
    rehearse(name, decision);
    return done(name);
  }
  if (!may_write(name, decision)) return done(name);
  acting.spawn(act(name, std::move(*decision.effect)));
}

void Controller::Core::remember(Memory& memory, const Maintenance& maintenance, const Decision& decision) {
  const io::Wall now = p.loop.wall_now();
  if (!decision.undrained) memory.undrained.reset();
  if (decision.undrained && !memory.undrained) memory.undrained = now;
  if (maintenance.deleting && !memory.departing) memory.departing = now;
  const auto* status = decision.effect ? std::get_if<WriteStatus>(&*decision.effect) : nullptr;
  if (status && status->counts_attempt) memory.lost_at = now;
}

// Begins, alters or ends the drain as it was decided.
void Controller::Core::follow_drain(const std::string& name, const Decision& decision) {
  const auto known = draining.find(name);
  const Maintenance* maintenance = roster.find(name);
  const kube::Node* node = maintenance ? p.nodes.find(maintenance->node) : nullptr;
  const bool wanted = decision.drain && node && !options.dry_run;
  if (known != draining.end()) {
    const bool same = wanted && known->second.key == drain_key(*maintenance) && known->second.node_uid == node->uid;
    if (same && known->second.options == *decision.drain) return;
    if (!same) {
      p.engine.end(known->second.key);
      draining.erase(known);
    }
  }
  if (!wanted) return;
  const drain::Key key = drain_key(*maintenance);
  p.engine.begin(key, node->uid, *decision.drain);
  const auto [it, is_new] = draining.try_emplace(name, Draining{key, *decision.drain, node->uid, p.loop.wall_now()});
  it->second.options = *decision.drain;
  if (is_new) p.log.info("Evict all Pods from Node", "nodeName", maintenance->node, "name", name);
  queue.wake(name);
}

void Controller::Core::say_that_it_lasts(const std::string& name, const Decision& decision) {
  const auto known = draining.find(name);
  if (known == draining.end() || known->second.told || !decision.drain) return;
  const drain::Progress* progress = p.engine.progress(known->second.key);
  if (!progress || progress->phase == drain::Progress::Phase::drained) return;
  const io::Wall when = known->second.since + kAtOnce;
  if (p.loop.wall_now() < when) return queue.wake_at(name, io::steady_at(p.loop, when));
  known->second.told = true;
  p.log.info("Reconciling with fixed duration", "name", name, "nodeName", known->second.key.node, "pendingPods",
             progress->pods.size());
}

bool Controller::Core::may_write(const std::string& name, const Decision& decision) {
  const auto* status = decision.effect ? std::get_if<WriteStatus>(&*decision.effect) : nullptr;
  if (status && !status->urgent) return turns.take(name);
  turns.leave(name);
  return decision.effect.has_value();
}

void Controller::Core::rehearse(const std::string& name, const Decision& decision) {
  if (std::exchange(rehearsed[name], decision.why.text) == decision.why.text) return;
  p.log.info("dry run", "name", name, "decision", decision.why.text);
}

void Controller::Core::forget(const std::string& name) {
  memories.erase(name);
  rehearsed.erase(name);
  turns.leave(name);
  queue.forget(name);
  std::vector<std::string> gone;
  for (auto& [problem, names] : complaints) {
    if (names.erase(name) > 0 && names.empty()) gone.push_back(problem);
  }
  for (const std::string& problem : gone) clear(problem);
}

void Controller::Core::done(const std::string& key) {
  meters.end_work(key, p.loop.now());
  queue.done(key);
}

Controller::Controller(controllers::Host host, kube::Store<kube::Object>& maintenances, ControllerOptions options)
    : core_(std::make_unique<Core>(std::move(host), maintenances, std::move(options))) {}

Controller::~Controller() = default;

Task<void> Controller::run() {
  core_->running = true;
  core_->places.begin();
  core_->wake_all();
  while (!core_->stopping) {
    const std::string key = co_await core_->queue.next();
    if (core_->stopping) {
      core_->queue.done(key);
      break;
    }
    core_->decide_one(key);
  }
}

Task<void> Controller::stop() {
  core_->stopping = true;
  core_->queue.clear();
  while (core_->queue.working() > 0) co_await core_->queue.idle().wait();
}

void Controller::leases_known() {
  core_->leases_known = true;
  core_->wake_all();
}

void Controller::clock_stepped(io::Duration by) {
  for (auto& [name, memory] : core_->memories) memory.clock_stepped(by);
  for (auto& [name, draining] : core_->draining) draining.since += by;
  core_->wake_all();
}

void Controller::pods_known() {
  core_->pods_known = true;
  core_->wake_all();
}

}  // namespace careen::nodemaintenance
