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
#include "io/random.h"
#include "kube/election.h"
#include "kube/events.h"
#include "kube/pod_store.h"
#include "kube/reflector.h"
#include "profiles/controller.h"

namespace careen::app {

struct ReplicaParts {
  io::Loop& loop;
  io::Files& files;
  io::Random& random;
  kube::Transport& transport;
  kube::Transport& lease_transport;  // of its own, so that a busy one cannot delay a renewal
  profiles::Environment environment;
  io::Log log;
};

struct ReplicaOptions {
  std::string config;  // path
  std::string host;    // in the identity and in events
  std::string ns;      // of the lock and the ledger
  bool leader_election = false;
  bool cache_pods = false;
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

 private:
  std::optional<budget::LedgerOptions> ledger_options() const;
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
  kube::Store<kube::Node> nodes_;
  kube::PodStore pods_{atoms_};
  std::unique_ptr<kube::Sink> node_sink_;
  std::unique_ptr<kube::Sink> pod_sink_;
  kube::Reflector node_reflector_;
  kube::Reflector pod_reflector_;
  kube::Election election_;
  budget::Ledger ledger_;
  kube::EventRecorder events_;
  profiles::Controller controller_;
  ConfigSource config_;
  io::Gate stop_;
  io::Scope scope_;
  io::Scope leading_;
};

}  // namespace careen::app
