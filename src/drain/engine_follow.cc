// What happens to pods and budgets, and which drains and pods it concerns.
#include <fmt/format.h>

#include <algorithm>

#include "drain/ask.h"
#include "drain/engine_core.h"
#include "kube/objects.h"

namespace careen::drain {

namespace {

// Longer than the first pause between two requests.
constexpr io::Duration kAskedLately = io::minutes{1};
constexpr io::Duration kFirstChasePause = io::seconds{10};
constexpr io::Duration kLongestChasePause = io::minutes{10};

io::Duration pause_between_newcomers(int gone) {
  return std::min(kFirstChasePause * (int64_t{1} << std::clamp(gone - 1, 0, 10)), kLongestChasePause);
}

// A pod that came after the list holds up nothing, and forbids nothing.
Verdict as_newcomer(Verdict verdict, bool chased) {
  const bool goes = verdict.fate == Fate::take && chased;
  return goes || verdict.fate == Fate::leave ? std::move(verdict) : Verdict{Fate::leave, {}};
}

}  // namespace

Membership* Target::membership(const Drain& drain) {
  const auto it =
      std::find_if(memberships.begin(), memberships.end(), [&](const Membership& one) { return one.drain == &drain; });
  return it == memberships.end() ? nullptr : &*it;
}

Target* Engine::Core::find_target(const std::string& uid) {
  const auto it = targets.find(uid);
  return it == targets.end() ? nullptr : it->second.get();
}

Target& Engine::Core::target_of(const kube::Pod& pod) {
  if (Target* known = find_target(pod.uid)) return *known;
  auto made = std::make_unique<Target>(
      p.loop, [this, uid = pod.uid] { look_again(uid); },
      [this, uid = pod.uid] {
        slots.hangs(uid);
        pump();
      });
  Target& target = *made;
  target.ns = pod.ns;
  target.name = pod.name;
  target.uid = pod.uid;
  target.node = pod.node;
  target.sequence = ++sequence;
  targets.emplace(pod.uid, std::move(made));
  by_namespace[target.ns].insert(&target);
  if (is_own(target)) own = &target;
  // A drain that ends and begins again does not ask again each time.
  if (const auto before = asked_lately.find(target.uid); before != asked_lately.end()) {
    target.asked = before->second;
    target.asked_in_vain = 1;
    asked_lately.erase(before);
  }
  return target;
}

bool Engine::Core::is_own(const Target& target) const {
  return !options.own_pod.empty() && target.name == options.own_pod && target.ns == options.own_namespace;
}

void Engine::Core::drop_if_unused(Target& target) {
  // One that is on its way is kept for its answer.
  if (!target.memberships.empty() || target.in_flight != Action::none) return;
  leave_queue(target);
  count_to_send(target, false);
  if (target.blocked) --blocked;
  const auto forget = [&](auto& index) {
    const auto it = index.find(target.ns);
    if (it == index.end()) return;
    it->second.erase(&target);
    if (it->second.empty()) index.erase(it);
  };
  forget(by_namespace);
  forget(refused);
  if (own == &target) own = nullptr;
  std::erase_if(asked_lately, [&](const auto& one) { return one.second + kAskedLately < p.loop.now(); });
  if (target.asked) asked_lately[target.uid] = *target.asked;
  // A copy: the key must outlive what it finds.
  targets.erase(std::string(target.uid));
}

// Null when the pod is gone, or another pod has its name.
std::optional<kube::Pod> Engine::Core::pod_of(const Target& target) const {
  auto pod = p.pods.find(target.ns, target.name);
  if (!pod || pod->uid != target.uid) return std::nullopt;
  return pod;
}

Rank Engine::Core::rank_of(const kube::Pod& pod, const Drain& drain, const Verdict& verdict) const {
  const Options& wanted = drain.options;
  Rank rank{.order = verdict.order};
  while (rank.tier < wanted.tiers.size() &&
         !wanted.tiers[rank.tier].matches([&pod](std::string_view key) { return pod.label(key); })) {
    ++rank.tier;
  }
  if (wanted.by_priority) rank.priority = pod.priority;
  return rank;
}

void Engine::Core::pod_changed(const kube::Pod* before, const kube::Pod* after) {
  if (before && (!after || after->uid != before->uid)) pod_gone(before->uid);
  if (after) pod_seen(*after);
}

void Engine::Core::pod_seen(const kube::Pod& pod) {
  const auto there = by_node.find(pod.node);
  if (there == by_node.end()) return;
  for (Drain* drain : there->second) {
    const Turn turn = drain->turn();
    join(*drain, pod);
    update_phase(*drain);
    changed_turns(*drain, turn);
  }
  if (Target* target = find_target(pod.uid)) consider(*target);
}

void Engine::Core::pod_gone(const std::string& uid) {
  Target* target = find_target(uid);
  if (!target) return;
  for (const std::string& budget : target->budgets) {
    if (const auto it = lanes.find(budget); it != lanes.end())
      it->second->lane.leaves(target->name, p.pods.newest_version());
  }
  while (!target->memberships.empty()) {
    Drain& drain = *target->memberships.back().drain;
    const Turn turn = drain.turn();
    leave(drain, *target);
    update_phase(drain);
    changed_turns(drain, turn);
    consider_newcomers(drain, target->owner);
  }
  drop_if_unused(*target);
}

// Judges the pod as the drain's options want it. Considering it is up to the caller.
void Engine::Core::join(Drain& drain, const kube::Pod& pod) {
  const bool is_new = !find_target(pod.uid);
  Target& target = target_of(pod);
  follow_deletion(target, pod, is_new);
  target.ready = pod.flags.ready;
  target.owner = pod.owner_kind.empty() ? fmt::format("{}/{}", pod.ns, pod.name)
                                        : fmt::format("{}/{}/{}", pod.ns, pod.owner_kind, pod.owner_name);
  cover(target, pod);
  const bool daemon = pod.flags.daemon_set && p.daemon_set;
  const auto state = daemon ? p.daemon_set(pod.ns, pod.owner_name) : DaemonSetState::exists;
  Verdict verdict = judge(pod, drain.options, state, beyond_grace(target), &drain.rules);
  const Rank rank = is_own(target) ? kOwn : rank_of(pod, drain, verdict);

  Membership* membership = target.membership(drain);
  if (!membership) {
    membership = &target.memberships.emplace_back();
    membership->drain = &drain;
    drain.pods[{target.ns, target.name}] = &target;
    membership->newcomer = drain.listing == Drain::Listing::done;
    membership->unlisted = !membership->newcomer && p.loop.now() > drain.begun_at;
    if (!membership->newcomer) ++drain.progress.total_pods;
    tell(drain);
  }
  if (membership->newcomer) verdict = as_newcomer(std::move(verdict), drain.options.chase_newcomers && !is_own(target));
  if (membership->judged) count(*membership, -1);
  const bool the_same =
      membership->judged && membership->verdict.fate == verdict.fate && membership->verdict.message == verdict.message;
  membership->judged = true;
  membership->verdict = std::move(verdict);
  membership->rank = rank;
  count(*membership, 1);
  if (membership->pending() && drain.rules.known && !std::exchange(membership->counted, true)) {
    ++drain.progress.pods_to_evict;
  }
  if (membership->newcomer && membership->verdict.fate != Fate::take) end_chase(drain, target);
  if (!the_same) tell(drain);
}

// The server's clock says when the grace period ends, and ours may be another: its length counts, from when we saw it
// begin or, of a pod that was terminating when we came, from then on.
void Engine::Core::follow_deletion(Target& target, const kube::Pod& pod, bool is_new) {
  if (pod.deletion && pod.deletion != target.deletion) {
    target.found_terminating = is_new;
    target.grace_ends = p.loop.now() + pod.deletion_grace.value_or(io::Duration::zero());
  }
  target.deletion = pod.deletion;
  target.grace = pod.deletion_grace;
}

// For how long its grace period has been over. Of what terminated before we came only the server knows, and it is taken
// at its word, as kubectl does: nobody is killed by this.
io::Duration Engine::Core::beyond_grace(const Target& target) const {
  if (!target.deletion) return {};
  if (target.found_terminating) return p.loop.wall_now() - *target.deletion;
  return p.loop.now() - target.grace_ends;
}

void Engine::Core::leave(Drain& drain, Target& target) {
  Membership* membership = target.membership(drain);
  count(*membership, -1);
  if (membership->newcomer) end_chase(drain, target);
  target.memberships.erase(target.memberships.begin() + (membership - target.memberships.data()));
  if (const auto it = drain.pods.find({target.ns, target.name}); it != drain.pods.end() && it->second == &target) {
    drain.pods.erase(it);
  }
  tell(drain);
}

void Engine::Core::count(Membership& membership, int sign) {
  Drain& drain = *membership.drain;
  if (membership.newcomer) return;
  if (membership.pending()) drain.pending += sign;
  if (membership.verdict.fate == Fate::await) drain.awaited += sign;
  if (membership.pending() && !membership.given_up.empty()) drain.given_up += sign;
  if (membership.verdict.fate == Fate::refuse) drain.refusals += sign;
  if (membership.verdict.fate != Fate::take || membership.rank == kOwn) return;
  int& left = drain.left[membership.rank];
  left += sign;
  if (left == 0) drain.left.erase(membership.rank);
}

// The first of its owner, as long as none is on its way out and the pause after the last one is over.
bool Engine::Core::is_chased(Drain& drain, const Target& target) {
  Chase& chase = drain.chases[target.owner];
  if (chase.current == target.uid) return true;
  if (!chase.current.empty() || target.deletion || p.loop.now() < chase.not_before) return false;
  chase.current = target.uid;
  return true;
}

void Engine::Core::end_chase(Drain& drain, const Target& target) {
  const auto known = drain.chases.find(target.owner);
  if (known == drain.chases.end() || known->second.current != target.uid) return;
  const io::Steady now = p.loop.now();
  known->second.current.clear();
  known->second.not_before = now + pause_between_newcomers(++known->second.gone);
  // Pods without an owner have names of their own, and would fill it for ever.
  std::erase_if(drain.chases, [now](const auto& chase) {
    return chase.second.current.empty() && now > chase.second.not_before + kLongestChasePause;
  });
}

void Engine::Core::consider_newcomers(Drain& drain, const std::string& owner) {
  for (const auto& [name, target] : drain.pods) {
    if (target->owner == owner && target->membership(drain)->newcomer) consider(*target);
  }
}

// The pods of another rank have their turn.
void Engine::Core::changed_turns(Drain& drain, const Turn& before) {
  if (drain.turn() != before && !drain.left.empty()) consider_all(drain);
}

void Engine::Core::consider_all(Drain& drain) {
  for (const auto& [name, target] : drain.pods) consider(*target);
}

void Engine::Core::cover(Target& target, const kube::Pod& pod) {
  const std::vector<std::string>& keys = coverage.of(pod);
  if (pod.terminating()) {
    for (const std::string& key : keys) lane_of(key).lane.leaves(target.name, pod.version);
  }
  if (keys == target.budgets) return;
  leave_queue(target);
  target.budgets = keys;
}

void Engine::Core::budget_changed(const kube::DisruptionBudget* before, const kube::DisruptionBudget* after) {
  const kube::DisruptionBudget& budget = after ? *after : *before;
  const auto lane = lanes.find(budget.key());
  if (lane != lanes.end()) lane->second->lane.budget_is(after);

  const bool covers_others = !before || !after || !(before->selector == after->selector);
  if (covers_others) coverage.forget(budget.ns);
  const auto in_namespace = by_namespace.find(budget.ns);
  if (in_namespace == by_namespace.end()) return;
  if (covers_others) {
    for (Target* target : in_namespace->second) {
      if (const auto pod = pod_of(*target)) cover(*target, *pod);
      consider(*target);
    }
  }
  if (const auto waiting = refused.find(budget.ns); waiting != refused.end()) {
    const std::set<Target*, BySequence> released = std::move(waiting->second);
    refused.erase(waiting);
    for (Target* target : released) {
      // Under several budgets nothing helps but that there are fewer.
      if (target->budgets.size() > 1) {
        refused[budget.ns].insert(target);
        continue;
      }
      const io::Steady soon = std::max(p.loop.now(), target->asked.value_or(io::Steady{}) + kAskedWithin);
      if (target->setback) target->setback->retry_at = std::min(target->setback->retry_at, soon);
      consider(*target);
    }
  }
  if (lane == lanes.end()) return;
  // Pods that are not ready may pass now, depending on how the others are.
  std::vector<Target*> unready;
  for (Target* target : lane->second->waiting) {
    if (!target->ready) unready.push_back(target);
  }
  for (Target* target : unready) consider(*target);
  serve(*lane->second);
}

}  // namespace careen::drain
