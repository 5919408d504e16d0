#include "limits/other_objects.h"

#include <fmt/format.h>

#include <algorithm>

#include "kube/json.h"
#include "kube/node.h"

namespace careen::limits {

namespace {

using kube::MachineKind;
using kube::MachineSetKind;

// A node has one machine, or two by different programs. Whoever makes up more is not listened to.
constexpr int kMostLookedAt = 64;
constexpr size_t kMostOwners = 1'000;

MachineSetKind set_kind_of(MachineKind kind) {
  switch (kind) {
    case MachineKind::machine_api:
      return MachineSetKind::machine_api;
    case MachineKind::node_claim:
      return MachineSetKind::node_pool;
    case MachineKind::cluster_api:
    case MachineKind::nvidia_maintenance:
    case MachineKind::virtual_machine:
      break;
  }
  return MachineSetKind::cluster_api;
}

bool is_of(const kube::Machine& machine, const kube::Node& node) {
  const std::string_view provider_id = provider_id_of(node);
  if (!machine.provider_id.empty() && !provider_id.empty()) return machine.provider_id == provider_id;
  return machine.node_uid.empty() || machine.node_uid == node.uid;
}

struct Words {
  std::string_view actor, object, work;
};
Words words_of(const kube::Machine& machine) {
  switch (machine.kind) {
    case MachineKind::cluster_api:
      return {"cluster-api", "Machine", "is updated"};
    case MachineKind::machine_api:
      return {"machine-api", "Machine", "is updated"};
    case MachineKind::node_claim:
      return {"karpenter", "NodeClaim", "reboots"};
    case MachineKind::virtual_machine:
      return {"kubevirt", "VirtualMachineInstance", "virtual machines leave it"};
    case MachineKind::nvidia_maintenance:
      break;
  }
  const std::string_view requestor = machine.requestor.view();
  return {requestor.empty() ? "nvidia-maintenance" : requestor, "NodeMaintenance", "is under way"};
}

std::optional<Fact> fact_of(const kube::Machine& machine) {
  // NVIDIA's operator lets the node go before its object does; of a virtual machine it matters only where it is.
  const bool goes = machine.deleting && machine.kind != MachineKind::virtual_machine &&
                    (machine.kind != MachineKind::nvidia_maintenance || machine.worked_on);
  if (!goes && !machine.worked_on) return std::nullopt;
  const Words words = words_of(machine);
  std::optional<io::Wall> since = goes ? machine.deleting : machine.worked_on;
  if (machine.worked_on) since = std::min(*since, *machine.worked_on);
  if (since == io::Wall{}) since.reset();
  Fact fact;
  // A single eviction moves a virtual machine as well as a drain does.
  fact.lingers = machine.kind == MachineKind::virtual_machine;
  fact.kind = fact.lingers ? Fact::Kind::plan : Fact::Kind::working;
  fact.actor = shown_stranger(words.actor);
  // Of virtual machines there may be many, and they say the same.
  fact.what = fact.lingers ? std::string(words.work)
                           : shown_stranger(fmt::format("{} {} {}", words.object, machine.key(),
                                                        goes ? "is being deleted" : words.work));
  fact.since = since;
  return fact;
}

}  // namespace

// Of a section, which is JSON.
std::string_view provider_id_of(const kube::Node& node) {
  const std::string* const section = node.section(kProviderIdPointer);
  if (!section || section->size() < 2 || section->front() != '"' || section->find('\\') != std::string::npos) return {};
  return std::string_view(*section).substr(1, section->size() - 2);
}

std::string SetId::name() const {
  return fmt::format("{} {}", kind == MachineSetKind::node_pool ? "NodePool" : "MachineSet", key);
}

// {"nodeID":"n1","created":"…","TTL":0}, or with several at a time {"maxOwners":2,"locks":[…]}. The time to live is in
// nanoseconds; 0: without an end.
KuredLock parse_kured_lock(std::string_view text) {
  KuredLock owners;
  const auto lock = kube::Json::parse(text);
  if (!lock) return owners;
  const auto add = [&](kube::JsonView one) {
    const auto node = one["nodeID"].text();
    if (!node || node->empty() || owners.size() >= kMostOwners) return;
    const int64_t lives = one["TTL"].integer().value_or(0);
    const auto created = io::parse_rfc3339(one["created"].text().value_or(""));
    std::optional<io::Wall> until;
    if (lives > 0 && created)
      until = io::add(*created, std::chrono::duration_cast<io::Duration>(std::chrono::nanoseconds{lives}));
    owners.insert_or_assign(std::string(*node), until);
  };
  add(lock->view());
  (*lock)["locks"].for_each_element(add);
  return owners;
}

OtherObjects::OtherObjects() {
  for (auto& store : machines_) {
    follows_.push_back(store.subscribe(
        [this](const kube::Machine* before, const kube::Machine* after) { machine_changed(before, after); }));
  }
  for (const MachineSetKind kind : kube::kMachineSetKinds) {
    follows_.push_back(of(kind).subscribe([this, kind](const kube::MachineSet* before, const kube::MachineSet* after) {
      set_hub_.tell({kind, (after ? after : before)->key()});
    }));
  }
  follows_.push_back(kured_.subscribe(
      [this](const kube::Object* before, const kube::Object* after) { kured_changed(before, after); }));
}

void OtherObjects::machine_changed(const kube::Machine* before, const kube::Machine* after) {
  const kube::Machine& any = after ? *after : *before;
  const MachineId id{any.kind, any.key()};
  const std::string was = before ? before->node : "", is = after ? after->node : "";
  if (was != is && !was.empty()) {
    const auto at = by_node_.find(was);
    if (at != by_node_.end() && at->second.erase(id) > 0 && at->second.empty()) by_node_.erase(at);
    nodes_.tell(was);
  }
  if (is.empty()) return;
  if (was != is) by_node_[is].insert(id);
  nodes_.tell(is);
}

void OtherObjects::kured_changed(const kube::Object* before, const kube::Object* after) {
  const std::string key = (after ? after : before)->key();
  KuredLock was = std::exchange(locks_[key], {}), is;
  if (after) {
    const auto text = after->document["metadata"]["annotations"][kKuredLock].text();
    if (text) is = parse_kured_lock(*text);
  }
  if (is.empty()) {
    locks_.erase(key);
  } else {
    locks_[key] = is;
  }
  was.insert(is.begin(), is.end());
  for (const auto& [node, until] : was) nodes_.tell(node);
}

void OtherObjects::each_of(const kube::Node& node, const std::function<bool(const kube::Machine&)>& visit) const {
  const auto at = by_node_.find(node.name);
  if (at == by_node_.end()) return;
  int looked = 0;
  for (const auto& [kind, key] : at->second) {
    if (++looked > kMostLookedAt) return;
    const kube::Machine* const machine = machines_[static_cast<size_t>(kind)].find(key);
    if (machine && is_of(*machine, node) && !visit(*machine)) return;
  }
}

void OtherObjects::add_facts(const kube::Node& node, std::vector<Fact>& facts) const {
  each_of(node, [&](const kube::Machine& machine) {
    auto fact = fact_of(machine);
    if (!fact) return true;
    const bool said = std::ranges::any_of(facts, [&](const Fact& one) {
      return one.actor == fact->actor && one.kind == fact->kind && one.what == fact->what;
    });
    if (!said) add_in_order(facts, std::move(*fact));
    return true;
  });
  add_kured(node, facts);
}

// A node that wants to reboot does so once it owns the lock, cordoned or not.
void OtherObjects::add_kured(const kube::Node& node, std::vector<Fact>& facts) const {
  if (locks_.empty()) return;
  const auto wants = std::ranges::find_if(
      facts, [](const Fact& fact) { return fact.kind == Fact::Kind::plan && fact.actor == kKuredActor; });
  if (wants == facts.end()) return;
  for (const auto& [daemon_set, owners] : locks_) {
    const auto owner = owners.find(node.name);
    if (owner == owners.end()) continue;
    wants->kind = Fact::Kind::working;
    wants->what = "owns kured's lock";
    wants->until = owner->second;
    return;
  }
}

bool OtherObjects::is_surplus(const kube::Node& node) const {
  bool surplus = false;
  each_of(node, [&](const kube::Machine& machine) { return !(surplus = machine.surplus); });
  return surplus;
}

std::optional<SetId> OtherObjects::set_of(const kube::Node& node) const {
  std::optional<SetId> set;
  each_of(node, [&](const kube::Machine& machine) {
    if (!machine.set.empty()) set = SetId{set_kind_of(machine.kind), std::string(machine.set.view())};
    return !set;
  });
  return set;
}

std::optional<int64_t> OtherObjects::wanted_of(const SetId& set) const {
  const kube::MachineSet* const known = sets_[static_cast<size_t>(set.kind)].find(set.key);
  if (!known || !known->replicas) return std::nullopt;
  return std::clamp<int64_t>(*known->replicas, 0, kMostWanted);
}

}  // namespace careen::limits
