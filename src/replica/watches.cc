// What a replica watches: nodes always, the rest when somebody needs it.
#include <algorithm>
#include <utility>

#include "controllers/nodemaintenance/names.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/occupancy.h"
#include "drain/filter.h"
#include "replica/replica_core.h"

namespace careen::replica {

using io::Task;

namespace {

// If budgets cannot be listed for this long, careen does without them until they can.
constexpr io::Duration kBudgetPatience = io::seconds{5};

}  // namespace

std::unique_ptr<kube::Reflector> Replica::Core::make_reflector(kube::Sink& sink, kube::ReflectorOptions options) {
  const std::string name = options.name.empty() ? options.resource.plural : options.name;
  return std::make_unique<kube::Reflector>(loop_, open_client_, metrics_, problems_, random_, sink, std::move(options),
                                           root_log_.named(name));
}

profiles::ShuffleParts Replica::Core::shuffle_parts() {
  const auto all_known = [this] {
    return std::all_of(kube::kWorkloadKinds.begin(), kube::kWorkloadKinds.end(),
                       [this](kube::WorkloadKind kind) { return knows(kind); });
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

// Starts to watch what the configuration needs; watches that are no longer needed run until the process ends.
void Replica::Core::take_config(std::shared_ptr<const profiles::Config> config) {
  const profiles::Needs& needs = config->needs;
  for (const std::string& ns : needs.lease_namespaces) watch_leases(ns);
  if (needs.hypervisors) watch_hypervisors();
  if (needs.pods) watch_pods();
  if (needs.budgets) watch_budgets();
  if (decoder_.want(kube::NodeSections(needs.node_sections))) node_reflector_.request_relist();
  controller_.set_config(std::move(config));
  shuffles_.profiles_changed();
  if (replica_.on_config) replica_.on_config();
  for (const ReplicaListener& listener : listeners_) {
    if (listener.configured) listener.configured();
  }
}

void Replica::Core::watch_leases(const std::string& ns) {
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
  kube::ReflectorOptions options{.resource = kube::resources::leases};
  options.ns = ns;
  options.name = "leases of " + ns;
  watch->reflector = make_reflector(*watch->sink, std::move(options));
  scope_.spawn(watch->reflector->run());
  scope_.spawn(tell_when_known(*watch->reflector, [this, ns] {
    controller_.leases_known(ns);
    if (ns == options_.maintenance.lease_namespace) maintenance_.leases_known();
  }));
}

void Replica::Core::watch_hypervisors() {
  if (hypervisor_reflector_) return;
  hypervisor_sink_ = kube::make_sink(hypervisors_, [](kube::RawObject& raw) { return kube::decode_object(raw); });
  hypervisor_reflector_ = make_reflector(*hypervisor_sink_, {.resource = profiles::kHypervisorResource});
  scope_.spawn(hypervisor_reflector_->run());
  scope_.spawn(tell_when_known(*hypervisor_reflector_, [this] { controller_.hypervisors_known(); }));
}

void Replica::Core::watch_pods() {
  if (std::exchange(pods_watched_, true)) return;
  scope_.spawn(pod_reflector_.run());
  scope_.spawn(tell_when_known(pod_reflector_, [this] {
    controller_.pods_known();
    engine_.pods_known();
    maintenance_.pods_known();
  }));
}

void Replica::Core::watch_budgets() {
  if (budget_reflector_) return;
  budget_sink_ = kube::make_sink(budgets_, [](kube::RawObject& raw) { return kube::decode_disruption_budget(raw); });
  budget_reflector_ = make_reflector(*budget_sink_, {.resource = kube::resources::disruption_budgets});
  scope_.spawn(budget_reflector_->run());
  scope_.spawn(tell_of_budgets());
}

Task<void> Replica::Core::tell_of_budgets() {
  io::Gate& synced = budget_reflector_->synced_gate();
  if (!co_await io::with_timeout(loop_, kBudgetPatience, io::completed(io::wait_for(synced)))) {
    engine_.budgets_unavailable("they could not be listed");
    co_await synced.wait();
  }
  engine_.budgets_known();
}

void Replica::Core::watch_maintenances() {
  watch_pods();
  watch_budgets();
  watch_leases(options_.maintenance.lease_namespace);
  watch_workload(kube::WorkloadKind::daemon_set);
  maintenance_sink_ = kube::make_sink(maintenances_, [](kube::RawObject& raw) { return kube::decode_object(raw); });
  maintenance_reflector_ = make_reflector(*maintenance_sink_, {.resource = nodemaintenance::kResource});
  scope_.spawn(maintenance_reflector_->run());
}

void Replica::Core::watch_workload(kube::WorkloadKind kind) {
  const auto watched = [kind](const WorkloadWatch& watch) { return watch.kind == kind; };
  if (std::any_of(workload_watches_.begin(), workload_watches_.end(), watched)) return;
  WorkloadWatch watch;
  watch.kind = kind;
  watch.sink = kube::make_sink(workloads_, kind, atoms_);
  watch.reflector = make_reflector(*watch.sink, {.resource = kube::resource_of(kind)});
  scope_.spawn(watch.reflector->run());
  if (kind == kube::WorkloadKind::daemon_set) {
    scope_.spawn(tell_when_known(*watch.reflector, [this] { engine_.daemon_sets_known(); }));
    workloads_.of(kind).subscribe([this](const kube::Workload*, const kube::Workload* after) {
      if (!after) engine_.daemon_sets_known();
    });
  }
  workload_watches_.push_back(std::move(watch));
}

bool Replica::Core::knows(kube::WorkloadKind kind) const {
  return std::any_of(workload_watches_.begin(), workload_watches_.end(),
                     [kind](const WorkloadWatch& watch) { return watch.kind == kind && watch.reflector->synced(); });
}

drain::DaemonSetState Replica::Core::daemon_set(std::string_view ns, std::string_view name) const {
  if (!knows(kube::WorkloadKind::daemon_set)) return drain::DaemonSetState::unknown;
  return workloads_.find(kube::WorkloadKind::daemon_set, ns, name) ? drain::DaemonSetState::exists
                                                                   : drain::DaemonSetState::missing;
}

Task<void> Replica::Core::tell_when_known(kube::Reflector& reflector, std::function<void()> tell) {
  co_await reflector.synced_gate().wait();
  tell();
}

}  // namespace careen::replica
