#include "controllers/machines/decide.h"

#include <fmt/format.h>

#include "budget/pause.h"
#include "controllers/machines/names.h"

namespace careen::machines {

namespace {

using Verdict = Why::Verdict;

// A label of ours is either "true" or not there.
void adjust(NodeWrite& write, std::string_view label, const std::optional<kube::Atom>& is, bool wanted) {
  const bool fits = wanted ? is && *is == kTrue : !is;
  if (!fits) write.labels.emplace_back(label, wanted);
}

bool is_granted(const World& world, const RelayOptions& options) {
  const Machine& machine = *world.machine;
  return (machine.enabled || options.metal3) && machine.asked == Asked::granted;
}

// A host that is powered has to be through with what its operator does to it, and the Node has to be Ready.
bool is_back(const World& world) {
  if (world.host && (world.host->held_off || !world.host->powered || !(world.host->operational == "OK"))) return false;
  switch (world.sight) {
    case Sight::seen:
      return world.node->ready;
    // A cluster that went down with its Node cannot be asked, and a Node that is gone may come back. That of a Machine
    // that is not enabled is not looked for.
    case Sight::connecting:
    case Sight::unseen:
    case Sight::gone:
      return !world.machine->enabled;
    case Sight::no_node:
    case Sight::disputed:
      return true;
  }
  return true;
}

bool is_protected(const Machine& machine) {
  return machine.skips_remediation && *machine.skips_remediation == kOwnValue;
}

class Decider {
 public:
  Decider(const World& world, const Memory& memory, const RelayOptions& options, io::Wall now)
      : world_(world), machine_(*world.machine), memory_(memory), options_(options), now_(now) {}

  Decision decide() && {
    decision_.phase = phase();
    decision_.out = is_granted(world_, options_) || is_returning();
    if (is_returning()) decision_.wake = *memory_.returned + kLongestReturn;
    explain();
    MachineWrite write;
    if (machine_.enabled ? !relay(write) : !clean_up(write)) return std::move(decision_);
    decision_.out = decision_.out || write.approve;
    guard_from_remediation(write);
    finish(std::move(write));
    return std::move(decision_);
  }

 private:
  bool seen() const { return world_.sight == Sight::seen; }
  bool kept() const { return options_.hook_without_state || (seen() && world_.node->maintained); }

  // Its maintenance is over, but it is not back yet; not for ever.
  bool is_returning() const {
    if (!memory_.returned || now_ >= *memory_.returned + kLongestReturn) return false;
    return (machine_.enabled || options_.metal3) && !machine_.deleting && !is_back(world_);
  }

  Phase phase() const {
    if (!machine_.enabled && !is_granted(world_, options_)) return Phase::disabled;
    if (machine_.deleting) return machine_.hooked ? Phase::held : Phase::released;
    if (machine_.asked == Asked::granted) return Phase::approved;
    if (world_.sight == Sight::no_node) return Phase::no_node;
    if (machine_.asked == Asked::maintenance) return Phase::requested;
    if (is_returning()) return Phase::returning;
    if (!seen()) return machine_.hooked ? Phase::guarded : Phase::unseen;
    return machine_.hooked || kept() ? Phase::guarded : Phase::unmaintained;
  }

  void explain() {
    decision_.why = {
        Verdict::note,
        fmt::format("Machine {} of cluster {}: {}", machine_.key(), machine_.cluster_key(), name_of(decision_.phase)),
        {}};
    Why& why = decision_.why;
    if (!machine_.enabled) why.add(Verdict::note, fmt::format("the label {} is not \"true\"", kEnabled));
    if (machine_.deleting) {
      why.add(Verdict::note, fmt::format("it is being deleted since {}", io::format_whole_seconds(*machine_.deleting)));
    }
    for (const kube::Atom& hook : machine_.other_hooks) {
      why.add(Verdict::no, fmt::format("another hook holds its deletion, too: {}", hook.view()));
    }
    if (machine_.updating) why.add(Verdict::note, "it is updated in place");
    explain_sight();
    if (machine_.deleting && machine_.hooked) explain_hold();
    if (machine_.asked == Asked::maintenance) {
      const bool granted = seen() && world_.node->approves_maintenance;
      why.add(granted ? Verdict::yes : Verdict::no,
              granted ? "the Node approves the maintenance"
                      : fmt::format("the Node has no label {}=true yet", kApproveMaintenance));
    }
    if (decision_.phase == Phase::returning) {
      why.add(Verdict::no,
              world_.host && !(world_.host->operational == "OK")
                  ? fmt::format("its host is not through: operational status \"{}\"", world_.host->operational.view())
                  : std::string(seen() ? "its Node is not Ready yet" : "whether its Node is Ready is not known"));
    }
    if (world_.pause) why.add(Verdict::no, world_.pause->text(), Why::Code::paused);
  }

