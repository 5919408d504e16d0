// What objects besides the Node say of a node: that its Machine or NodeClaim goes or is worked on, that NVIDIA's
// operator maintains it, that it owns kured's lock; and how many nodes its MachineSet or NodePool should have. Whatever
// of it may be read is kept in the stores here (replica/other_objects_watch.h), and joined to the nodes by name.
//
// A name alone proves little: a management cluster has Machines of other clusters, whose nodes may be called the same.
// Where both say which machine they are, that decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/subscription.h"
#include "kube/cache.h"
#include "kube/machine.h"
#include "kube/objects.h"
#include "limits/facts.h"

namespace careen::kube {
struct Node;
}

namespace careen::limits {

// The section of nodes that is needed for the join (kube/node_sections.h).
inline constexpr const char* kProviderIdPointer = "/spec/providerID";

// Which machine the node says it is; empty: nothing, or the section is not kept.
std::string_view provider_id_of(const kube::Node& node);

// A MachineSet or a NodePool.
struct SetId {
  kube::MachineSetKind kind = kube::MachineSetKind::cluster_api;
  std::string key;
  std::string name() const;  // for people: "MachineSet infra/workers"
  auto operator<=>(const SetId&) const = default;
};

// Who owns kured's lock, and until when; nothing: until he gives it back. What is no lock owns nothing.
using KuredLock = std::map<std::string, std::optional<io::Wall>, std::less<>>;
KuredLock parse_kured_lock(std::string_view text);

class OtherObjects {
 public:
  OtherObjects();
  OtherObjects(const OtherObjects&) = delete;
  OtherObjects& operator=(const OtherObjects&) = delete;

  kube::Store<kube::Machine>& of(kube::MachineKind kind) { return machines_[static_cast<size_t>(kind)]; }
  kube::Store<kube::MachineSet>& of(kube::MachineSetKind kind) { return sets_[static_cast<size_t>(kind)]; }
  // DaemonSets called kured.
  kube::Store<kube::Object>& kured() { return kured_; }

  // Adds to what the node says itself.
  void add_facts(const kube::Node& node, std::vector<Fact>& facts) const;
  // It goes because fewer are needed, whatever else is said of it.
  bool is_surplus(const kube::Node& node) const;
  std::optional<SetId> set_of(const kube::Node& node) const;
  // How many nodes the set should have; nothing: it is not known, or does not say.
  std::optional<int64_t> wanted_of(const SetId& set) const;

  io::Subscription on_node(std::function<void(const std::string& node)> tell) {
    return nodes_.subscribe(std::move(tell));
  }
  io::Subscription on_set(std::function<void(const SetId& set)> tell) { return set_hub_.subscribe(std::move(tell)); }

  // No set has more. A number beyond it is nobody's intention.
  static constexpr int64_t kMostWanted = 100'000;

 private:
  using MachineId = std::pair<kube::MachineKind, std::string>;

  void machine_changed(const kube::Machine* before, const kube::Machine* after);
  void kured_changed(const kube::Object* before, const kube::Object* after);
  // Those of the node, until visit says no.
  void each_of(const kube::Node& node, const std::function<bool(const kube::Machine&)>& visit) const;
  void add_kured(const kube::Node& node, std::vector<Fact>& facts) const;

  std::array<kube::Store<kube::Machine>, kube::kMachineKinds.size()> machines_;
  std::array<kube::Store<kube::MachineSet>, kube::kMachineSetKinds.size()> sets_;
  kube::Store<kube::Object> kured_;
  std::map<std::string, std::set<MachineId>, std::less<>> by_node_;
  std::map<std::string, KuredLock> locks_;  // by the DaemonSet that has it
  io::Hub<const std::string&> nodes_;
  io::Hub<const SetId&> set_hub_;
  std::vector<io::Subscription> follows_;
};

}  // namespace careen::limits
