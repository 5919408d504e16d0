// The inside of the controller of Machines: one lane for each Machine, for each host that is powered, for each workload
// cluster, and for each Node that nobody's Machine is. In each of them decision and write alternate.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "budget/pause_guard.h"
#include "controllers/machines/controller.h"
#include "controllers/machines/controller_options.h"
#include "controllers/machines/health_checks.h"
#include "controllers/machines/machine_watch.h"
#include "controllers/machines/power.h"
#include "controllers/machines/upgrade_doors.h"
#include "controllers/machines/workload.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "kube/controller_meters.h"
#include "kube/index.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
#include "kube/watched.h"

namespace careen::machines {

// How many Machines of a cluster are in which phase, and which of them something is being done about.
struct Tally {
  std::array<size_t, kPhases> counts{};
  std::set<std::string, std::less<>> busy;
};

struct Controller::Core {
  Core(controllers::Host host, ControllerOptions wanted);

  // What changes in the world (controller.cc).
  void machine_changed(const Machine* before, const Machine* after);
  void node_changed(const std::string& cluster, const Node* before, const Node* after);
  void host_changed(const Host* before, const Host* after);
  void wake_cluster(const std::string& cluster);
  void wake_hosts_of(const Machine& machine);
  void wake_all();
  void new_writer();

  // Deciding.
  void decide_one(const std::string& key);
  void decide_machine(const std::string& name);
  void decide_host(const std::string& name);
  void decide_cluster(const std::string& name);
  void decide_node(const std::string& name);
  World world(const Machine& machine) const;
  PowerWorld power_world(const Host& host) const;
  const Host* host_behind(const Machine& machine) const;
  Workload* find_workload(std::string_view cluster) const;
  bool is_needed(const std::string& cluster) const;
  bool is_given_up(const std::string& cluster) const;
  bool is_left_alone(const std::string& cluster, const Node& node) const;
  // Whose the Node of that name is; null: nobody's, or it is disputed.
  const Machine* owner_of(const std::string& cluster, const Node& node) const;
  const budget::Pause* pause() const;
  void count(const std::string& machine, const std::string& cluster, Phase phase);
  void count_no_more(const std::string& machine);
  void show_clusters();
  void forget(const std::string& machine);
  void done(const std::string& key);

  // Writing (controller_writes.cc).
  io::Task<void> write_node(std::string key, std::string cluster, std::string node, NodeWrite what);
  // `pauses`: how often what is paused had changed when it was decided.
  io::Task<void> write_machine(std::string key, std::string name, MachineWrite what, Sight sight, uint64_t pauses);
  io::Task<void> write_host(std::string key, std::string name, HostWrite what, std::string machine, uint64_t pauses);
  io::Task<void> reboot_once(std::string key, std::string name, std::string machine, uint64_t pauses);
  std::function<budget::PauseGuard::Write(budget::PauseGuard::Write)> unless_paused(uint64_t pauses);
  void settle(const std::string& key, const kube::WriteResult& result, std::string_view what);
  void tell_of(const Machine& machine, const MachineWrite& what);
  void tell_trouble(const std::string& host, const std::string& machine, const std::optional<HostTrouble>& trouble);
  void record(const Machine& machine, const char* type, std::string_view reason, std::string note);

  controllers::Host p;
  const ControllerOptions options;
  io::Metrics unseen;  // before what is counted there
  MachineWatch machines;
  kube::Index<Machine> by_cluster;
  kube::Index<Machine> by_node;                                 // "cluster/node"
  kube::Index<Machine> by_host;                                 // "namespace/name", or "uid:…"
  std::shared_ptr<kube::ObjectWriter<Machine>> machine_writer;  // whoever writes holds it
  std::unique_ptr<kube::Watched<Host>> hosts;                   // null: they are not powered
  std::unique_ptr<kube::ObjectWriter<Host>> host_writer;
  std::unique_ptr<kube::Index<Host>> hosts_by_uid;
  std::map<std::string, std::unique_ptr<Workload>, std::less<>> workloads;  // by cluster
  std::map<std::string, size_t, std::less<>> needs;                         // Machines that need their cluster
  std::map<std::string, io::Steady, std::less<>> closing;                   // clusters that nobody needs, since when
  kube::WorkQueue queue;
  kube::ControllerMeters meters;
  std::map<std::string, Memory, std::less<>> memories;
  std::map<std::string, std::string, std::less<>> rehearsed;  // in a dry run, what was told of each Machine
  struct Counted {
    Phase phase;
    std::string cluster;
  };
  std::map<std::string, Counted, std::less<>> counted;       // by Machine
  std::map<std::string, Tally, std::less<>> tallies;         // by cluster
  std::set<std::string, std::less<>> shown_clusters;         // whose metrics there are
  std::map<std::string, std::string, std::less<>> troubles;  // of hosts, as they were told
  budget::PauseGuard pause_guard;
  io::Hub<> on_change;
  std::unique_ptr<UpgradeDoors> doors;   // null: Clusters are nobody's business
  std::unique_ptr<HealthChecks> checks;  // null: nor are health checks
  bool running = false, stopping = false;
  std::vector<io::Subscription> changes;
  std::shared_ptr<void> shown;  // while metrics are set before each scrape
  io::Scope acting;             // last: its tasks use everything above
};

}  // namespace careen::machines
