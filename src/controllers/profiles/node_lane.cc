#include "controllers/profiles/node_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "budget/ledger.h"
#include "controllers/profiles/admissions.h"
#include "controllers/profiles/begun_leases.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/hypervisor_writer.h"
#include "controllers/profiles/message_desk.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/node_meters.h"
#include "controllers/profiles/node_reports.h"
#include "controllers/profiles/settler.h"
#include "controllers/profiles/stagger_leases.h"
#include "controllers/profiles/write_slots.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
#include "observe/prometheus_observations.h"

namespace careen::profiles {

using io::Task;

void NodeLane::carry_out(std::string node, Decision decision, Basis on) {
  acting_.spawn(act(std::move(node), std::move(decision), std::move(on)));
}

Task<void> NodeLane::act(std::string node, Decision decision, Basis on) {
  const bool uses_observation = !decision.effects.observed.empty();
  const bool written = co_await write(node, decision, on);
  if (uses_observation) p_.observations.settled(node, written);
  done(node);
}

void NodeLane::done(const std::string& node) {
  p_.meters.end_work(node, p_.loop.now());
  p_.queue.done(node);
}

Task<bool> NodeLane::write(const std::string& node, Decision& decision, const Basis& on) {
  if (decision.needs_document()) {
    co_await p_.messages.fetch_document(node);
    co_return false;
  }
  if (decision.effects.announced) co_await p_.messages.announce(node, decision, on);
  if (!decision.effects.patch) {
    if (!decision.effects.hypervisor.empty()) co_await write_hypervisor(node, std::move(decision), on);
    co_return false;
  }
  if (!co_await is_recorded(node, decision)) co_return false;
  const Answer answer = co_await send(node, decision, on);
  if (!answer) co_return false;
  // The server's answer is the newest there is of this node.
  if (*answer && !p_.writer.enter(**answer)) {
    p_.meters.writes("accepted").add();
    succeeded(node, decision);
    co_return true;
  }
  if (*answer || answer->error().ambiguous()) co_return co_await find_out(node, decision, *answer);
  co_return co_await refused(node, decision, *answer);
}

// False when it will not be.
Task<bool> NodeLane::is_recorded(std::string node, const Decision& decision) {
  if (!decision.admission() || co_await p_.ledger.recorded(decision.uid)) co_return true;
  if (!p_.ledger.fenced()) p_.queue.wake(node);
  co_return false;
}

// Everything up to the node's own write, and its answer; nothing when it does not come to that.
Task<NodeLane::Answer> NodeLane::send(const std::string& node, Decision& decision, const Basis& on) {
  const auto slot = co_await p_.slots.of(node).acquire();
  co_return co_await send_in_turn(node, decision, on);
}

Task<NodeLane::Answer> NodeLane::send_in_turn(const std::string& node, Decision& decision, const Basis& on) {
  if (wakes_outdated(node, decision, on)) co_return std::nullopt;
  if (!co_await take_leases(node, decision)) co_return std::nullopt;
  if (wakes_outdated(node, decision, on)) co_return std::nullopt;
  if (!co_await p_.hypervisors.write(node, decision, on)) co_return std::nullopt;
  const auto turn = co_await p_.writer.turn("", node);
  if (wakes_outdated(node, decision, on)) co_return std::nullopt;
  co_return co_await p_.guard.write(kube::resources::nodes, node, *decision.effects.patch, decision, on);
}

// It changed while we waited: the write could only conflict, comes too late, or must not be. The admission stays for
// the next decision.
bool NodeLane::wakes_outdated(const std::string& node, const Decision& decision, const Basis& on) {
  if (!p_.guard.outdated(node, decision, on)) return false;
  p_.queue.wake(node);
  return true;
}

// False when the transition cannot continue; then the node has to be decided again, or the reason has been reported. A
// node that moves after its lease has run out moves beside the next one that takes it: the decision ends with the
// lease.
Task<bool> NodeLane::take_leases(std::string node, Decision& decision) {
  Effects& effects = decision.effects;
  for (const LeaseGrab& grab : effects.leases) {
    const io::Wall held_until = io::add(in_microseconds(p_.loop.wall_now()), grab.duration);
    const auto outcome = co_await p_.begun.take(node, grab, in_microseconds(decision.admission()->since));
    if (!outcome && outcome.error().not_leader()) {  // nothing was sent
      p_.queue.wake_after_failure(node);
      co_return false;
    }
    if (!outcome) {
      gave_up(node, decision, outcome.error());
      co_return false;
    }
    if (*outcome == LeaseTaker::Outcome::lost) {
      retry_lease(node, grab);
      co_return false;
    }
    effects.valid_until = std::min(effects.valid_until.value_or(held_until), held_until);
  }
  co_return true;
}

// If the lease has changed, the node is decided again at once; if it is the same, only time can help.
void NodeLane::retry_lease(const std::string& node, const LeaseGrab& grab) {
  const kube::Lease* lease = p_.leases.find(grab.key());
  if ((lease ? lease->version : 0) == grab.version) {
    p_.queue.wake_after_failure(node);
  } else {
    p_.queue.wake(node);
  }
}

// A chain that continues with a drain may change nothing but the hypervisor.
Task<void> NodeLane::write_hypervisor(std::string node, Decision decision, Basis on) {
  const auto slot = co_await p_.slots.of(node).acquire();
  if (!p_.guard.outdated(node, decision, on) && !co_await p_.hypervisors.write(node, decision, on)) co_return;
  p_.queue.wake(node);
}

// What the answer proves was not stored, unless somebody on the way sent it twice: then it conflicts with itself.
Task<bool> NodeLane::refused(std::string node, const Decision& decision, const kube::Result<std::string>& answer) {
  const kube::ApiError& error = answer.error();
  if (error.not_leader()) {  // nothing was sent
    p_.queue.wake_after_failure(node);
    co_return false;
  }
  if (error.too_late()) {
    p_.queue.wake(node);
    co_return false;
  }
  if (error.conflict() || error.not_found()) {
    p_.meters.writes("conflict").add();
    if (co_await p_.writer.look("", node)) co_return co_await find_out(node, decision, answer);
    if (!decision.effects.moved.empty() && took_effect(node, decision)) {
      succeeded(node, decision);
      co_return true;
    }
    const kube::Node* now = p_.nodes.find(node);
    if (!now || now->version != decision.version) {
      p_.queue.wake(node);
      co_return false;
    }
  }
  p_.meters.writes("refused").add();
  gave_up(node, decision, error);
  co_return false;
}

// No answer says what became of the write. True when it has taken effect, or still may.
Task<bool> NodeLane::find_out(std::string node, const Decision& decision, const kube::Result<std::string>& answer) {
  p_.meters.writes("unknown").add();
  // A move is announced once, and one that holds a place keeps it until its fate is certain. Any other write may still
  // arrive: it or the next one then conflicts.
  const bool matters = decision.admission() || !decision.effects.moved.empty();
  Settler::Fate fate = Settler::Fate::over;
  if (matters) {
    fate = co_await p_.settler.settle({node, decision.uid, decision.version});
  } else {
    co_await p_.writer.look("", node);
  }
  if (took_effect(node, decision)) {
    succeeded(node, decision);
    co_return true;
  }
  // What stands on the node proves nothing, since others write there: leases that may have been used run out.
  if (fate != Settler::Fate::never && std::holds_alternative<place::Used>(decision.place)) p_.begun.spend(node);
  p_.admissions.give_up(node, decision);
  if (answer) {
    p_.queue.wake_after_failure(node);
  } else if (budget::PauseGuard::interrupted(answer.error())) {
    p_.queue.wake(node);
  } else {
    p_.failing.write_failed(node, answer.error());
  }
  // It may still come, or have come and been overwritten, if nothing has made it impossible.
  co_return fate != Settler::Fate::never;
}

// The node is what the write would have made of it, whatever others have done to it since.
bool NodeLane::took_effect(const std::string& name, const Decision& decision) const {
  const Effects& effects = decision.effects;
  const kube::Node* node = p_.nodes.find(name);
  const std::string* text = node && node->uid == decision.uid ? node->annotation(kDataAnnotation) : nullptr;
  if (!text) return false;
  if (*text == effects.data) return true;
  const auto now = parse_node_data(*text), wanted = parse_node_data(effects.data);
  if (effects.moved.empty() || !now || !wanted) return false;
  return std::all_of(effects.moved.begin(), effects.moved.end(), [&](const Moved& moved) {
    const auto is = now->profiles.find(moved.profile), was = wanted->profiles.find(moved.profile);
    return is != now->profiles.end() && was != wanted->profiles.end() && is->second.current == was->second.current &&
           is->second.transition == was->second.transition;
  });
}

void NodeLane::succeeded(const std::string& name, const Decision& decision) {
  p_.failing.written(name);
  p_.admissions.carried_out(name, decision);
  p_.queue.wake(name);
  const kube::Node* node = p_.nodes.find(name);
  for (const Moved& moved : decision.effects.moved) {
    p_.meters.transitions(moved).add();
    p_.log.info("node moved to the next state", "node", name, "profile", moved.profile, "state", name_of(moved.to));
    // One that was created again meanwhile has not moved.
    if (!node || node->uid != decision.uid) continue;
    p_.reports.event(
        *node, "ChangedMaintenanceState",
        fmt::format("The node is now in the {} state caused by profile {}", name_of(moved.to), moved.profile));
    p_.moved(*node, moved);
  }
  if (node) p_.messages.report_dropped(*node, decision.effects.dropped);
}

void NodeLane::gave_up(const std::string& node, const Decision& decision, const kube::ApiError& error) {
  p_.admissions.give_up(node, decision);
  p_.failing.write_failed(node, error);
}

}  // namespace careen::profiles
