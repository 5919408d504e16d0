// The inside of a replica: its caches, its locks, its ledger and its controllers, in the order in which they are made.
// What comes later uses what comes before, and ends before it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "budget/ledger.h"
#include "controllers/slot/controller.h"
#include "controllers/slot/host.h"
#include "drain/engine.h"
#include "io/log.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/cluster.h"
#include "kube/disruption_budget.h"
#include "kube/events.h"
#include "kube/locks.h"
#include "kube/node.h"
#include "kube/objects.h"
#include "kube/pod_store.h"
#include "kube/watched.h"
#include "kube/workload.h"
#include "limits/desk.h"
#include "limits/other_objects.h"
#include "limits/report.h"
#include "limits/webhook_state.h"
#include "limits/workload_limits.h"
#include "replica/drain_rules_watch.h"
#include "replica/gate.h"
#include "replica/hub.h"
#include "replica/limits_watch.h"
#include "replica/other_objects_watch.h"
#include "replica/pause_watch.h"
#include "replica/replica.h"

namespace careen::replica {

class Replica::Core {
 public:
  // `replica` is whose inside it is; only its functions on_config and on_synced are used, and not before main().
  Core(const Replica& replica, ReplicaParts parts, ReplicaOptions options);
  // A crash: nobody is told of anything any more.
  ~Core() { problems_.on_change(nullptr); }
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  void listen(ReplicaListener listener);
  io::Task<int> main();
  void stop() { stop_.open(); }

 private:
  friend class Replica;  // it shows what is below
  // A controller with what is its own: a client that writes only under its lock.
  struct Hosting {
    const controllers::Kind& kind;
    std::unique_ptr<kube::Client> client;
    kube::Lock& lock;
    std::unique_ptr<controllers::Controller> controller;
  };
  // What controllers ask to have watched.
  class WatchesForControllers final : public controllers::Watches {
   public:
    explicit WatchesForControllers(Core& core) : core_(core) {}
    void pods(std::function<void()> known) override;
    void disruption_budgets() override;
    void leases(const std::string& ns, std::function<void()> known) override;
    void workloads(kube::WorkloadKind kind) override;
    bool knows(kube::WorkloadKind kind) const override { return core_.knows(kind); }
    void node_sections(std::string_view by, const std::set<std::string>& pointers,
                       std::function<void()> known) override;
    kube::WatchParts parts(std::string_view name) override { return core_.cluster_.watch_parts(name); }
    std::unique_ptr<kube::Watched<kube::Object>> objects(kube::ReflectorOptions options) override;

   private:
    Core& core_;
  };

  std::optional<budget::LedgerOptions> ledger_options() const;
  kube::Watch& watch_leases(const std::string& ns);
  void watch_workload(kube::WorkloadKind kind);
  void watch_for(const limits::WorkloadLimits& limits);
  void watch_budgets();
  void heed_drain_rules();
  FollowedPlace part_of_home();
  void know_machines(bool wanted);
  void know_machines(std::string_view by, bool wanted, std::function<void()> known);
  bool knows(kube::WorkloadKind kind) const;
  drain::DaemonSetState daemon_set(std::string_view ns, std::string_view name) const;
  io::Task<void> tell_of_budgets();
  io::Task<void> tell_of_sections(std::function<void()> known);
  bool controls() const;
  std::optional<io::Duration> write_window(const kube::Lock& lock) const;
  void open_hub(const ReplicaParts& parts);
  budget::Pauses& watch_pauses(const io::Log& log);
  io::Task<void> nobody_else_leads();
  bool needs_ledger() const;
  void open_desk();
  void open_gate(io::Random& random, const io::Log& log);
  kube::Lock& add_lock(const ReplicaParts& parts, const controllers::Kind& kind, std::string problem);
  void host(const ReplicaParts& parts, const controllers::Choice& choice);
  void tell_configured();
  void record_election(const kube::Lock& lock, std::string message);
  void guard(kube::Client& client, const kube::Lock& lock);
  void guard_writes();
  // Somebody here is about nodes.
  bool needs_nodes() const;
  io::Task<void> nodes_known(bool anew);
  io::Task<void> lead();
  io::Task<void> lead(Hosting& hosting);
  io::Task<void> announce_synced();
  io::Task<void> places_told(bool approves);
  io::Task<void> settle_for_nobody();
  io::Task<void> until_lost();
  // Somebody else has a ledger of ours.
  io::Task<void> taken_over();
  void clock_stepped(io::Duration by);
  io::Task<void> wind_down();
  io::Task<void> stop_controllers();
  // Those that show the replica, each where it has set that function.
  void tell(auto ReplicaListener::* function, const auto&... arguments) {
    for (const ReplicaListener& one : listeners_) {
      if (one.*function) (one.*function)(arguments...);
    }
  }

  const Replica& replica_;
  io::Loop& loop_;
  ReplicaOptions options_;
  kube::Connect connect_;
  io::Random& random_;
  io::Log log_;
  io::Problems problems_;
  io::Metrics metrics_;
  std::string identity_;
  const Above* above_;  // null: nobody
  kube::Cluster cluster_;
  kube::Cluster& home_;                        // where its records are
  const FollowedPlace about_this_;             // where objects of Cluster API about this cluster are
  std::unique_ptr<kube::Client> client_;       // writes only while we lead
  std::unique_ptr<kube::Client> home_client_;  // the same, at home
  std::unique_ptr<kube::Client> lease_client_;
  kube::Watched<kube::Node>& nodes_;
  std::map<std::string, std::set<std::string>, std::less<>> node_sections_;  // by who asked for them
  kube::PodStore pods_;
  kube::Watch pod_watch_;
  kube::Store<kube::Lease> leases_;  // of all namespaces that are watched
  // A cache of its own for each, since a list tells what is gone only of the namespace that was listed.
  std::map<std::string, kube::Watched<kube::Lease>*> lease_watches_;
  kube::Workloads workloads_;
  std::map<kube::WorkloadKind, std::unique_ptr<kube::Watch>> workload_watches_;
  kube::Watched<kube::Namespace>& namespaces_;
  kube::Watched<kube::DisruptionBudget>& budgets_;
  kube::Locks locks_;
  kube::Lock& lock_;  // the first; evictions, which serve all controllers, are sent under it
  budget::Ledger ledger_;
  kube::EventRecorder events_;
  std::optional<PauseWatch> pause_watch_;  // without anybody above
  budget::Pauses& pauses_;
  // Only where somebody claims.
  std::unique_ptr<LimitsWatch> limits_watch_;
  limits::OtherObjects other_objects_;
  std::unique_ptr<limits::Desk> desk_;
  std::unique_ptr<OtherObjectsWatch> others_watch_;
  std::unique_ptr<limits::Report> limits_report_;
  limits::WebhookState limit_webhook_;
  drain::Engine engine_;
  std::unique_ptr<DrainRulesWatch> drain_rules_;  // once somebody may drain
  std::shared_ptr<kube::WriteLanes> node_lanes_;
  WatchesForControllers watches_for_controllers_;
  std::vector<std::unique_ptr<Hosting>> hosting_;
  std::vector<controllers::HostedController> hosted_;
  // Only with the controller that approves what others do.
  std::unique_ptr<Gate> gate_;
  std::unique_ptr<Hub> hub_;
  std::vector<ReplicaListener> listeners_;
  std::vector<io::Subscription> changes_;
  io::Gate stop_;
  io::Scope scope_;
  io::Scope leading_;
};

}  // namespace careen::replica
