#include "machines_watch.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/machines/names.h"
#include "kube/json.h"

namespace careen::explore {

using kube::Json;
using sim::Change;

namespace {

constexpr std::string_view kMachinesPath = "/apis/cluster.x-k8s.io/v1beta2/machines";
constexpr std::string_view kHostsPath = "/apis/metal3.io/v1alpha1/baremetalhosts";
constexpr std::string_view kNodesPath = "/api/v1/nodes";
// Between the answer that there is no such Node and the write that follows from it.
constexpr io::Duration kAsked = io::seconds{1};
// So long a Machine may take to be back; clocks may be set meanwhile.
constexpr io::Duration kReturnTakes = io::hours{1};
constexpr io::Duration kClocks = io::minutes{1};

std::string named(const Change& change) { return change.ns.empty() ? change.name : change.ns + "/" + change.name; }

}  // namespace

// ---- What happens ------------------------------------------------------------------------------------------------

void MachinesWatch::changed(const MachinesServer& server, const Change& change, bool by_careen) {
  ticks_.push_back(time_.now());
  const bool of_management = server.name().empty();
  const bool is_gone = change.type == Change::Type::deleted;
  if (by_careen) effect_.emplace(Written{server, change});
  if (of_management && change.collection == kMachinesPath) machine_changed(change);
  if (of_management && change.collection == kHostsPath) {
    hosts_[named(change)].set(time_.now(), tick(),
                              is_gone ? std::nullopt : std::optional(HostFacts::read(*change.object)));
  }
  if (!of_management && change.collection == kNodesPath) {
    nodes_[{server.name(), change.name}].set(
        time_.now(), tick(), is_gone ? std::nullopt : std::optional(MachineNodeFacts::read(*change.object)));
  }
}

void MachinesWatch::machine_changed(const Change& change) {
  const std::string key = named(change);
  if (change.type == Change::Type::deleted) {
    machines_[key].set(time_.now(), tick(), std::nullopt);
    unapproved_.erase(key);
    return;
  }
  MachineFacts facts = MachineFacts::read(*change.object);
  const MachineFacts* const known = machines_[key].now();
  if (known && known->approved() && !facts.approved()) unapproved_[key] = time_.now();
  machines_[key].set(time_.now(), tick(), std::move(facts));
}

void MachinesWatch::served(const sim::Sending& sending) {
  const auto sent = sent_.find(&sending.request);
  if (sent == sent_.end()) return effect_.reset();
  const io::Steady when = sent->second;
  sent_.erase(sent);
  if (!effect_) return;
  Written write = *std::exchange(effect_, std::nullopt);
  write.sent = when;
  ++writes_;
  const Change& change = write.change;
  const bool of_management = write.server.name().empty();
  if (change.type == Change::Type::modified) {
    if (of_management && change.collection == kMachinesPath) return check_machine(write);
    if (of_management && change.collection == kHostsPath) return check_host(write);
    if (!of_management && change.collection == kNodesPath) return check_node(write);
  }
  report_("foreign", fmt::format("{} makes, deletes or changes {} {}", change.by, change.collection, named(change)));
}

void MachinesWatch::check_machine(const Written& write) {
  const MachineFacts before = MachineFacts::read(*write.change.before),
                     after = MachineFacts::read(*write.change.object);
  check_untouched(write.change, {{"annotations", machines::kPreDrainHook},
                                 {"annotations", machines::kSkipRemediation},
                                 {"labels", machines::kMaintenance}});
  if (before.hooked && !after.hooked) check_hook_gone(write, before);
  if (!before.hooked && after.hooked) check_hook_set(write, before);
  if (before.asked != after.asked) check_approval(write, before, after);
  if (before.skip != after.skip) check_skip(write, before, after);
}

void MachinesWatch::check_node(const Written& write) {
  check_untouched(write.change, {{"labels", machines::kMachineDeleted},
                                 {"labels", machines::kMachineMaintenance},
                                 {"labels", machines::kApproveDeletion},
                                 {"labels", machines::kApproveMaintenance}});
  check_labels(write, MachineNodeFacts::read(*write.change.before), MachineNodeFacts::read(*write.change.object));
}

void MachinesWatch::check_host(const Written& write) {
  check_untouched(write.change, {{"annotations", machines::kPowerOff}});
  check_hold(write, HostFacts::read(*write.change.before), HostFacts::read(*write.change.object));
}

// ---- What could be known -----------------------------------------------------------------------------------------

bool MachinesWatch::ever_node(const MachineFacts& machine, io::Steady sent,
                              const std::function<bool(const MachineNodeFacts*)>& holds) const {
  const auto server = servers_.find(machine.cluster_key());
  const auto node = nodes_.find({machine.cluster_key(), machine.node});
  if (server == servers_.end() || node == nodes_.end()) return holds(nullptr);
  return node->second.ever(server->second->view.oldest(sent), sent, holds);
}

bool MachinesWatch::ever_of_machines(io::Steady sent, const std::function<bool(uint64_t tick)>& holds) const {
  const io::Steady oldest = servers_.at("")->view.oldest(sent);
  const auto after = std::ranges::upper_bound(ticks_, oldest);
  std::vector<uint64_t> ticks;
  if (after != ticks_.begin()) ticks.push_back(static_cast<uint64_t>(after - ticks_.begin() - 1));
  for (const auto& [key, machine] : machines_) machine.add_ticks(oldest, sent, ticks);
  return std::ranges::any_of(ticks, holds);
}

// One that alone names a Node has it, unless the Node names another. Where several do the Node says whose it is.
const MachineFacts* MachinesWatch::owner(const NodeKey& key, const MachineNodeFacts& node, uint64_t tick) const {
  const MachineFacts* named = nullptr;
  const MachineFacts* any = nullptr;
  int claims = 0;
  for (const auto& [name, history] : machines_) {
    const MachineFacts* const machine = history.at(tick);
    if (!machine || machine->node != key.second || machine->cluster_key() != key.first) continue;
    ++claims;
    any = machine;
    if (node.machine == machine->name && (node.ns.empty() || node.ns == machine->ns)) named = machine;
  }
  return claims == 1 && node.machine.empty() ? any : named;
}

// Its Node's name is used again.
bool MachinesWatch::may_be_anothers(const MachineFacts& machine, const MachineNodeFacts& node, io::Steady sent) const {
  const NodeKey key{machine.cluster_key(), machine.node};
  return ever_of_machines(sent, [&](uint64_t tick) {
    const MachineFacts* const its = owner(key, node, tick);
    return its && its->key() != machine.key();
  });
}

bool MachinesWatch::may_be_its(const MachineFacts& machine, const MachineNodeFacts& node, io::Steady sent) const {
  const NodeKey key{machine.cluster_key(), machine.node};
  return ever_of_machines(sent, [&](uint64_t tick) {
    const MachineFacts* const its = owner(key, node, tick);
    return its && its->key() == machine.key();
  });
}

const MachineNodeFacts* MachinesWatch::node_now(const MachineFacts& machine) const {
  const auto node = nodes_.find({machine.cluster_key(), machine.node});
  return node == nodes_.end() ? nullptr : node->second.now();
}

bool MachinesWatch::is_silent(const MachineFacts& machine, io::Steady when) const {
  const auto server = servers_.find(machine.cluster_key());
  return server != servers_.end() && server->second->view.is_silent(when);
}

// ---- The rules ---------------------------------------------------------------------------------------------------

void MachinesWatch::check_untouched(const Change& change, const Own& own) {
  const auto others = [&](const sim::Text& text) {
    Json object = *Json::parse(*text);
    object.remove({"metadata", "resourceVersion"}).remove({"metadata", "managedFields"});
    for (const auto& [map, key] : own) object.remove({"metadata", map, key});
    for (const char* map : {"labels", "annotations"}) {
      if (object["metadata"][map].size() == 0) object.remove({"metadata", map});
    }
    return object;
  };
  if (others(change.before) == others(change.object)) return;
  report_("foreign",
          fmt::format("{} changes what is not its own: {} becomes {}", change.by, *change.before, *change.object));
}

void MachinesWatch::check_pause(const Written& write, std::string_view what) {
  const bool free = paused_.ever(servers_.at("")->view.oldest(write.sent), write.sent,
                                 [](const bool* paused) { return !paused || !*paused; });
  if (!free) report_("pause", fmt::format("{} {} although everything is paused", write.change.by, what));
}

void MachinesWatch::check_hook_gone(const Written& write, const MachineFacts& machine) {
  if (!machine.enabled) return;
  const std::string what = fmt::format("removes the hook of {}", machine.key());
  check_pause(write, what);
  const auto blame = [&](std::string_view why) {
    report_("hook", fmt::format("{} {} {}", write.change.by, what, why));
  };
  if (machine.node.empty()) return blame("although it has no Node yet");
  const auto node = nodes_.find({machine.cluster_key(), machine.node});
  const auto is_none = [](const MachineNodeFacts* now) { return !now; };
  const bool is_gone = node == nodes_.end() || node->second.ever(write.sent - kAsked, write.sent, is_none);
  if (machine.deleting && is_gone) return;
  const auto is_anothers = [&](const MachineNodeFacts* now) {
    return now && may_be_anothers(machine, *now, write.sent);
  };
  if (machine.deleting && ever_node(machine, write.sent, is_anothers)) return;
  if (is_silent(machine, write.sent)) return blame("although its cluster has been silent for long");
  const bool may_go = ever_node(machine, write.sent, [&](const MachineNodeFacts* now) {
    return now && (now->approves_deletion || !is_kept(*now)) && may_be_its(machine, *now, write.sent);
  });
  if (!may_go) blame(fmt::format("although nobody has allowed that on its Node {}", machine.node));
}

void MachinesWatch::check_hook_set(const Written& write, const MachineFacts& machine) {
  const bool kept = plan_.relay.hook_without_state || ever_node(machine, write.sent, [&](const MachineNodeFacts* now) {
                      return now && now->maintained && may_be_its(machine, *now, write.sent);
                    });
  if (machine.enabled && kept && !machine.node.empty()) return;
  report_("hook",
          fmt::format("{} sets the hook of {}, which nobody would ever let go", write.change.by, machine.key()));
}

void MachinesWatch::check_approval(const Written& write, const MachineFacts& before, const MachineFacts& after) {
  if (!after.approved()) {
    return report_("foreign", fmt::format("{} makes \"{}\" of \"{}\" on {}", write.change.by, after.asked, before.asked,
                                          before.key()));
  }
  const std::string what = fmt::format("approves the maintenance of {}", before.key());
  check_pause(write, what);
  const auto blame = [&](std::string_view why) {
    report_("approve", fmt::format("{} {} {}", write.change.by, what, why));
  };
  if (before.asked != "requested") return blame(fmt::format("although its label is \"{}\"", before.asked));
  if (!before.enabled) return blame("although it is not enabled");
  if (is_silent(before, write.sent)) return blame("although its cluster has been silent for long");
  const bool granted = ever_node(before, write.sent, [&](const MachineNodeFacts* now) {
    return now && now->approves_maintenance && now->machine_maintenance && is_kept(*now) &&
           may_be_its(before, *now, write.sent);
  });
  if (!granted) blame(fmt::format("although its Node {} has not approved it", before.node));
}

bool MachinesWatch::keeps_from_remediation(const MachineFacts& machine) const {
  return plan_.relay.skip_remediation && machine.approved() && (machine.enabled || plan_.relay.metal3);
}

void MachinesWatch::check_skip(const Written& write, const MachineFacts& before, const MachineFacts& after) {
  const auto blame = [&](std::string_view what) {
    report_("remediation", fmt::format("{} {} {}", write.change.by, what, before.key()));
  };
  if (before.skip && !before.skips_for_careen()) return blame("changes a user's skip-remediation of");
  if (after.skip) {
    if (!after.skips_for_careen()) return blame("writes another value of skip-remediation to");
    if (!keeps_from_remediation(after)) blame("keeps remediation from");
    return;
  }
  if (keeps_from_remediation(before)) return blame("allows the remediation, in its maintenance, of");
  if (before.deleting || !plan_.relay.skip_remediation || !before.enabled) return;
  const auto since = unapproved_.find(before.key());
  if (since == unapproved_.end() || write.sent > since->second + kReturnTakes - kClocks) return;
  const bool back = ever_node(before, write.sent, [](const MachineNodeFacts* now) { return !now || now->ready; });
  if (!back) blame("allows the remediation, before its Node is back, of");
}

void MachinesWatch::check_labels(const Written& write, const MachineNodeFacts& before, const MachineNodeFacts& after) {
  const NodeKey key{write.server.name(), write.change.name};
  const auto ever = [&](const auto& holds) {
    return ever_of_machines(write.sent, [&](uint64_t tick) { return holds(owner(key, before, tick)); });
  };
  const auto blame = [&](std::string_view what) {
    report_("told", fmt::format("{} {} on node {} of {}", write.change.by, what, key.second, key.first));
  };
  const auto check = [&](std::string_view label, bool was, bool is, const auto& wants) {
    if (was == is) return;
    const auto wanted = [&](const MachineFacts* its) { return its && its->enabled && is_kept(before) && wants(*its); };
    if (is && !ever(wanted)) blame(fmt::format("sets {}, although no Machine wants it there", label));
    if (was && !ever([&](const MachineFacts* its) { return !wanted(its); }))
      blame(fmt::format("removes {}, although its Machine wants it", label));
  };
  const auto deleted = [](const MachineFacts& its) { return its.deleting; };
  const auto maintained = [](const MachineFacts& its) { return its.in_maintenance(); };
  check("machine-deleted", before.machine_deleted, after.machine_deleted, deleted);
  check("machine-maintenance", before.machine_maintenance, after.machine_maintenance, maintained);
  const auto check_cleared = [&](std::string_view label, bool was, bool is, const auto& needs) {
    if (was == is) return;
    const bool unneeded = ever([&](const MachineFacts* its) { return its && its->enabled && !needs(*its); });
    if (is || !plan_.relay.clear_approvals || !unneeded) blame(fmt::format("{} {}", is ? "sets" : "clears", label));
  };
  check_cleared("approve-deletion", before.approval_of_deletion, after.approval_of_deletion, deleted);
  check_cleared("approve-maintenance", before.approval_of_maintenance, after.approval_of_maintenance, maintained);
}

bool MachinesWatch::wants_off(const HostFacts& host, uint64_t tick) const {
  return plan_.relay.metal3 && !host.keeps_power && std::ranges::any_of(machines_, [&](const auto& one) {
           const MachineFacts* const machine = one.second.at(tick);
           return machine && machine->approved() && host.belongs_to(*machine);
         });
}

void MachinesWatch::check_hold(const Written& write, const HostFacts& before, const HostFacts& after) {
  if (before.held_off == after.held_off) return;
  const std::string what = fmt::format("powers {} host {}/{}", after.held_off ? "off" : "on", before.ns, before.name);
  if (after.held_off) check_pause(write, what);
  const bool right =
      ever_of_machines(write.sent, [&](uint64_t tick) { return wants_off(before, tick) == after.held_off; });
  if (!right) report_("power", fmt::format("{} {}, although no Machine's maintenance says so", write.change.by, what));
}

}  // namespace careen::explore
