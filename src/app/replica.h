// careen as one replica of itself: caches, leader election, ledger, controllers and their configuration. It does not
// know where it runs: on a real cluster over HTTP, or on the model cluster in virtual time. Destroying it is a crash;
// what it has sent may still arrive.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "app/config_source.h"
#include "budget/ledger.h"
#include "io/files.h"
#include "io/http.h"
#include "io/mail.h"
#include "io/random.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/node_decoder.h"
#include "kube/pod_store.h"
#include "kube/reflector.h"
#include "kube/workload.h"
#include "notify/slack_threads.h"
#include "profiles/controller.h"
#include "profiles/shuffles.h"

namespace careen::app {

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
  std::string ns;      // of the lock and the ledger
  bool leader_election = false;
  bool cache_pods = true;
  bool strict_config = false;
  std::string slack_api = {};  // empty: Slack itself
  profiles::ControllerOptions controller = {};
};

class Replica {
 public:
  // The lock of the original, so that the two never lead at once.
  static constexpr const char* kLock = "maintenance-controller-leader-election.cloud.sap";

  Replica(ReplicaParts parts, ReplicaOptions options);
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Called when a configuration was taken, and when the first lists are complete.
  std::function<void()> on_config;
  std::function<void()> on_synced;

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
  kube::Client& reader() { return open_client_; }
  io::Wall now() const { return loop_.wall_now(); }

 private:
  // A cache of its own, since a list tells what is gone only of the namespace that was listed; its leases are known
  // to the rest as part of `leases_`.
  struct LeaseWatch {
    kube::Store<kube::Lease> store;
    std::unique_ptr<kube::Sink> sink;
    std::unique_ptr<kube::Reflector> reflector;
  };
  struct WorkloadWatch {
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
  void watch_workloads();
  io::Task<void> tell_when_known(kube::Reflector& reflector, std::function<void()> tell);
  void record_election(std::string message);
  io::Task<void> lead();
  io::Task<void> announce_synced();
  io::Task<void> until_lost();
  io::Task<void> wind_down();

  io::Loop& loop_;
  ReplicaOptions options_;
  io::Log log_;
  io::Problems problems_;
  io::Metrics metrics_;
  std::string identity_;
  kube::Client client_;       // writes only while we lead
  kube::Client open_client_;  // reads, and events, which harm nobody when late
  kube::Client lease_client_;
  kube::AtomPool atoms_;
  kube::NodeDecoder decoder_{atoms_};
  kube::Store<kube::Node> nodes_;
  kube::PodStore pods_;
  kube::Store<kube::Lease> leases_;
  kube::Store<kube::Object> hypervisors_;
  kube::Workloads workloads_;
  std::unique_ptr<kube::Sink> node_sink_;
  std::unique_ptr<kube::Sink> pod_sink_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
  kube::Election election_;
  budget::Ledger ledger_;
  kube::EventRecorder events_;
  notify::SlackThreads slack_threads_;
  notify::Outside outside_;
  profiles::Controller controller_;
  profiles::Shuffles shuffles_;
  ConfigSource config_;
  io::Random& random_;
  io::Log root_log_;
  std::map<std::string, std::unique_ptr<LeaseWatch>> lease_watches_;
  bool pods_watched_ = false;
  std::unique_ptr<kube::Sink> hypervisor_sink_;
  std::unique_ptr<kube::Reflector> hypervisor_reflector_;
  std::vector<WorkloadWatch> workload_watches_;
  io::Gate stop_;
  io::Scope scope_;
  io::Scope leading_;
};

}  // namespace careen::app
