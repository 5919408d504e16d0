// What a replica watches: nodes always, the rest when somebody needs it.
#include <utility>

#include "drain/filter.h"
#include "replica/replica_core.h"

namespace careen::replica {

using io::Task;

namespace {

// If budgets cannot be listed for this long, careen does without them until they can.
constexpr io::Duration kBudgetPatience = io::seconds{5};

void tell_known(kube::Watch& watch, std::function<void()> known) {
  if (watch.synced()) known();
  watch.on_synced(std::move(known));
}

}  // namespace

kube::Watch& Replica::Core::watch_leases(const std::string& ns) {
  auto& watch = lease_watches_[ns];
  if (watch) return *watch;
  watch = &cluster_.watched<kube::Lease>({.resource = kube::resources::leases, .ns = ns, .name = "leases of " + ns},
                                         cluster_.atoms());
  changes_.push_back(watch->store().subscribe([this](const kube::Lease* before, const kube::Lease* after) {
    if (after) {
      leases_.put(*after);
    } else {
      leases_.remove(before->key(), before->version);
    }
  }));
  watch->start();
  return *watch;
}

// Whoever asks for them may drain.
void Replica::Core::watch_budgets() {
  if (budgets_.started()) return;
  heed_drain_rules();
  budgets_.start();
  scope_.spawn(tell_of_budgets());
}

void Replica::Core::heed_drain_rules() {
  drain_rules_ = std::make_unique<DrainRulesWatch>(DrainRulesParts{
      cluster_, nodes_.store(), engine_,
      [this](bool wanted, std::function<void()> known) { know_machines("drain rules", wanted, std::move(known)); },
      about_this_});
  scope_.spawn(drain_rules_->run());
}

Task<void> Replica::Core::tell_of_budgets() {
  io::Gate& synced = budgets_.synced_gate();
  if (!co_await io::with_timeout(loop_, kBudgetPatience, io::completed(io::wait_for(synced)))) {
    engine_.budgets_unavailable("they could not be listed");
    co_await synced.wait();
  }
  engine_.budgets_known();
}

void Replica::Core::WatchesForControllers::pods(std::function<void()> known) {
  tell_known(core_.pod_watch_, std::move(known));
  core_.pod_watch_.start();
}

void Replica::Core::WatchesForControllers::disruption_budgets() { core_.watch_budgets(); }

void Replica::Core::WatchesForControllers::leases(const std::string& ns, std::function<void()> known) {
  tell_known(core_.watch_leases(ns), std::move(known));
}

void Replica::Core::WatchesForControllers::workloads(kube::WorkloadKind kind) { core_.watch_workload(kind); }

void Replica::Core::WatchesForControllers::node_sections(std::string_view by, const std::set<std::string>& pointers,
                                                         std::function<void()> known) {
  core_.node_sections_[std::string(by)] = pointers;
  std::set<std::string> all;
  for (const auto& [who, wanted] : core_.node_sections_) all.insert(wanted.begin(), wanted.end());
  if (core_.cluster_.node_decoder().want(kube::NodeSections(all))) core_.nodes_.request_relist();
  if (known) core_.scope_.spawn(core_.tell_of_sections(std::move(known)));
}

Task<void> Replica::Core::tell_of_sections(std::function<void()> known) {
  co_await nodes_.refresh();
  known();
}

std::unique_ptr<kube::Watched<kube::Object>> Replica::Core::WatchesForControllers::objects(
    kube::ReflectorOptions options) {
  kube::WatchParts parts = core_.cluster_.watch_parts(options.resource.plural);
  return std::make_unique<kube::Watched<kube::Object>>(std::move(parts), std::move(options),
                                                       [](kube::RawObject& raw) { return kube::decode_object(raw); });
}

void Replica::Core::watch_workload(kube::WorkloadKind kind) {
  auto& watch = workload_watches_[kind];
  if (watch) return;
  const kube::Resource& resource = kube::resource_of(kind);
  watch =
      std::make_unique<kube::Watch>(cluster_.watch_parts(resource.plural), kube::ReflectorOptions{.resource = resource},
                                    kube::make_sink(workloads_, kind, cluster_.atoms()));
  if (kind == kube::WorkloadKind::daemon_set) {
    watch->on_synced([this] { engine_.daemon_sets_known(); });
    changes_.push_back(workloads_.of(kind).subscribe([this](const kube::Workload*, const kube::Workload* after) {
      if (!after) engine_.daemon_sets_known();
    }));
  }
  watch->on_synced([this] {
    if (desk_) desk_->workloads_known();
  });
  watch->start();
}

// Limits about workloads are rare: what they need is watched once there is one.
void Replica::Core::watch_for(const limits::WorkloadLimits& limits) {
  if (limits.empty()) return;
  pod_watch_.start();
  for (const kube::WorkloadKind kind : limits.kinds()) watch_workload(kind);
  if (limits.needs_namespaces()) namespaces_.start();
}

// A node that says which machine it is is not taken for one of the same name in another cluster.
void Replica::Core::know_machines(bool wanted) { know_machines("limits", wanted, {}); }

void Replica::Core::know_machines(std::string_view by, bool wanted, std::function<void()> known) {
  if (node_sections_.contains(by) == wanted) return;
  if (wanted) return watches_for_controllers_.node_sections(by, {limits::kProviderIdPointer}, std::move(known));
  watches_for_controllers_.node_sections(by, {}, {});
  node_sections_.erase(node_sections_.find(by));
}

bool Replica::Core::knows(kube::WorkloadKind kind) const {
  const auto watch = workload_watches_.find(kind);
  return watch != workload_watches_.end() && watch->second->synced();
}

drain::DaemonSetState Replica::Core::daemon_set(std::string_view ns, std::string_view name) const {
  if (!knows(kube::WorkloadKind::daemon_set)) return drain::DaemonSetState::unknown;
  return workloads_.find(kube::WorkloadKind::daemon_set, ns, name) ? drain::DaemonSetState::exists
                                                                   : drain::DaemonSetState::missing;
}

}  // namespace careen::replica
