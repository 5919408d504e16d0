// A Machine of Cluster API, the Node that it became, and the host that it runs on, with the fields that careen uses and
// no others: there is one of each for every node of every cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "io/time.h"
#include "kube/atoms.h"
#include "kube/objects.h"

namespace careen::kube {
class RawObject;
}

namespace careen::machines {

// What its label says; whatever else stands there is none of them.
enum class Asked : uint8_t { nothing, maintenance, granted };

struct Machine {
  std::string name;
  kube::Atom ns;
  std::string uid;
  uint64_t version = 0;
  kube::Atom cluster;         // spec.clusterName
  std::string node;           // status.nodeRef.name; empty: it has none yet
  std::string provider_id;    // empty: not said
  kube::Atom infrastructure;  // the name of spec.infrastructureRef
  bool enabled = false;
  Asked asked = Asked::nothing;
  bool hooked = false;                          // with careen's own hook, whatever its value
  std::vector<kube::Atom> other_hooks;          // that hold its drain, too; sorted
  std::optional<kube::Atom> skips_remediation;  // the annotation's value
  std::optional<kube::Atom> reboot_host;        // the same
  std::optional<io::Wall> deleting;
  std::optional<io::Wall> held_since;  // status.deletion.waitForPreDrainHookStartTime
  bool updating = false;               // the condition of an in-place update

  std::string key() const { return kube::object_key(ns.view(), name); }
  // "namespace/name" of its cluster.
  std::string cluster_key() const { return kube::object_key(ns.view(), cluster.view()); }
  bool same_facts(const Machine& other) const;
};

// A Node of a workload cluster.
struct Node {
  std::string name;
  std::string uid;
  uint64_t version = 0;
  bool maintained = false;  // has the label of profiles, whatever its value
  bool approves_deletion = false;
  bool approves_maintenance = false;
  // The labels that careen writes, as they are.
  std::optional<kube::Atom> machine_deleted;
  std::optional<kube::Atom> machine_maintenance;
  bool approval_of_deletion = false;        // there is such a label, whatever its value
  bool approval_of_maintenance = false;     // the same
  kube::Atom machine, machine_ns, cluster;  // by its annotations; anybody in that cluster can write them
  bool ready = false;
  bool deleting = false;
  std::vector<std::pair<kube::Atom, kube::Atom>> labels;  // all of them, for whoever asked; sorted by key

  const std::string& key() const { return name; }
  bool same_facts(const Node& other) const;
  // A label of careen's is there.
  bool marked() const { return machine_deleted || machine_maintenance; }
};

// A BareMetalHost of Metal3.
struct Host {
  std::string name;
  kube::Atom ns;
  std::string uid;
  uint64_t version = 0;
  bool held_off = false;                            // with careen's annotation
  bool reboots = false;                             // with the annotation without a key
  bool paused = false;                              // its operator looks away
  bool detached = false;                            // the same
  bool online = true;                               // spec.online
  bool keeps_power = false;                         // spec.disablePowerOff
  bool powered = false;                             // status.poweredOn
  kube::Atom provisioning;                          // status.provisioning.state
  kube::Atom operational;                           // status.operationalStatus
  kube::Atom error;                                 // status.errorType; empty: none
  std::string error_message;                        // cut
  kube::Atom consumer_kind, consumer_ns, consumer;  // spec.consumerRef; empty: none

  std::string key() const { return kube::object_key(ns.view(), name); }
  bool same_facts(const Host& other) const;
};

io::Result<Machine> read_machine(kube::RawObject& raw, kube::AtomPool& atoms);
io::Result<Machine> read_machine(std::string_view json, kube::AtomPool& atoms);
// The labels that careen knows, or all of them besides.
enum class NodeLabels { own, all };
io::Result<Node> read_node(kube::RawObject& raw, kube::AtomPool& atoms, NodeLabels labels = NodeLabels::own);
io::Result<Node> read_node(std::string_view json, kube::AtomPool& atoms, NodeLabels labels = NodeLabels::own);
io::Result<Host> read_host(kube::RawObject& raw, kube::AtomPool& atoms);
io::Result<Host> read_host(std::string_view json, kube::AtomPool& atoms);

// Which host a provider ID names: metal3://<namespace>/<host>/<…>, or in its older form metal3://<uid of the host>.
struct HostReference {
  std::string ns, name;
  std::string consumer;  // the third part
  std::string uid;       // of the older form; the others are empty then
  bool operator==(const HostReference&) const = default;
};
// Nothing: it is of another provider, or names nothing.
std::optional<HostReference> host_of(std::string_view provider_id);

}  // namespace careen::machines
