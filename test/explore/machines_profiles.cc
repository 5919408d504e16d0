#include "machines_profiles.h"

#include <utility>

#include "campaign.h"
#include "controllers/machines/names.h"
#include "machines_facts.h"

namespace careen::explore {

using io::seconds;
using kube::Json;

MachinesProfiles::MachinesProfiles(const MachinesPlan& plan, sim::MachineWorld& world,
                                   std::vector<sim::ApiServer*> clusters, Later later, uint64_t seed)
    : plan_(plan), world_(world), clusters_(std::move(clusters)), later_(std::move(later)), draw_(seed) {}

void MachinesProfiles::changed(int cluster, const sim::Change& change) {
  if (change.type != sim::Change::Type::deleted) look(cluster, change.name);
}

void MachinesProfiles::leave_alone(const std::string& slot, int more) {
  left_alone_[slot] += more;
  look(plan_.slot(slot).cluster, world_.node_of(slot));
}

const SlotPlan* MachinesProfiles::slot_at(int cluster, const std::string& node) const {
  for (const SlotPlan& slot : plan_.slots) {
    if (slot.cluster == cluster && world_.has(slot.id) && world_.node_of(slot.id) == node) return &slot;
  }
  return nullptr;
}

void MachinesProfiles::look(int cluster, const std::string& node) {
  for (const Act act : {Act::maintain, Act::leave, Act::approve_deletion, Act::approve_maintenance,
                        Act::forget_deletion, Act::forget_maintenance}) {
    const Key key{cluster, node, act};
    if (!is_due(key) || !pending_.insert(key).second) continue;
    later_(delay(key), [this, key] {
      pending_.erase(key);
      if (is_due(key)) this->act(key);
    });
  }
}

io::Duration MachinesProfiles::delay(const Key& key) {
  switch (key.act) {
    case Act::maintain:
    case Act::leave:
      return draw_.between(io::Duration{0}, seconds{5});
    case Act::approve_deletion:
    case Act::approve_maintenance:
      return draw_.between(io::milliseconds{10}, plan_.clusters[static_cast<size_t>(key.cluster)].slowest_approval);
    default:
      return draw_.between(io::milliseconds{10}, io::minutes{3});
  }
}

bool MachinesProfiles::is_due(const Key& key) const {
  const SlotPlan* const slot = slot_at(key.cluster, key.node);
  const sim::Text text = api(key.cluster).text(node_path(key.node));
  if (!slot || !text) return false;
  const MachineNodeFacts node = MachineNodeFacts::read(*text);
  const auto left_alone = left_alone_.find(slot->id);
  const bool maintained = slot->maintained && (left_alone == left_alone_.end() || left_alone->second == 0);
  // Where the hook is there without them, people approve.
  const bool approves = maintained || plan_.relay.hook_without_state;
  const bool forgetful = plan_.cluster_of(*slot).forgetful;
  switch (key.act) {
    case Act::maintain:
      return maintained && !node.maintained;
    case Act::leave:
      return !maintained && node.maintained;
    case Act::approve_deletion:
      return approves && node.machine_deleted && !node.approves_deletion;
    case Act::approve_maintenance:
      return approves && node.machine_maintenance && !node.approves_maintenance;
    case Act::forget_deletion:
      return !forgetful && !node.machine_deleted && node.approves_deletion;
    default:
      return !forgetful && !node.machine_maintenance && node.approves_maintenance;
  }
}

void MachinesProfiles::act(const Key& key) {
  const bool deletion = key.act == Act::approve_deletion || key.act == Act::forget_deletion;
  const std::string_view approval = deletion ? machines::kApproveDeletion : machines::kApproveMaintenance;
  switch (key.act) {
    case Act::maintain:
      return set(key.cluster, key.node, machines::kMaintenanceState, "operational");
    case Act::leave:
      return set(key.cluster, key.node, machines::kMaintenanceState, nullptr);
    case Act::forget_deletion:
    case Act::forget_maintenance:
      return set(key.cluster, key.node, approval, nullptr);
    default:
      break;
  }
  set(key.cluster, key.node, approval, "true");
  if (!draw_.one_in(5)) return;
  later_(draw_.between(io::Duration{0}, seconds{5}),
         [this, key, approval] { set(key.cluster, key.node, approval, nullptr); });
}

void MachinesProfiles::withdraw(const std::string& slot) {
  for (const std::string_view approval : {machines::kApproveDeletion, machines::kApproveMaintenance}) {
    set(plan_.slot(slot).cluster, world_.node_of(slot), approval, nullptr);
  }
}

void MachinesProfiles::set(int cluster, const std::string& node, std::string_view label, const char* value) {
  Json patch = Json::object();
  patch.set({"metadata", "labels", label}, value ? Json(value) : Json());
  api(cluster).merge(node_path(node), patch, "profiles");
}

}  // namespace careen::explore
