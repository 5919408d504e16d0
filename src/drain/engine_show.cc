// What is reported of the drains: stages, reasons, events and figures. Reasons are made when somebody asks; listeners
// are called only when a pod's stage or what blocks it has changed.
#include <algorithm>

#include "drain/engine_core.h"
#include "drain/pod_request.h"
#include "drain/reason.h"
#include "kube/cache.h"
#include "kube/disruption_budget.h"
#include "kube/events.h"
#include "kube/objects.h"

namespace careen::drain {

namespace {

// A pod that is blocked for longer gets an event.
constexpr io::Duration kBlockedEventAfter = io::minutes{1};

std::string blocking_budgets(const Target& target, Passage passage) {
  if (target.budgets.empty()) return {};
  if (passage != Passage::several) return target.budgets.front();
  std::string all;
  for (const std::string& budget : target.budgets) all += (all.empty() ? "" : ", ") + budget;
  return all;
}

}  // namespace

void Engine::Core::count_to_send(Target& target, bool is) {
  if (&target == own || target.to_send == is) return;
  target.to_send = is;
  to_send += is ? 1 : -1;
  if (to_send == 0 && own && !flush_alarm.pending()) flush_alarm.set(p.loop.now());
}

void Engine::Core::tell(Drain& drain) {
  drain.dirty = true;
  if (!flush_alarm.pending()) flush_alarm.set(p.loop.now());
}

void Engine::Core::flush() {
  if (own && to_send == 0) consider(*own);
  int pending = 0, running = 0;
  std::vector<Key> changed;
  for (const auto& [key, drain] : drains) {
    pending += drain->pending;
    running += drain->progress.phase == Progress::Phase::draining ? 1 : 0;
    if (std::exchange(drain->dirty, false)) changed.push_back(key);
  }
  meters.pending.set(pending);
  meters.blocked.set(blocked);
  meters.running.set(running);
  for (const Key& key : changed) listeners.tell(key);
}

void Engine::Core::show(Target& target) {
  const io::Steady now = p.loop.now();
  const Situation situation = situation_of(target);
  const bool closed = situation.passage == Passage::lane && lane_of(target.budgets.front()).lane.closed(now);
  bool is_blocked = false;
  std::string budget;
  for (Membership& membership : target.memberships) {
    if (!membership.pending()) continue;
    Drain& drain = *membership.drain;
    // One that has been awaited for too long is like any other.
    const Seen seen{has_to_go(membership) ? Fate::take : membership.verdict.fate, is_active(drain),
                    drain.has_turn(membership)};
    const bool over = !membership.given_up.empty() && !target.deletion;
    const Stage stage = over ? Stage::failed : stage_of(situation, seen, closed, now);
    std::string blocker;
    if (stage == Stage::blocked) blocker = blocking_budgets(target, situation.passage);
    is_blocked = is_blocked || stage == Stage::blocked;
    if (!blocker.empty()) budget = blocker;
    const bool other_stage = !std::exchange(membership.told, true) || stage != membership.stage;
    if (other_stage) membership.since = p.loop.wall_now();
    if (!other_stage && blocker == membership.budget) continue;
    membership.stage = stage;
    membership.budget = std::move(blocker);
    tell(drain);
  }
  if (target.blocked != is_blocked) {
    target.blocked = is_blocked;
    target.blocked_since = now;
    blocked += is_blocked ? 1 : -1;
  }
  if (!budget.empty()) write_blocked_event(target, budget);
}

void Engine::Core::show_waiting(BudgetLane& lane) {
  const bool closed = lane.lane.closed(p.loop.now());
  if (closed == lane.told_closed) return;
  lane.told_closed = closed;
  for (Target* target : lane.waiting) show(*target);
}

// Once a budget: a pod that is blocked for hours needs no second one.
void Engine::Core::tell_of_request(const Target& target, Action action, const Wish& wish) {
  using Asked = PodRequest::Kind;
  const bool overdue = action == Action::remove && !wish.remove;
  PodRequest request{action == Action::kill ? Asked::kill
                     : overdue              ? Asked::remove
                                            : Asked::leave,
                     target.ns,
                     target.name,
                     target.uid,
                     target.node,
                     {}};
  for (const Membership& membership : target.memberships) {
    if (has_to_go(membership)) request.owners.push_back(membership.drain->key.owner);
  }
  if (engine.on_request && engine.on_request(request)) return;
  if (request.kind == Asked::kill) {
    write_event(target, "Normal", "ForceDeleting", "Deleting the pod by force: it has not ended in time");
  } else if (request.kind == Asked::remove) {
    write_event(target, "Normal", "ForceDeleting", "Deleting the pod by force: it could not be evicted in time");
  }
}

void Engine::Core::write_blocked_event(Target& target, const std::string& budget) {
  if (!p.events || options.dry_run || target.blocked_event == budget) return;
  const io::Steady due = target.blocked_since + kBlockedEventAfter;
  if (p.loop.now() < due) return wake_by(target, due);
  target.blocked_event = budget;
  write_event(target, "Warning", "EvictionBlocked", "Eviction from node " + target.node + ": " + blocked_text(target));
}

void Engine::Core::write_event(const Target& target, std::string type, std::string reason, std::string note) {
  if (!p.events) return;
  kube::EventRecord event;
  event.api = kube::EventRecord::Api::core_v1;
  event.regarding.kind = "Pod";
  event.regarding.ns = target.ns;
  event.regarding.name = target.name;
  event.regarding.uid = target.uid;
  event.type = std::move(type);
  event.reason = std::move(reason);
  event.note = std::move(note);
  event.controller = "drain";
  p.events->record(std::move(event));
}

const Progress& Engine::Core::progress_of(Drain& drain) {
  Progress& out = drain.progress;
  out.paused = drain.paused_for;
  if (drain.paused_since) out.paused += p.loop.now() - *drain.paused_since;
  out.pods.clear();
  Remarks refusals, warnings;
  std::vector<std::string> given_up;
  for (const auto& [name, target] : drain.pods) {
    const Membership& membership = *target->membership(drain);
    const auto pod = pod_of(*target);
    if (pod && !membership.verdict.message.empty() && membership.verdict.fate != Fate::await) {
      remark(membership.verdict.fate == Fate::refuse ? refusals : warnings, membership.verdict.message, *pod);
    }
    if (!membership.pending()) continue;
    if (!membership.given_up.empty()) given_up.push_back(membership.given_up);
    out.pods.push_back({target->ns, target->name, target->uid, membership.stage, membership.since,
                        reason_of(drain, *target, membership), membership.budget, target->cause,
                        pod && pod->terminating() ? std::string(pod->finalizers) : std::string()});
  }
  out.warnings = warnings_text(warnings);
  out.left_alone = left_alone(drain);
  if (drain.timed_out || drain.lost) return out;
  out.errors = refusals_text(refusals);
  out.errors.insert(out.errors.end(), given_up.begin(), given_up.end());
  if (!drain.list_error.empty()) {
    out.errors.push_back("the pods of node " + drain.key.node + " cannot be listed: " + drain.list_error);
  }
  if (!drain.node_error.empty()) {
    out.errors.push_back("node " + drain.key.node + " cannot be read: " + drain.node_error);
  }
  return out;
}

std::vector<std::string> Engine::Core::left_alone(const Drain& drain) const {
  Remarks remarks;
  for (const auto& [name, target] : drain.pods) {
    const Verdict& verdict = target->membership(drain)->verdict;
    if (verdict.fate != Fate::leave || !verdict.told) continue;
    if (const auto pod = pod_of(*target)) remark(remarks, verdict.message, *pod);
  }
  return short_lines(remarks);
}

std::string Engine::Core::reason_of(const Drain& drain, Target& target, const Membership& membership) {
  switch (membership.stage) {
    case Stage::evicting:
      return target.in_flight == Action::remove ? "deleting" : "evicting";
    case Stage::completing:
      return membership.verdict.message.empty() ? "left to end by itself" : membership.verdict.message;
    case Stage::failed:
      if (!membership.given_up.empty()) return "failed: " + target.cause;
      return target.setback ? setback_text(*target.setback, p.loop.now()) : "failed";
    case Stage::blocked:
      return blocked_text(target);
    case Stage::waiting:
      return waiting_text(drain, target, membership);
    case Stage::terminating:
      break;
  }
  const auto pod = pod_of(target);
  return pod ? terminating_text(*pod, p.loop.wall_now()) : "terminating";
}

// For whom it waits: the lowest of those that are left, or whatever is awaited.
std::string Engine::Core::turn_of(const Drain& drain, const Membership& membership) const {
  const Rank its_rank = membership.rank;
  const Rank first = drain.left.begin()->first;
  if (!(first < its_rank)) return order_turn_text(kOrderOfAwaited, drain.awaited, membership.verdict.by);
  const auto pods_of = [&](auto&& is_waited_for) {
    int pods = 0;
    for (const auto& [rank, count] : drain.left) pods += is_waited_for(rank) ? count : 0;
    return pods;
  };
  if (first.tier != its_rank.tier) {
    return turn_text(first.tier + 1, drain.options.tiers.size(),
                     pods_of([&](const Rank& rank) { return rank.tier == first.tier; }));
  }
  if (first.order == its_rank.order) return priority_turn_text(first.priority, drain.left.begin()->second);
  return order_turn_text(
      first.order, pods_of([&](const Rank& rank) { return rank.tier == first.tier && rank.order == first.order; }),
      membership.verdict.by);
}

std::string Engine::Core::waiting_text(const Drain& drain, Target& target, const Membership& membership) {
  if (drain.lost) return "not sent: the node that was to be drained is not there any more";
  if (drain.timed_out) return "not sent: the time of the drain is over";
  if (const budget::Pause* pause = pause_of(drain)) return "not sent: " + pause->text();
  if (drain.refusals > 0) return "not sent: the drain is refused";
  if (!pods_are_known || budget_state == Budgets::unknown) return "waits until pods and budgets have been read";
  if (!drain.rules.known) return "waits until MachineDrainRules have been read";
  if (!is_active(drain)) return "waits for the list of the node's pods";
  if (!drain.has_turn(membership)) return turn_of(drain, membership);
  const Situation situation = situation_of(target);
  if (options.dry_run) return situation.wish.remove ? "would be deleted" : "would be evicted";
  if (situation.held) return "careen's own pod goes last";
  if (!drain.node_error.empty()) return "waits until node " + target.node + " can be read";
  if (situation.passage == Passage::lane) return "waits for its turn under budget " + target.budgets.front();
  return "waits to be sent";
}

std::string Engine::Core::blocked_text(Target& target) {
  std::vector<const kube::DisruptionBudget*> covering;
  for (const std::string& key : target.budgets) {
    if (const kube::DisruptionBudget* budget = p.budgets.find(key)) covering.push_back(budget);
  }
  const io::Steady now = p.loop.now();
  const Situation situation = situation_of(target);
  if (situation.passage == Passage::several) return several_text(covering);
  if (target.setback && target.setback->retry_at > now) return setback_text(*target.setback, now);
  if (covering.empty()) return "blocked";
  return budget_text(*covering.front(), lane_of(covering.front()->key()).lane.standing(now));
}

}  // namespace careen::drain
