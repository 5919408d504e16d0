// How Machines, Nodes and hosts have to be once careen has come to rest: the table of what follows from what, worked
// out from nothing but what the API servers hold.
#include <fmt/format.h>

#include <algorithm>

#include "machines_watch.h"

namespace careen::explore {

namespace {

// Of a Machine that is not back. Whoever leads counts anew what it has not seen the beginning of.
constexpr io::Duration kReturnAtMost = io::hours{1};
constexpr io::Duration kClocksAtMost = io::minutes{2};

}  // namespace

bool MachinesWatch::is_dead(const std::string& cluster) const {
  return std::ranges::any_of(plan_.clusters, [&](const ClusterPlan& plan) {
    return plan.key() == cluster && plan.dies && io::Steady{*plan.dies} <= time_.now();
  });
}

bool MachinesWatch::is_back(const MachineFacts& machine) const {
  for (const auto& [key, history] : hosts_) {
    const HostFacts* const host = history.now();
    if (!plan_.relay.metal3 || !host || !host->belongs_to(machine)) continue;
    if (!host->through || host->held_off) return false;
  }
  const MachineNodeFacts* const node = node_now(machine);
  return is_dead(machine.cluster_key()) || !node ? !machine.enabled : node->ready;
}

void MachinesWatch::add_unfinished(const MachineFacts& machine, std::vector<Unfinished>& all) const {
  const auto add = [&](const char* rule, std::string_view what) {
    all.push_back({rule, fmt::format("Machine {} {}", machine.key(), what)});
  };
  const bool skips = keeps_from_remediation(machine);
  if (!machine.enabled && machine.hooked) add("left", "is not enabled, and has the hook");
  if (machine.skips_for_careen() && !skips && (machine.deleting || is_back(machine)))
    add("left", "is kept from remediation although its maintenance is over");
  if (skips && !machine.skip) add("converge", "is in maintenance, and not kept from remediation");
  if (!machine.enabled || machine.node.empty() || is_dead(machine.cluster_key())) return;
  const MachineNodeFacts* const node = node_now(machine);
  if (!node) {
    if (machine.deleting && machine.hooked) add("converge", "is held although its Node is gone");
    return;
  }
  const MachineFacts* const its = owner({machine.cluster_key(), machine.node}, *node, tick());
  if (its && its->key() != machine.key() && machine.deleting && machine.hooked)
    add("converge", "is held although its Node is another's");
  if (!its || its->key() != machine.key()) return;
  const bool hold = is_kept(*node) && !node->approves_deletion;
  if (hold != machine.hooked) add("converge", hold ? "lacks the hook" : "has the hook");
  if (is_kept(*node) && machine.asked == "requested" && node->approves_maintenance)
    add("converge", "waits for a maintenance that its Node has approved");
}

void MachinesWatch::add_unfinished(const NodeKey& key, const MachineNodeFacts& node,
                                   std::vector<Unfinished>& all) const {
  const MachineFacts* const its = owner(key, node, tick());
  const auto check = [&](std::string_view label, bool is, bool wanted) {
    if (is == wanted) return;
    all.push_back({is ? "left" : "converge",
                   fmt::format("node {} of {} {} {}", key.second, key.first, is ? "has" : "lacks", label)});
  };
  const bool cared_for = its && its->enabled && is_kept(node);
  check("machine-deleted", node.machine_deleted, cared_for && its->deleting);
  check("machine-maintenance", node.machine_maintenance, cared_for && its->in_maintenance());
  if (!plan_.relay.clear_approvals || !its || !its->enabled) return;
  if (!its->deleting) check("approve-deletion", node.approval_of_deletion, false);
  if (!its->in_maintenance()) check("approve-maintenance", node.approval_of_maintenance, false);
}

std::vector<MachinesWatch::Unfinished> MachinesWatch::unfinished() const {
  std::vector<Unfinished> all;
  for (const auto& [key, machine] : machines_) {
    if (machine.now()) add_unfinished(*machine.now(), all);
  }
  for (const auto& [key, node] : nodes_) {
    if (node.now() && !is_dead(key.first)) add_unfinished(key, *node.now(), all);
  }
  for (const auto& [key, host] : hosts_) {
    if (!host.now() || !plan_.relay.metal3) continue;
    const bool wanted = wants_off(*host.now(), tick());
    if (host.now()->held_off != wanted)
      all.push_back({wanted ? "converge" : "left", fmt::format("host {} is {}", key, wanted ? "on" : "held off")});
  }
  return all;
}

void MachinesWatch::check_patience() {
  for (const auto& [key, history] : machines_) {
    const MachineFacts* const machine = history.now();
    const auto since = unapproved_.find(key);
    if (!machine || machine->approved() || !machine->skips_for_careen() || since == unapproved_.end()) continue;
    if (time_.now() > std::max(since->second, leader_changed_) + kReturnAtMost + kClocksAtMost)
      report_("remediation", fmt::format("Machine {} is kept from remediation for ever", key));
  }
}

}  // namespace careen::explore
