// Those who look after the Nodes of workload clusters by profiles, as careen sees them: a label says that they do, and
// sooner or later they approve what they are asked for. Some withdraw an approval again, some forget one.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "draw.h"
#include "machines_plan.h"
#include "sim/api_server.h"
#include "sim/machine_world.h"

namespace careen::explore {

class MachinesProfiles {
 public:
  using Later = std::function<void(io::Duration after, std::function<void()> act)>;
  MachinesProfiles(const MachinesPlan& plan, sim::MachineWorld& world, std::vector<sim::ApiServer*> clusters,
                   Later later, uint64_t seed);

  // Of a Node of that cluster of the plan's.
  void changed(int cluster, const sim::Change& change);
  // How many more want the Nodes of that slot not to be looked after.
  void leave_alone(const std::string& slot, int more);
  // Whatever is approved there is not approved any more, for a moment.
  void withdraw(const std::string& slot);
  bool busy() const { return !pending_.empty(); }

 private:
  enum class Act { maintain, leave, approve_deletion, approve_maintenance, forget_deletion, forget_maintenance };
  struct Key {
    int cluster;
    std::string node;
    Act act;
    auto operator<=>(const Key&) const = default;
  };
  sim::ApiServer& api(int cluster) const { return *clusters_[static_cast<size_t>(cluster)]; }
  const SlotPlan* slot_at(int cluster, const std::string& node) const;
  void look(int cluster, const std::string& node);
  bool is_due(const Key& key) const;
  io::Duration delay(const Key& key);
  void act(const Key& key);
  void set(int cluster, const std::string& node, std::string_view label, const char* value);

  const MachinesPlan& plan_;
  sim::MachineWorld& world_;
  std::vector<sim::ApiServer*> clusters_;
  Later later_;
  Draw draw_;
  std::set<Key> pending_;
  std::map<std::string, int> left_alone_;  // by slot
};

}  // namespace careen::explore
