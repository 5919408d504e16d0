// Objects of other programs that stand behind nodes: the Machines of Cluster API and of OpenShift, Karpenter's
// NodeClaims, the NodeMaintenances of NVIDIA's operator, and KubeVirt's virtual machines that leave their node; and
// those that say how many nodes there should be, MachineSets and Karpenter's NodePools. There is one for each node, so
// they have the few fields that careen uses.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "io/time.h"
#include "kube/atoms.h"
#include "kube/objects.h"

namespace careen::kube {

class RawObject;

enum class MachineKind : uint8_t { cluster_api, machine_api, node_claim, nvidia_maintenance, virtual_machine };
inline constexpr std::array kMachineKinds{MachineKind::cluster_api, MachineKind::machine_api, MachineKind::node_claim,
                                          MachineKind::nvidia_maintenance, MachineKind::virtual_machine};

struct Machine {
  MachineKind kind = MachineKind::cluster_api;
  Atom ns;
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::string node;         // its name; empty: it has none yet, or does not leave it
  std::string node_uid;     // empty: not said
  std::string provider_id;  // empty: not said
  Atom set;                 // the key of its MachineSet, or NodePool
  Atom requestor;           // of a NodeMaintenance
  std::optional<io::Wall> deleting;
  // A condition says that somebody works on the node: it is updated, rebooted or maintained.
  std::optional<io::Wall> worked_on;
  bool surplus = false;  // it goes because it is not needed

  std::string key() const { return object_key(ns.view(), name); }
  bool same_facts(const Machine& other) const;
};

enum class MachineSetKind : uint8_t { cluster_api, machine_api, node_pool };
inline constexpr std::array kMachineSetKinds{MachineSetKind::cluster_api, MachineSetKind::machine_api,
                                             MachineSetKind::node_pool};

struct MachineSet {
  std::string name;
  std::string ns;
  std::string uid;
  uint64_t version = 0;
  std::optional<int64_t> replicas;  // nothing: it does not say, as a NodePool that grows with the pods

  std::string key() const { return object_key(ns, name); }
  bool same_facts(const MachineSet& other) const { return uid == other.uid && replicas == other.replicas; }
};

// The kind is told because the elements of a list do not say it.
io::Result<Machine> decode_machine(RawObject& raw, MachineKind kind, AtomPool& atoms);
io::Result<Machine> decode_machine(std::string_view json, MachineKind kind, AtomPool& atoms);
io::Result<MachineSet> decode_machine_set(RawObject& raw);
io::Result<MachineSet> decode_machine_set(std::string_view json);

}  // namespace careen::kube