  void explain_sight() {
    Why& why = decision_.why;
    switch (world_.sight) {
      case Sight::no_node:
        why.add(Verdict::no, "it has no Node yet");
        return;
      case Sight::connecting:
        why.add(Verdict::no, fmt::format("Node {}: its cluster is being asked", machine_.node));
        return;
      case Sight::unseen:
        why.add(Verdict::error, fmt::format("Node {}: its cluster cannot be asked: {}", machine_.node, world_.trouble));
        return;
      case Sight::gone:
        why.add(Verdict::no, fmt::format("Node {}: {}", machine_.node,
                                         world_.trouble.empty() ? "its cluster has no such Node" : world_.trouble));
        return;
      case Sight::disputed:
        why.add(Verdict::error, fmt::format("Node {}: it does not say that it is of this Machine: it names another "
                                            "one, or none while several have it",
                                            machine_.node));
        return;
      case Sight::seen:
        why.add(world_.node->maintained ? Verdict::yes : Verdict::no,
                fmt::format("Node {}: {} the label {}", machine_.node, world_.node->maintained ? "has" : "lacks",
                            kMaintenanceState));
    }
  }

  void explain_hold() {
    const std::string since =
        machine_.held_since ? fmt::format(" since {}", io::format_whole_seconds(*machine_.held_since)) : std::string();
    const bool approved = seen() && world_.node->approves_deletion;
    decision_.why.add(approved ? Verdict::yes : Verdict::no,
                      approved ? fmt::format("careen's hook held the deletion{}; the Node approves it", since)
                               : fmt::format("careen's hook holds the deletion{}: the Node has no label {}=true", since,
                                             kApproveDeletion));
  }

  // The table of what follows from what; false: the Node is written first, or nothing can be said.
  bool relay(MachineWrite& write) {
    if (world_.sight == Sight::no_node) return true;
    if (world_.sight == Sight::gone) {
      if (machine_.deleting && machine_.hooked)
        let_go(write, "there is no Node any more that somebody could approve for");
      return true;
    }
    if (!seen()) {
      // To hold is safe whatever the Node says.
      if (options_.hook_without_state && !machine_.hooked && !machine_.deleting) write.hook = true;
      return true;
    }
    const Node& node = *world_.node;
    const bool asked = machine_.asked != Asked::nothing;
    NodeWrite labels;
    adjust(labels, kMachineDeleted, node.machine_deleted, kept() && machine_.deleting.has_value());
    adjust(labels, kMachineMaintenance, node.machine_maintenance, kept() && asked);
    if (options_.clear_approvals) {
      if (node.approval_of_deletion && !machine_.deleting) labels.labels.emplace_back(kApproveDeletion, false);
      if (node.approval_of_maintenance && !asked) labels.labels.emplace_back(kApproveMaintenance, false);
    }
    if (!labels.labels.empty()) {
      decision_.node = std::move(labels);
      return false;
    }
    const bool hold = kept() && !node.approves_deletion;
    if (hold && !machine_.hooked) {
      write.hook = true;
    } else if (!hold && machine_.hooked) {
      let_go(write,
             node.approves_deletion ? "the Node approves its deletion" : "no profile looks after its Node any more");
    }
    if (kept() && machine_.asked == Asked::maintenance && node.approves_maintenance && !world_.pause) {
      write.approve = true;
      write.lets_go = true;
    }
    return true;
  }

