// The inside of a replica: its caches, its locks, its ledger and its controllers, in the order in which they are made.
// What comes later uses what comes before, and ends before it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "budget/ledger.h"
#include "controllers/nodemaintenance/controller.h"
#include "controllers/profiles/controller.h"
#include "controllers/profiles/shuffles.h"
#include "drain/engine.h"
#include "io/log.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/disruption_budget.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/node.h"
#include "kube/node_decoder.h"
#include "kube/objects.h"
#include "kube/pod_store.h"
#include "kube/reflector.h"
#include "kube/sink.h"
#include "kube/workload.h"
#include "notify/sender.h"
#include "notify/slack_threads.h"
#include "replica/config_source.h"
#include "replica/pause_watch.h"
#include "replica/replica.h"

namespace careen::replica {

class Replica::Core {
 public:
  // `replica` is whose inside it is; only its functions on_config and on_synced are used, and not before main().
  Core(const Replica& replica, ReplicaParts parts, ReplicaOptions options);
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void listen(ReplicaListener listener);
  io::Task<int> main();
  void stop() { stop_.open(); }

 private:
  friend class Replica;  // it shows what is below
  // A cache of its own, since a list tells what is gone only of the namespace that was listed; its leases are known
  // to the rest as part of `leases_`.
  struct LeaseWatch {
    kube::Store<kube::Lease> store;
    std::unique_ptr<kube::Sink> sink;
    std::unique_ptr<kube::Reflector> reflector;
  };
  struct WorkloadWatch {
    kube::WorkloadKind kind{};
    std::unique_ptr<kube::Sink> sink;
    std::unique_ptr<kube::Reflector> reflector;
  };

  std::optional<budget::LedgerOptions> ledger_options() const;
  std::unique_ptr<kube::Reflector> make_reflector(kube::Sink& sink, kube::ReflectorOptions options);
  profiles::ShuffleParts shuffle_parts();
  void take_config(std::shared_ptr<const profiles::Config> config);
  void watch_leases(const std::string& ns);
  void watch_hypervisors();
  void watch_pods();
  void watch_workload(kube::WorkloadKind kind);
  void watch_budgets();
  void watch_maintenances();
  bool knows(kube::WorkloadKind kind) const;
  drain::DaemonSetState daemon_set(std::string_view ns, std::string_view name) const;
  io::Task<void> tell_of_budgets();
  io::Task<void> tell_when_known(kube::Reflector& reflector, std::function<void()> tell);
  std::string lock() const;
  bool controls() const;
  std::unique_ptr<kube::Election> further_lock(ReplicaParts& parts);
  void record_election(const kube::Election& election, std::string lock, std::string message);
  std::optional<io::Duration> maintenance_window() const;
  io::Task<void> lead();
  io::Task<void> lead_maintenances();
  io::Task<void> hold_further_lock();
  io::Task<void> announce_synced();
  io::Task<void> until_lost();
  void clock_stepped(io::Duration by);
  io::Task<void> wind_down();
  io::Task<void> stop_controllers();

  const Replica& replica_;
  io::Loop& loop_;
  ReplicaOptions options_;
  io::Log log_;
  io::Problems problems_;
  io::Metrics metrics_;
  std::string identity_;
  kube::Client client_;              // writes only while we lead
  kube::Client maintenance_client_;  // the same, and only under the lock of NodeMaintenance objects
  kube::Client open_client_;         // reads, and events, which harm nobody when late
  kube::Client lease_client_;
  kube::AtomPool atoms_;
  kube::NodeDecoder decoder_{atoms_};
  kube::Store<kube::Node> nodes_;
  kube::PodStore pods_;
  kube::Store<kube::Lease> leases_;
  kube::Store<kube::Object> hypervisors_;
  kube::Workloads workloads_;
  kube::Store<kube::DisruptionBudget> budgets_;
  kube::Store<kube::Object> maintenances_;
  std::unique_ptr<kube::Sink> node_sink_;
  std::unique_ptr<kube::Sink> pod_sink_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
  kube::Election election_;
  std::unique_ptr<kube::Election> maintenance_election_;  // when the first lock is that of the profiles
  budget::Ledger ledger_;
  kube::EventRecorder events_;
  PauseWatch pause_watch_;
  notify::SlackThreads slack_threads_;
  notify::Outside outside_;
  drain::Engine engine_;
  profiles::Controller controller_;
  nodemaintenance::Controller maintenance_;
  profiles::Shuffles shuffles_;
  ConfigSource config_;
  io::Random& random_;
  io::Log root_log_;
  std::map<std::string, std::unique_ptr<LeaseWatch>> lease_watches_;
  bool pods_watched_ = false;
  std::unique_ptr<kube::Sink> hypervisor_sink_;
  std::unique_ptr<kube::Reflector> hypervisor_reflector_;
  std::vector<WorkloadWatch> workload_watches_;
  std::unique_ptr<kube::Sink> budget_sink_;
  std::unique_ptr<kube::Reflector> budget_reflector_;
  std::unique_ptr<kube::Sink> maintenance_sink_;
  std::unique_ptr<kube::Reflector> maintenance_reflector_;
  std::vector<ReplicaListener> listeners_;
  bool maintaining_ = false;
  io::Gate stop_;
  io::Scope scope_;
  io::Scope leading_;
};

}  // namespace careen::replica
