#include "controllers/machines/controller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/pause.h"
#include "controllers/machines/controller_core.h"
#include "controllers/machines/names.h"
#include "controllers/machines/picture.h"
#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/steady_at.h"

namespace careen::machines {

using io::Task;

namespace {

// What stands before the name in the keys of the queue.
constexpr std::string_view kMachineKey = "machine/", kHostKey = "host/", kClusterKey = "cluster/", kNodeKey = "node/";
constexpr const char* kTooMany = "clusters";
constexpr const char *kConnected = "careen_cluster_connected", *kSilence = "careen_cluster_silence_seconds",
                     *kTaken = "careen_cluster_kubeconfigs_taken";
// Of the Machines that something is being done about so many are shown for each cluster.
constexpr size_t kMostShown = 50;
// Many times as many as one careen is meant for. Beyond it a cluster waits, and says so.
constexpr size_t kMostClusters = 2000;
// How long a cluster that nobody needs is kept for the sake of the labels on its Nodes: while there is a Secret to
// reach it by it may come back, and without one it is most probably deleted.
constexpr io::Duration kLongestFarewell = io::minutes{15}, kFarewellWithoutSecret = io::minutes{1};
constexpr io::Duration kLookAgain = io::seconds{5};

std::string keyed(std::string_view what, std::string_view name) { return std::string(what) + std::string(name); }
std::string node_key(std::string_view cluster, std::string_view node) {
  return std::string(cluster) + '/' + std::string(node);
}

// The Machine is to be looked after, or something of careen's is left on it.
bool needs_cluster(const Machine& machine) { return !machine.cluster.empty() && (machine.enabled || machine.hooked); }

// What is waited for is worth asking for again while its cluster is silent.
bool has_business(const Machine& machine) {
  return machine.deleting || machine.asked != Asked::nothing || (!machine.enabled && machine.hooked) ||
         (machine.enabled && !machine.hooked);
}

// Two Clusters may lead to one API server by mistake: each leaves the Nodes alone that say they are the other's.
bool may_be_of(const Node& node, std::string_view cluster) {
  const size_t slash = cluster.find('/');
  const bool other_namespace = !node.machine_ns.empty() && !(node.machine_ns == cluster.substr(0, slash));
  const bool other_name = !node.cluster.empty() && !(node.cluster == cluster.substr(slash + 1));
  return !other_namespace && !other_name;
}

std::vector<std::string> hosts_named_by(const Machine& machine) {
  const auto host = host_of(machine.provider_id);
  if (!host) return {};
  return {host->uid.empty() ? kube::object_key(host->ns, host->name) : "uid:" + host->uid};
}

}  // namespace

Controller::Core::Core(controllers::Host host, ControllerOptions wanted)
    : p(std::move(host)),
      options(wanted),
      machines([this](std::string_view name) { return p.watches.parts(name); }, p.atoms),
      by_cluster(machines.store(),
                 [](const Machine& one) {
                   return one.cluster.empty() ? std::vector<std::string>() : std::vector{one.cluster_key()};
                 }),
      by_node(machines.store(),
              [](const Machine& one) {
                return one.node.empty() ? std::vector<std::string>()
                                        : std::vector{node_key(one.cluster_key(), one.node)};
              }),
      by_host(machines.store(), hosts_named_by),
      queue(p.loop, {.first = io::seconds{1}, .longest = io::minutes{5}}),
      meters(p.metrics, "machine"),
      pause_guard(p.loop, &p.pauses),
      acting(p.loop) {
  new_writer();
  machines.on_version([this] {
    new_writer();
    if (doors) doors->follow(machines.resource().version);
    wake_all();
  });
  changes.push_back(machines.store().subscribe(
      [this](const Machine* before, const Machine* after) { machine_changed(before, after); }));
  changes.push_back(p.pauses.subscribe([this] { wake_all(); }));
  if (options.relay.metal3) {
    hosts = std::make_unique<kube::Watched<Host>>(p.watches.parts("baremetalhosts"),
                                                  kube::ReflectorOptions{.resource = kHosts},
                                                  [this](kube::RawObject& raw) { return read_host(raw, p.atoms); });
    host_writer = std::make_unique<kube::ObjectWriter<Host>>(
        p.client, kHosts, hosts->store(), [this](std::string_view json) { return read_host(json, p.atoms); }, p.log);
    hosts_by_uid =
        std::make_unique<kube::Index<Host>>(hosts->store(), [](const Host& one) { return std::vector{one.uid}; });
    changes.push_back(
        hosts->store().subscribe([this](const Host* before, const Host* after) { host_changed(before, after); }));
  }
  if (options.upgrade_windows) {
    doors = std::make_unique<UpgradeDoors>(
        UpgradeDoorsParts{.loop = p.loop,
                          .client = p.client,
                          .atoms = p.atoms,
                          .pauses = p.pauses,
                          .events = p.events,
                          .problems = p.problems,
                          .log = p.log,
                          .dry_run = p.dry_run,
                          .watch = [this](std::string_view name) { return p.watches.parts(name); },
                          .changed = [this] { on_change.tell(); }});
  }
  if (options.pause_health_checks) {
    checks = std::make_unique<HealthChecks>(HealthChecksParts{
        .loop = p.loop,
        .problems = p.problems,
        .log = p.log,
        .dry_run = p.dry_run,
        .machines = by_cluster,
        .workload = [this](const std::string& cluster) { return find_workload(cluster); },
        .changed = [this] { on_change.tell(); },
        .out_changed = [this](const std::string& cluster) { queue.wake(keyed(kClusterKey, cluster)); }});
  }
  shown = p.metrics.before_scrape_while([this] {
    meters.show_work(p.loop.now());
    show_clusters();
  });
}

// Writes that are under way keep the one that they began with.
void Controller::Core::new_writer() {
  machine_writer = std::make_shared<kube::ObjectWriter<Machine>>(
      p.client, machines.resource(), machines.store(),
      [this](std::string_view json) { return read_machine(json, p.atoms); }, p.log);
}

void Controller::Core::machine_changed(const Machine* before, const Machine* after) {
  const auto adjust = [this](const Machine& machine, bool more) {
    if (!needs_cluster(machine)) return;
    const std::string cluster = machine.cluster_key();
    size_t& count = needs[cluster];
    count += more ? 1 : -1;
    if (count == 0) needs.erase(cluster);
    if (running) queue.wake(keyed(kClusterKey, cluster));
  };
  // First what is there now, so that a cluster is not let go in between.
  if (after) adjust(*after, true);
  if (before) adjust(*before, false);
  on_change.tell();
  if (!running) return;
  queue.wake(keyed(kMachineKey, (after ? after : before)->key()));
  for (const Machine* one : {before, after}) {
    if (!one) continue;
    wake_hosts_of(*one);
    if (one->node.empty()) continue;
    const std::string node = node_key(one->cluster_key(), one->node);
    queue.wake(keyed(kNodeKey, node));
    // Others may claim it, too.
    if (by_node.count(node) < 2) continue;
    by_node.for_each(node, [this](const Machine& other) { queue.wake(keyed(kMachineKey, other.key())); });
  }
}

void Controller::Core::node_changed(const std::string& cluster, const Node* before, const Node* after) {
  if (!running) return;
  if (checks) checks->node_changed(cluster, before, after);
  const std::string key = node_key(cluster, (after ? after : before)->name);
  by_node.for_each(key, [this](const Machine& one) { queue.wake(keyed(kMachineKey, one.key())); });
  if (after && after->marked()) queue.wake(keyed(kNodeKey, key));
}

void Controller::Core::host_changed(const Host* before, const Host* after) {
  on_change.tell();
  if (!running) return;
  const Host& host = after ? *after : *before;
  queue.wake(keyed(kHostKey, host.key()));
  for (const std::string& name : {host.key(), "uid:" + host.uid}) {
    by_host.for_each(name, [this](const Machine& one) { queue.wake(keyed(kMachineKey, one.key())); });
  }
}

void Controller::Core::wake_hosts_of(const Machine& machine) {
  const auto host = hosts ? host_of(machine.provider_id) : std::nullopt;
  if (!host) return;
  if (host->uid.empty()) return queue.wake(keyed(kHostKey, kube::object_key(host->ns, host->name)));
  hosts_by_uid->for_each(host->uid, [this](const Host& one) { queue.wake(keyed(kHostKey, one.key())); });
}

void Controller::Core::wake_cluster(const std::string& cluster) {
  on_change.tell();
  by_cluster.for_each(cluster, [this](const Machine& one) { queue.wake(keyed(kMachineKey, one.key())); });
  queue.wake(keyed(kClusterKey, cluster));
  if (checks) checks->cluster_changed(cluster);
}

void Controller::Core::wake_all() {
  if (!running) return;
  machines.store().for_each([this](const Machine& one) { queue.wake(keyed(kMachineKey, one.key())); });
  if (hosts) hosts->store().for_each([this](const Host& one) { queue.wake(keyed(kHostKey, one.key())); });
}

const budget::Pause* Controller::Core::pause() const { return p.pauses.of(""); }

Workload* Controller::Core::find_workload(std::string_view cluster) const {
  const auto found = workloads.find(cluster);
  return found == workloads.end() ? nullptr : found->second.get();
}

// Some Machine needs its cluster, or its health checks are held back for one.
bool Controller::Core::is_needed(const std::string& cluster) const {
  return needs.contains(cluster) || (checks && checks->anybody_out(cluster));
}

// Usually one Machine says that a Node is its own, and the Node says nothing else. Where several do, or a name is used
// again while its last Machine is still there, the Node says whose it is: those in its cluster who can write that can
// harm nobody but those Machines.
const Machine* Controller::Core::owner_of(const std::string& cluster, const Node& node) const {
  const std::string key = node_key(cluster, node.name);
  const bool sole = by_node.count(key) == 1;
  const Machine* owner = nullptr;
  by_node.for_each(key, [&](const Machine& one) {
    // Atoms of two clusters are never the same.
    const bool same_namespace = node.machine_ns.empty() || node.machine_ns == one.ns.view();
    const bool named = node.machine == one.name && same_namespace;
    if (named || (sole && node.machine.empty())) owner = &one;
  });
  return owner;
}

const Host* Controller::Core::host_behind(const Machine& machine) const {
  if (!hosts) return nullptr;
  const Host* found = nullptr;
  const auto named = host_of(machine.provider_id);
  if (!named) return nullptr;
  if (named->uid.empty()) {
    found = hosts->store().find(kube::object_key(named->ns, named->name));
  } else {
    hosts_by_uid->for_each(named->uid, [&](const Host& one) { found = &one; });
  }
  return found && belongs(*found, machine) ? found : nullptr;
}

World Controller::Core::world(const Machine& machine) const {
  World world;
  world.machine = &machine;
  world.host = host_behind(machine);
  world.pause = pause();
  if (machine.node.empty()) return world;
  const Workload* const workload = find_workload(machine.cluster_key());
  world.sight = Sight::connecting;
  if (!workload || workload->state() == Workload::State::connecting) return world;
  if (workload->state() == Workload::State::failing) {
    world.sight = Sight::unseen;
    world.trouble = workload->trouble();
    return world;
  }
  const Node* const node = workload->nodes()->find(machine.node);
  const Machine* const owner = node ? owner_of(workload->key(), *node) : nullptr;
  if (owner == &machine) {
    world.sight = Sight::seen;
    world.node = node;
  } else {
    world.sight = node && !owner ? Sight::disputed : Sight::gone;
    if (owner) world.trouble = fmt::format("is that of Machine {} now", owner->key());
  }
  return world;
}

PowerWorld Controller::Core::power_world(const Host& host) const {
  PowerWorld world;
  world.host = &host;
  world.pause = pause();
  for (const std::string& name : {host.key(), "uid:" + host.uid}) {
    by_host.for_each(name, [&](const Machine& one) { world.machines.push_back(&one); });
  }
  return world;
}

void Controller::Core::decide_one(const std::string& key) {
  meters.queue_wait.observe(io::to_seconds(queue.last_wait()));
  meters.queue_depth.set(static_cast<double>(queue.depth()));
  meters.begin_work(key, p.loop.now());
  const std::string name = key.substr(key.find('/') + 1);
  if (key.starts_with(kMachineKey)) return decide_machine(name);
  if (key.starts_with(kHostKey)) return decide_host(name);
  if (key.starts_with(kClusterKey)) return decide_cluster(name);
  return decide_node(name);
}

void Controller::Core::decide_machine(const std::string& name) {
  const std::string key = keyed(kMachineKey, name);
  const Machine* const machine = machines.store().find(name);
  if (!machine) {
    forget(name);
    return done(key);
  }
  const io::Steady begun = p.loop.now();
  const io::Wall now = p.loop.wall_now();
  Memory& memory = memories[name];
  const World seen = world(*machine);
  observe(seen, memory, now);
  Decision decision = decide(seen, memory, options.relay, now);
  count(name, machine->cluster_key(), decision.phase);
  if (checks) checks->decided(*machine, decision.out);
  meters.reconciles(decision.wake ? "requeue_after" : "success").add();
  meters.reconcile_time.observe(io::to_seconds(p.loop.now() - begun));
  if (decision.wake) queue.wake_at(key, io::steady_at(p.loop, *decision.wake));
  // That the cluster is heard of again nobody tells.
  if (seen.sight == Sight::unseen && (has_business(*machine) || decision.out))
    queue.wake_at(key, p.loop.now() + kLookAgain);
  if (p.dry_run) {
    std::string text = text_of(decision);
    if (std::exchange(rehearsed[name], text) != text && !text.empty()) {
      p.log.info("dry run", "machine", name, "decision", text);
    }
    return done(key);
  }
  if (decision.node) {
    acting.spawn(write_node(key, machine->cluster_key(), machine->node, std::move(*decision.node)));
  } else if (decision.machine) {
    acting.spawn(write_machine(key, name, std::move(*decision.machine), seen.sight, pause_guard.changes()));
  } else {
    const bool is_over = decision.phase == Phase::disabled && !decision.out && !decision.wake;
    if (!needs_cluster(*machine)) {
      if (is_over) memories.erase(name);
      if (!machine->node.empty()) queue.wake(keyed(kNodeKey, node_key(machine->cluster_key(), machine->node)));
    }
    queue.succeeded(key);
    p.problems.clear(key);
    done(key);
  }
}

void Controller::Core::decide_host(const std::string& name) {
  const std::string key = keyed(kHostKey, name);
  const Host* const host = hosts->store().find(name);
  if (!host) {
    troubles.erase(name);
    queue.forget(key);
    return done(key);
  }
  PowerDecision decision = decide_power(power_world(*host));
  tell_trouble(name, decision.machine, decision.trouble);
  if (p.dry_run) return done(key);
  if (decision.hold) {
    acting.spawn(write_host(key, name, *decision.hold, decision.machine, pause_guard.changes()));
  } else if (decision.reboot) {
    acting.spawn(reboot_once(key, name, decision.reboot->machine, pause_guard.changes()));
  } else {
    queue.succeeded(key);
    p.problems.clear(key);
    done(key);
  }
}

// Nobody needs it, and there was time enough for the labels on its Nodes.
bool Controller::Core::is_given_up(const std::string& cluster) const {
  const auto since = closing.find(cluster);
  if (since == closing.end()) return false;
  const Workload* const workload = find_workload(cluster);
  const bool has_secret = workload && workload->has_secret();
  return p.loop.now() >= since->second + (has_secret ? kLongestFarewell : kFarewellWithoutSecret);
}

// Connected as long as somebody needs it, and a little longer if there is something of careen's on its Nodes.
void Controller::Core::decide_cluster(const std::string& name) {
  const std::string key = keyed(kClusterKey, name);
  const auto known = workloads.find(name);
  if (is_needed(name)) {
    closing.erase(name);
    if (known == workloads.end() && workloads.size() >= kMostClusters) {
      p.problems.raise(kTooMany, fmt::format("{} clusters are connected, which is as many as there may be: cluster {} "
                                             "and perhaps others wait",
                                             workloads.size(), name));
      queue.wake_at(key, p.loop.now() + kLookAgain);
    } else if (known == workloads.end()) {
      const size_t slash = name.find('/');
      const auto node_tell = [this, name](const Node* before, const Node* after) { node_changed(name, before, after); };
      WorkloadParts parts{.loop = p.loop,
                          .random = p.random,
                          .metrics = p.metrics,
                          .problems = p.problems,
                          .log = p.log,
                          .management = *p.abroad.reader,
                          .atoms = p.atoms,
                          .connect = p.abroad.connect,
                          .guard = p.abroad.guard,
                          .unseen = unseen,
                          .node_changed = node_tell,
                          .state_changed = [this, name] { wake_cluster(name); },
                          .health_check_changed = {}};
      if (checks) {
        parts.health_check_changed = [this, name](const HealthCheck* before, const HealthCheck* after) {
          checks->check_changed(name, before, after);
        };
      }
      workloads.emplace(name,
                        std::make_unique<Workload>(std::move(parts), name.substr(0, slash), name.substr(slash + 1)));
      on_change.tell();
    }
    return done(key);
  }
  if (known == workloads.end()) {
    queue.forget(key);
    return done(key);
  }
  closing.try_emplace(name, p.loop.now());
  const bool may_wait = !is_given_up(name) && !p.dry_run;
  bool marked = may_wait && checks && !checks->held(name).empty();
  if (const auto* nodes = may_wait ? known->second->nodes() : nullptr) {
    nodes->for_each([&](const Node& node) {
      if (!node.marked() || !may_be_of(node, name)) return;
      marked = true;
      queue.wake(keyed(kNodeKey, node_key(name, node.name)));
    });
  }
  const bool asked_first = known->second->state() == Workload::State::connecting;
  if ((may_wait && (marked || asked_first)) || known->second->busy()) {
    queue.wake_at(key, p.loop.now() + kLookAgain);
    return done(key);
  }
  closing.erase(name);
  workloads.erase(known);
  p.problems.clear(kTooMany);
  on_change.tell();
  queue.forget(key);
  done(key);
}

// It is no Machine's, or that of one that is out of careen's care and tries no more to take its labels off it.
bool Controller::Core::is_left_alone(const std::string& cluster, const Node& node) const {
  if (by_node.count(node_key(cluster, node.name)) == 0) return true;
  const Machine* const owner = owner_of(cluster, node);
  if (!owner || needs_cluster(*owner)) return false;
  const auto memory = memories.find(owner->key());
  return memory == memories.end() || memory->second.node_failures >= kTries;
}

// A Node that nobody else looks after, and has labels of careen's.
void Controller::Core::decide_node(const std::string& name) {
  const std::string key = keyed(kNodeKey, name);
  const size_t slash = name.rfind('/');
  const std::string cluster = name.substr(0, slash);
  const auto workload = workloads.find(cluster);
  const auto* const nodes = workload == workloads.end() ? nullptr : workload->second->nodes();
  const Node* const node = nodes ? nodes->find(name.substr(slash + 1)) : nullptr;
  std::optional<NodeWrite> write;
  const bool alone = node && is_left_alone(cluster, *node) && may_be_of(*node, cluster);
  if (alone && !p.dry_run && !is_given_up(cluster)) write = tidy(*node);
  if (write) {
    acting.spawn(write_node(key, cluster, node->name, std::move(*write)));
    return;
  }
  p.problems.clear(key);
  queue.forget(key);
  done(key);
}

void Controller::Core::count(const std::string& machine, const std::string& cluster, Phase phase) {
  const auto known = counted.find(machine);
  if (known != counted.end() && known->second.phase == phase && known->second.cluster == cluster) return;
  count_no_more(machine);
  Tally& tally = tallies[cluster];
  ++tally.counts[static_cast<size_t>(phase)];
  if (is_busy(phase)) tally.busy.emplace(machine);
  counted.insert_or_assign(machine, Counted{phase, cluster});
  on_change.tell();
}

void Controller::Core::count_no_more(const std::string& machine) {
  const auto known = counted.find(machine);
  if (known == counted.end()) return;
  const auto tally = tallies.find(known->second.cluster);
  --tally->second.counts[static_cast<size_t>(known->second.phase)];
  tally->second.busy.erase(machine);
  if (std::ranges::all_of(tally->second.counts, [](size_t count) { return count == 0; })) tallies.erase(tally);
  counted.erase(known);
  on_change.tell();
}

// As metrics; those of a cluster go with it.
void Controller::Core::show_clusters() {
  std::array<size_t, kPhases> sum{};
  for (const auto& [cluster, tally] : tallies) {
    for (size_t i = 0; i < kPhases; ++i) sum[i] += tally.counts[i];
  }
  for (size_t i = 0; i < kPhases; ++i) {
    p.metrics
        .gauge("careen_machines", "Machines that careen knows of, by what is being done about them.",
               {{"phase", std::string(name_of(static_cast<Phase>(i)))}})
        .set(static_cast<double>(sum[i]));
  }
  for (const std::string& cluster : std::exchange(shown_clusters, {})) {
    if (workloads.contains(cluster)) continue;
    for (const char* name : {kConnected, kSilence, kTaken}) p.metrics.drop_gauge(name, {{"cluster", cluster}});
  }
  for (const auto& [cluster, workload] : workloads) {
    const io::Labels labels{{"cluster", cluster}};
    shown_clusters.emplace(cluster);
    p.metrics.gauge(kConnected, "1 while the Nodes of the workload cluster are known and heard of.", labels)
        .set(workload->state() == Workload::State::connected ? 1 : 0);
    p.metrics.gauge(kSilence, "For how long the workload cluster has not been heard of.", labels)
        .set(io::to_seconds(workload->silence()));
    p.metrics.gauge(kTaken, "Kubeconfigs of the workload cluster that were taken, the first included.", labels)
        .set(static_cast<double>(workload->credentials_taken()));
  }
}

void Controller::Core::forget(const std::string& machine) {
  const std::string key = keyed(kMachineKey, machine);
  count_no_more(machine);
  memories.erase(machine);
  if (checks) checks->forget(machine);
  rehearsed.erase(machine);
  p.problems.clear(key);
  queue.forget(key);
}

void Controller::Core::done(const std::string& key) {
  meters.end_work(key, p.loop.now());
  queue.done(key);
}

Controller::Controller(controllers::Host host, ControllerOptions options)
    : core_(std::make_unique<Core>(std::move(host), options)) {}
Controller::~Controller() = default;

void Controller::watch() {
  core_->acting.spawn(core_->machines.run());
  if (core_->hosts) core_->hosts->start();
}

Task<void> Controller::synced() { co_await core_->machines.synced_gate().wait(); }

Task<void> Controller::lead() {
  Core& core = *core_;
  co_await core.machines.refresh();
  core.running = true;
  for (const auto& [cluster, count] : core.needs) core.queue.wake(keyed(kClusterKey, cluster));
  core.wake_all();
  if (core.doors) core.acting.spawn(core.doors->lead());
  if (core.checks) core.acting.spawn(core.checks->lead());
  while (!core.stopping) {
    const std::string key = co_await core.queue.next();
    if (core.stopping) {
      core.queue.done(key);
      break;
    }
    core.decide_one(key);
  }
}

Task<void> Controller::stop() {
  Core& core = *core_;
  core.stopping = true;
  core.queue.clear();
  while (core.queue.working() > 0) co_await core.queue.idle().wait();
  if (core.doors) co_await core.doors->stop();
  if (core.checks) co_await core.checks->stop();
}

bool Controller::running() const { return core_->running; }

void Controller::clock_stepped(io::Duration by) {
  for (auto& [name, memory] : core_->memories) memory.clock_stepped(by);
  core_->wake_all();
  if (core_->doors) core_->doors->clock_stepped();
}

std::unique_ptr<controllers::Picture> Controller::picture() const {
  const Core& core = *core_;
  std::vector<ShownCluster> clusters;
  for (const auto& [name, workload] : core.workloads) {
    ShownCluster shown{.name = name,
                       .state = std::string(name_of(workload->state())),
                       .server = workload->server(),
                       .trouble = workload->trouble(),
                       .since = workload->since(),
                       .nodes = workload->nodes() ? workload->nodes()->size() : 0,
                       .phases = {},
                       .busy = {},
                       .upgrades = core.doors ? core.doors->shown(name) : std::string(),
                       .held_checks = core.checks ? core.checks->held(name) : std::vector<std::string>()};
    const auto tally = core.tallies.find(name);
    if (tally != core.tallies.end()) {
      for (size_t i = 0; i < kPhases; ++i) {
        if (const size_t count = tally->second.counts[i]) shown.phases.emplace_back(static_cast<Phase>(i), count);
      }
      for (const std::string& machine : tally->second.busy) {
        const Machine* const found = core.machines.store().find(machine);
        if (shown.busy.size() == kMostShown) break;
        if (found) shown.busy.push_back({*found, core.counted.at(machine).phase});
      }
    }
    clusters.push_back(std::move(shown));
  }
  return picture_of(std::move(clusters));
}

std::optional<std::string> Controller::document_of(std::string_view object) const {
  const Core& core = *core_;
  const Machine* const machine = core.machines.store().find(object);
  if (!machine) return std::nullopt;
  const World seen = core.world(*machine);
  const auto known = core.memories.find(machine->key());
  Memory memory = known == core.memories.end() ? Memory{} : known->second;
  observe(seen, memory, core.p.loop.wall_now());
  ShownMachine shown{
      .machine = machine, .node = seen.node, .now = core.p.loop.wall_now(), .decision = {}, .host = {}, .trouble = {}};
  shown.decision = decide(seen, memory, core.options.relay, core.p.loop.wall_now());
  const std::string upgrades = core.doors ? core.doors->shown(machine->cluster_key()) : std::string();
  if (!upgrades.empty()) {
    shown.decision.why.add(Why::Verdict::note, fmt::format("an upgrade of its cluster: {}", upgrades));
  }
  if (seen.host) {
    const PowerDecision power = decide_power(core.power_world(*seen.host));
    shown.host = fmt::format("{}: {}", seen.host->key(), name_of(power.power));
    if (power.trouble) shown.trouble = power.trouble->message;
  }
  return document_of_machine(shown);
}

std::optional<controllers::Entry> Controller::entry_of(const kube::EventRecord& event, io::Wall time) {
  return machines::entry_of(event, time);
}

void Controller::on_change(std::function<void()> tell) {
  core_->changes.push_back(core_->on_change.subscribe(std::move(tell)));
}

}  // namespace careen::machines
