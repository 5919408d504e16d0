// careen as one replica of itself: caches, leader election, ledger, controllers and their configuration. It does not
// know where it runs: on a real cluster over HTTP, or on the model cluster in virtual time. Destroying it is a crash;
// what it has sent may still arrive.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "budget/ledger.h"
#include "drain/engine.h"
#include "io/files.h"
#include "io/http.h"
#include "io/mail.h"
#include "io/random.h"
#include "kube/disruption_budget.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "kube/pod_store.h"
#include "kube/reflector.h"
#include "kube/workload.h"
#include "nodemaintenance/controller.h"
#include "notify/slack_threads.h"
#include "profiles/controller.h"
#include "profiles/shuffles.h"
#include "replica/config_source.h"
#include "replica/pause_watch.h"

namespace careen::replica {

struct ReplicaParts {
  io::Loop& loop;
  io::Files& files;
  io::Random& random;
  kube::Transport& transport;
  kube::Transport& lease_transport;  // of its own, so that a busy one cannot delay a renewal
  io::HttpClient& http;              // to everything that is no API server
  io::MailClient& mail;
  profiles::Environment environment;
  io::Log log;
};

struct ReplicaOptions {
  std::string config;  // path
  std::string host;    // in the identity and in events
  std::string ns;      // of the locks and the ledger
  bool profiles = true;
  bool maintenances = false;  // NodeMaintenance objects
  bool leader_election = false;
  bool cache_pods = true;
  bool strict_config = false;
  std::string slack_api = {};  // empty: Slack itself
  profiles::ControllerOptions controller = {};
  nodemaintenance::ControllerOptions maintenance = {};
  std::string own_pod = {};  // its name, in `ns`, when careen runs in one
  ConfigSource::Adjust adjust_config = {};
};

// What happens to a replica, for those who show it. What is not set is not called; nothing may change the replica.
struct ReplicaListener {
  std::function<void(const kube::EventRecord&)> event = {};  // recorded, repetitions too
  std::function<void(const std::string& node, const profiles::Moved&)> moved = {};
  std::function<void(const std::string& node, const std::string& instance)> message_sent = {};
  std::function<void(const drain::Key&)> drain = {};                                     // its progress has changed
  std::function<void(const std::string& key, const std::string* message)> problem = {};  // null: it is gone
  std::function<void()> configured = {};                                                 // a configuration was taken
  std::function<void(const std::string& node)> node = {};                                // changed, new or gone
  std::function<void()> pauses = {};
  std::function<void()> other = {};  // a lease, a maintenance or a disruption budget has changed
};

class Replica {
 public:
  // The lock of the original, so that the two never lead at once. NodeMaintenance objects have one of their own.
  static constexpr const char* kLock = "maintenance-controller-leader-election.cloud.sap";

  Replica(ReplicaParts parts, ReplicaOptions options);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Called when a configuration was taken, and when the first lists are complete.
  std::function<void()> on_config;
  std::function<void()> on_synced;

  // From now on; they are told for as long as the replica lives.
  void listen(ReplicaListener listener);

  // Until stopped, or until it must not go on. The exit code.
  io::Task<int> main();
  void stop() { stop_.open(); }

  io::Metrics& metrics() { return metrics_; }
  io::Problems& problems() { return problems_; }
  const std::string& identity() const { return identity_; }
  const kube::Election& election() const { return election_; }
  const budget::Ledger& ledger() const { return ledger_; }
  const kube::Store<kube::Node>& nodes() const { return nodes_; }
  const profiles::Controller& controller() const { return controller_; }
  const nodemaintenance::Controller& maintenances() const { return maintenance_; }
  const drain::Engine& drains() const { return engine_; }
  const budget::Pauses& pauses() const { return pause_watch_.pauses(); }
  // What is watched of NodeMaintenance objects; null when they are not.
  const kube::Store<kube::Object>* known_maintenances() const {
    return options_.maintenances ? &maintenances_ : nullptr;
  }
  kube::Client& reader() { return open_client_; }
  io::Wall now() const { return loop_.wall_now(); }
  io::Loop& loop() { return loop_; }
  const ReplicaOptions& options() const { return options_; }
  const kube::Store<kube::DisruptionBudget>& disruption_budgets() const { return budgets_; }
  // It decides: it leads, and knows enough to.
  bool running() const { return options_.profiles ? controller_.running() : maintaining_; }

 private:
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
  io::Task<void> wind_down();
  io::Task<void> stop_controllers();

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