  // The Node first, as long as there is hope.
  bool clean_up(MachineWrite& write) {
    if (seen() && memory_.node_failures < kTries) {
      decision_.node = tidy(*world_.node);
      if (decision_.node) return false;
    }
    const bool leaves = machine_.hooked || (machine_.skips_remediation && *machine_.skips_remediation == kOwnValue);
    if (leaves && world_.sight == Sight::connecting && memory_.disabled && now_ - *memory_.disabled < kPatience) {
      decision_.wake = *memory_.disabled + kPatience;
      return false;
    }
    if (!machine_.hooked) return true;
    write.hook = false;
    write.reason = "the Machine is not enabled any more";
    return true;
  }

  void let_go(MachineWrite& write, std::string reason) {
    if (world_.pause) return;
    write.hook = false;
    write.reason = std::move(reason);
    write.lets_go = true;
  }

  // A host that has just been powered on is not Ready for a while: the Machine is protected until it is back.
  void guard_from_remediation(MachineWrite& write) {
    const bool ours = is_protected(machine_);
    const bool granted = write.approve || is_granted(world_, options_);
    const bool wanted = options_.skip_remediation && (granted || (ours && is_returning()));
    // What a user has written there stays.
    if (wanted && !machine_.skips_remediation) write.skip_remediation = true;
    if (!wanted && ours) write.skip_remediation = false;
  }

  void finish(MachineWrite write) {
    if (write.hook || write.approve || write.skip_remediation) decision_.machine = std::move(write);
  }

  const World& world_;
  const Machine& machine_;
  const Memory& memory_;
  const RelayOptions& options_;
  const io::Wall now_;
  Decision decision_;
};

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::disabled:
      return "Disabled";
    case Phase::no_node:
      return "NoNode";
    case Phase::unseen:
      return "Unseen";
    case Phase::unmaintained:
      return "Unmaintained";
    case Phase::guarded:
      return "Guarded";
    case Phase::held:
      return "DeletionHeld";
    case Phase::released:
      return "DeletionReleased";
    case Phase::requested:
      return "MaintenanceRequested";
    case Phase::approved:
      return "MaintenanceApproved";
    case Phase::returning:
      return "Returning";
  }
  return "";
}

bool is_busy(Phase phase) {
  switch (phase) {
    case Phase::held:
    case Phase::released:
    case Phase::requested:
    case Phase::approved:
    case Phase::returning:
      return true;
    default:
      return false;
  }
}

std::string text_of(const Decision& decision) {
  std::string out;
  const auto say = [&out](std::string_view what) { out += out.empty() ? what : fmt::format(", {}", what); };
  if (decision.node) {
    for (const auto& [label, set] : decision.node->labels) {
      say(fmt::format("{} the label {} {} its Node", set ? "puts" : "takes", label, set ? "on" : "off"));
    }
  }
  if (!decision.machine) return out;
  const MachineWrite& write = *decision.machine;
  if (write.hook) say(*write.hook ? "sets its hook" : fmt::format("removes its hook: {}", write.reason));
  if (write.approve) say("approves its maintenance");
  if (write.skip_remediation) say(*write.skip_remediation ? "keeps remediation away" : "lets remediation come again");
  return out;
}

void Memory::clock_stepped(io::Duration by) {
  if (disabled) *disabled += by;
  if (returned) *returned += by;
}

void observe(const World& world, Memory& memory, io::Wall now) {
  const Machine& machine = *world.machine;
  if (memory.uid != machine.uid) {
    memory = {};
    memory.uid = machine.uid;
  }
  if (machine.enabled) {
    memory.disabled.reset();
  } else if (!memory.disabled) {
    memory.disabled = now;
  }
  // What is left of a maintenance is the protection of the Machine, or that it was seen.
  if (machine.asked == Asked::granted) {
    memory.granted = true;
    memory.returned.reset();
    return;
  }
  if (is_back(world)) memory.granted = false;
  if (!is_protected(machine) && !memory.granted) {
    memory.returned.reset();
  } else if (!memory.returned) {
    memory.returned = now;
  }
}

Decision decide(const World& world, const Memory& memory, const RelayOptions& options, io::Wall now) {
  return Decider(world, memory, options, now).decide();
}

std::optional<NodeWrite> tidy(const Node& node) {
  if (!node.marked()) return std::nullopt;
  NodeWrite write;
  adjust(write, kMachineDeleted, node.machine_deleted, false);
  adjust(write, kMachineMaintenance, node.machine_maintenance, false);
  return write;
}

}  // namespace careen::machines
