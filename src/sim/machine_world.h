// What Cluster API, and Metal3 below it, do with Machines, played on a model management cluster and the model workload
// clusters behind it: Machines become Nodes, go once nothing holds them, and are replaced; those whose Nodes stay down
// are remediated; hosts go off and on as their annotations say.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "io/random.h"
#include "io/sync.h"
#include "sim/api_server.h"

namespace careen::sim {

// How long things take, at least and at most.
struct MachinePace {
  struct Span {
    io::Duration least{}, most{};
  };
  Span boots{io::seconds{5}, io::seconds{40}};    // from a Machine to its Node, and from power to readiness
  Span drains{io::seconds{1}, io::seconds{15}};   // from the last hook to the end of the Node
  Span lingers{io::seconds{1}, io::seconds{40}};  // from there to the end of the Machine
  Span renews{io::seconds{1}, io::seconds{10}};   // from there to the next one
  Span powers{io::seconds{1}, io::seconds{10}};   // from the annotation of a host to its power
  Span notices{io::seconds{1}, io::seconds{40}};  // from a Node that is down to everybody's knowing
};

// A place that has one Machine after the other, as each of a MachineSet's does.
struct MachineSlot {
  std::string id;    // among all slots
  std::string name;  // its Machines are <name>-1, <name>-2 and so on
  std::string ns, cluster;
  std::string node = {};                                                 // of each of them; empty: its own name
  std::string host = {};                                                 // the BareMetalHost; empty: none
  bool host_by_uid = false;                                              // the older form of a provider ID
  bool keeps_power = false;                                              // the host has disablePowerOff
  bool services_firmware = false;                                        // once the host is off
  bool overlaps = false;                                                 // the next Machine waits for the Node only
  std::map<std::string, std::string> labels = {};                        // of its Machines, by their template
  std::function<std::map<std::string, std::string>()> node_labels = {};  // of a Node that registers
  std::optional<io::Duration> remediated_after = {};                     // not being Ready, by a MachineHealthCheck
};

// The definition of a kind as its project ships it, with one version and without a schema.
void define_kind(ApiServer& api, std::string_view group, std::string_view version, std::string_view plural,
                 std::string_view kind);

class MachineWorld {
 public:
  MachineWorld(io::Loop& loop, ApiServer& management, uint64_t seed = 1, MachinePace pace = {});
  ~MachineWorld();
  MachineWorld(const MachineWorld&) = delete;
  MachineWorld& operator=(const MachineWorld&) = delete;

  void add_cluster(const std::string& ns, const std::string& name, ApiServer& workload);
  // In a cluster that was added. Its first Machine comes at once.
  void add(MachineSlot slot);
  bool has(const std::string& slot) const { return slots_.contains(slot); }
  // No Machine comes after the one that is there.
  void close(const std::string& slot);
  // Of the template and of the Machine that is there; an empty value takes it off.
  void set_label(const std::string& slot, const std::string& label, const std::string& value);
  // The Node is not Ready, whatever its power.
  void set_down(const std::string& slot, bool down);
  // Somebody deletes the Node's object, and after a while its kubelet registers again.
  void renew_node(const std::string& slot, io::Duration after);

  // The name of its Machine; empty while there is none, or while it is being deleted.
  std::string machine_of(const std::string& slot) const;
  // That of its last Machine, whatever has become of it, and that Machine's Node.
  std::string newest_of(const std::string& slot) const;
  std::string node_of(const std::string& slot) const;
  // Machines come or go, or hosts and Nodes are not what they are about to be.
  bool busy() const;

  static std::string machine_path(std::string_view ns, std::string_view name);
  static std::string host_path(std::string_view ns, std::string_view name);

 private:
  struct Slot;
  class Ear;

  void heard(const Change& change, const std::string& cluster);
  io::SleepAwaiter pause(MachinePace::Span span);

  io::Task<void> live(Slot& slot);
  io::Task<void> boot(Slot& slot, std::string machine);
  io::Task<void> bury(Slot& slot, std::string machine);
  io::Task<void> watch_health(Slot& slot);
  io::Task<void> run_node(Slot& slot);
  io::Task<void> register_again(Slot& slot, io::Duration after);
  io::Task<void> run_host(Slot& slot);
  io::Task<void> service(Slot& slot);

  void make_host(const MachineSlot& is);
  void make_machine(Slot& slot);
  void make_node(const Slot& slot);
  void set_power(const Slot& slot, bool on);
  // Its newest Machine, and so on; null while there is none.
  kube::Json machine(const Slot& slot) const;
  kube::Json host(const Slot& slot) const;
  kube::Json node(const Slot& slot) const;
  ApiServer& workload(const Slot& slot) const;
  bool leaves(const Slot& slot) const;
  bool is_held(const Slot& slot) const;
  bool may_be_ready(const Slot& slot) const;
  bool is_settled(const Slot& slot) const;
  void request(const char* method, std::string path, const kube::Json& body, const char* by);

  io::Loop& loop_;
  ApiServer& management_;
  io::Random random_;
  MachinePace pace_;
  std::map<std::string, ApiServer*, std::less<>> workloads_;  // by "namespace/name"
  std::map<std::string, std::unique_ptr<Slot>, std::less<>> slots_;
  io::Scope scope_;  // last: its tasks use everything above
};

}  // namespace careen::sim
