// What to send, for which pod and when; and what the answers lead to.
#include <algorithm>

#include "drain/ask.h"
#include "drain/engine_core.h"
#include "drain/reason.h"
#include "kube/cache.h"
#include "kube/disruption_budget.h"

namespace careen::drain {

namespace {

// The API server tries for ten seconds to write the budget's status before it gives up.
constexpr io::Duration kEvictionTimeout = io::seconds{30};
// Longer than an answer takes, also of a server that waits for other writers of the budget's status.
constexpr io::Duration kHangsAfter = io::seconds{5};

kube::CallOptions once(io::Duration timeout) {
  kube::CallOptions options;
  options.timeout = timeout;
  // What comes after a refusal or a failure depends on the budgets and the pod: it is decided here.
  options.attempts = 1;
  return options;
}

}  // namespace

// What an awaited pod may be deleted at: budgets are overridden then, and so is what it says itself.
std::optional<io::Steady> Engine::Core::awaited_until(const Membership& membership) const {
  const auto& limit = membership.drain->options.delete_after;
  if (membership.verdict.fate != Fate::await || !membership.verdict.told || !limit) return std::nullopt;
  return membership.turn_since.value_or(p.loop.now()) + *limit;
}

// It is to leave, or has been awaited for too long.
bool Engine::Core::has_to_go(const Membership& membership) const {
  if (!is_active(*membership.drain)) return false;
  const auto until = awaited_until(membership);
  return membership.verdict.fate == Fate::take || (until && *until <= p.loop.now());
}

Wish Engine::Core::wish_of(Target& target) {
  Wish wish;
  const auto remove_by = [&wish](io::Steady when) { wish.remove_at = std::min(wish.remove_at.value_or(when), when); };
  for (Membership& membership : target.memberships) {
    const Drain& drain = *membership.drain;
    const auto awaited = awaited_until(membership);
    if ((membership.verdict.fate != Fate::take && !awaited) || !is_active(drain)) continue;
    if (!membership.given_up.empty()) continue;
    // A workload that comes back at once would be evicted for as long as the list cannot be read.
    if (membership.unlisted && drain.listing != Drain::Listing::done) continue;
    if (membership.newcomer && !(drain.has_turn(membership) && is_chased(*membership.drain, target))) continue;
    const Options& wanted = drain.options;
    if (wanted.kill_after) wish.kill_after = std::min(wish.kill_after.value_or(*wanted.kill_after), *wanted.kill_after);
    if (!awaited && !drain.has_turn(membership)) continue;
    if (!membership.turn_since) membership.turn_since = p.loop.now();
    if (awaited) remove_by(*awaited);
    if (awaited && p.loop.now() < *awaited) continue;
    if (!wish.gone) wish.grace_seconds = wanted.grace_seconds;
    wish.gone = true;
    wish.remove = wish.remove || wanted.disable_eviction || eviction_state == Evictions::missing;
    if (wanted.delete_after) remove_by(*membership.turn_since + *wanted.delete_after);
  }
  return wish;
}

Situation Engine::Core::situation_of(Target& target) {
  Situation s;
  s.wish = wish_of(target);
  if (target.deletion) s.grace_ends = target.grace_ends;
  s.in_flight = target.in_flight;
  s.accepted = target.accepted;
  s.killed = target.killed;
  s.asking = target.asking;
  s.shortens = target.deletion && target.grace && s.wish.gone && s.wish.grace_seconds >= 0 && !target.shortened &&
               *target.grace > io::seconds{s.wish.grace_seconds};
  s.setback = target.setback;
  s.held = options.dry_run || budget_state == Budgets::unknown || (own == &target && to_send > 0);
  const auto pod = pod_of(target);
  if (!pod || budget_state != Budgets::known) return s;
  std::vector<const kube::DisruptionBudget*> covering;
  for (const std::string& key : target.budgets) {
    if (const kube::DisruptionBudget* budget = p.budgets.find(key)) covering.push_back(budget);
  }
  s.passage = passage_of(*pod, covering);
  // Of a drain before this one.
  if (s.passage == Passage::several && target.asked && !s.setback) {
    Answer before;
    before.kind = Answer::Kind::several;
    s.setback = Setback{before, 1, *target.asked + pause_between_asks(target.asked_in_vain, target.uid)};
  }
  return s;
}

void Engine::Core::consider(Target& target) {
  const bool wanted = std::any_of(target.memberships.begin(), target.memberships.end(), [&](const Membership& one) {
    return one.pending() && one.verdict.fate == Fate::take && one.given_up.empty() && is_active(*one.drain);
  });
  count_to_send(target, wanted && !target.deletion && !target.accepted);

  const io::Steady now = p.loop.now();
  const Situation situation = situation_of(target);
  const Decision decision = decide(situation, now);
  target.alarm.cancel();
  target.wakes_at.reset();
  if (decision.wake) wake_by(target, *decision.wake);
  for (const Membership& membership : target.memberships) {
    const io::Duration skip = membership.drain->options.skip_wait_for_delete;
    if (skip <= io::Duration::zero() || !target.deletion || !membership.pending()) continue;
    wake_by(target, now + (skip + io::seconds{1} - beyond_grace(target)));
  }
  for (const Membership& membership : target.memberships) {
    if (!membership.newcomer || membership.verdict.fate != Fate::take) continue;
    const auto chase = membership.drain->chases.find(target.owner);
    if (chase == membership.drain->chases.end() || !chase->second.current.empty()) continue;
    if (now < chase->second.not_before) wake_by(target, chase->second.not_before);
  }

  // What may not be sent is in the queue, too: an explanation says what it waits for.
  const bool queues = situation.passage == Passage::lane && situation.wish.gone && !situation.grace_ends &&
                      (decision.through_lane || situation.held) && situation.in_flight == Action::none;
  if (!queues) leave_queue(target);
  if (queues) {
    if (target.place == 0) {
      target.place = ++sequence;
      target.waits_since = now;
    }
    BudgetLane& lane = lane_of(target.budgets.front());
    lane.waiting.insert(&target);
    if (!situation.held) serve(lane);
  } else if (decision.action != Action::none && can_send() && node_is_known(target)) {
    target.asking = decision.action == Action::evict && situation.passage == Passage::several;
    start(target, decision.action, {});
  }
  show(target);
}

void Engine::Core::wake_by(Target& target, io::Steady when) {
  if (target.wakes_at && *target.wakes_at <= when) return;
  target.wakes_at = when;
  target.alarm.set(when);
}

// Its time has come: what the filters say may depend on it too.
void Engine::Core::look_again(const std::string& uid) {
  Target* target = find_target(uid);
  if (!target) return;
  if (const auto pod = pod_of(*target)) return pod_seen(*pod);
  consider(*target);
}

BudgetLane& Engine::Core::lane_of(const std::string& budget) {
  auto& lane = lanes[budget];
  if (lane) return *lane;
  lane = std::make_unique<BudgetLane>(p.loop, [this, budget] {
    if (const auto it = lanes.find(budget); it != lanes.end()) serve(*it->second);
  });
  lane->lane.budget_is(p.budgets.find(budget));
  return *lane;
}

// When a pod is asked for although its budget lets nobody go. What our own evictions have just used up is not asked
// for: the turn of the next pod comes when the budget has seen the last one replaced.
io::Steady Engine::Core::asks_at(const Target& target, const Lane& lane) const {
  io::Steady due = target.waits_since;
  if (target.asked) {
    due = *target.asked + pause_between_asks(target.asked_in_vain, target.uid);
  } else if (lane.standing(p.loop.now()) != Lane::State::exhausted) {
    due += kAskedWithin;
  }
  if (const auto spent = lane.spent()) due = std::max(due, *spent + kAskedWithin);
  return due;
}

// Lets the one go that has waited longest, if the budget lets anybody go; if it does not, asks for the one whose time
// for that has come.
void Engine::Core::serve(BudgetLane& lane) {
  const io::Steady now = p.loop.now();
  const Lane::State state = lane.lane.state(now);
  const bool open = state == Lane::State::open;
  const bool sends = !options.dry_run && budget_state == Budgets::known && can_send() && state != Lane::State::busy &&
                     state != Lane::State::missing;
  std::optional<io::Steady> wake = lane.lane.wake(now);
  const auto may_go = [&](Target& target) {
    if (own == &target && to_send > 0) return false;
    if (open) return node_is_known(target);
    const io::Steady due = asks_at(target, lane.lane);
    if (due <= now) return node_is_known(target);
    wake = std::min(wake.value_or(due), due);
    return false;
  };
  const auto first = sends ? lane.waiting.begin() : lane.waiting.end();
  const auto next = std::find_if(first, lane.waiting.end(), [&](Target* target) { return may_go(*target); });
  if (next != lane.waiting.end()) {
    Target& target = **next;
    target.asking = !open;
    if (open) target.asked_in_vain = 0;
    lane.lane.sent(target.name);
    start(target, Action::evict, target.budgets.front());
  }
  if (wake && !lane.waiting.empty()) {
    lane.alarm.set(*wake);
  } else {
    lane.alarm.cancel();
  }
  show_waiting(lane);
}

void Engine::Core::leave_queue(Target& target) {
  for (const std::string& budget : target.budgets) {
    if (const auto it = lanes.find(budget); it != lanes.end()) it->second->waiting.erase(&target);
  }
}

void Engine::Core::start(Target& target, Action action, const std::string& lane) {
  leave_queue(target);
  target.in_flight = action;
  target.lane = lane;
  slots.add(target.uid, target.ns);
  pump();
  show(target);
}

void Engine::Core::pump() {
  while (can_send()) {
    const auto uid = slots.next();
    if (!uid) return;
    sending->spawn(send(*uid));
  }
}

// It has not been sent.
void Engine::Core::withdraw(const std::string& uid) {
  const Target& target = *find_target(uid);
  Answer withdrawn;
  withdrawn.kind = Answer::Kind::not_leader;
  withdrawn.counted = false;
  finish(uid, target.in_flight, std::string(target.lane), withdrawn);
}

kube::DeleteOptions Engine::Core::delete_options(Target& target, Action action) {
  kube::DeleteOptions what;
  what.preconditions.uid = target.uid;
  const int64_t grace = wish_of(target).grace_seconds;
  if (grace >= 0) what.grace_period_seconds = grace;
  if (action == Action::kill) what.grace_period_seconds = 0;
  return what;
}

io::Task<void> Engine::Core::send(std::string uid) {
  // It stays as long as its request is under way.
  Target* target = find_target(uid);
  const Action action = target->in_flight;
  const std::string lane = target->lane;
  // It may have changed while the request waited for its turn.
  const auto pod = pod_of(*target);
  const bool leaving = pod && pod->terminating();
  const Wish wish = wish_of(*target);
  const bool wanted = pod && (action == Action::kill      ? leaving && wish.kill_after
                              : action == Action::shorten ? leaving && wish.gone
                                                          : !leaving && wish.gone);
  if (!wanted || stopping || !node_is_known(*target)) {
    withdraw(uid);
    co_return;
  }
  target->hangs.set(p.loop.now() + kHangsAfter);
  tell_of_request(*target, action, wish);
  const std::string ns = target->ns, name = target->name;
  kube::DeleteOptions what = delete_options(*target, action);
  const bool evicts = action == Action::evict || (action == Action::shorten && !wish.remove);
  auto request = evicts ? p.client.evict(ns, name, std::move(what), once(kEvictionTimeout))
                        : p.client.remove(kube::resources::pods, ns, name, std::move(what), once(kEvictionTimeout));
  const kube::Result<std::string> response = co_await std::move(request);
  const Answer answer = answer_of(response);
  if (const auto counter = meters.evictions.find(result_of(answer.kind)); counter != meters.evictions.end()) {
    counter->second->add();
  }
  finish(uid, action, lane, answer);
}

void Engine::Core::finish(const std::string& uid, Action action, const std::string& lane_key, const Answer& answer) {
  const auto lane = lane_key.empty() ? lanes.end() : lanes.find(lane_key);
  if (lane != lanes.end()) {
    Lane& state = lane->second->lane;
    if (answer.kind == Answer::Kind::over_budget) {
      state.refused(p.loop.now(), answer.retry_after);
    } else if (answer.counted) {
      state.counted(p.loop.now());
    } else {
      state.answered();
    }
  }
  using End = Slots::End;
  slots.remove(uid, answer.kind == Answer::Kind::unsure       ? End::unanswered
                    : answer.kind == Answer::Kind::not_leader ? End::withdrawn
                                                              : End::answered);
  if (Target* target = find_target(uid)) {
    target->hangs.cancel();
    target->in_flight = Action::none;
    target->asking = false;
    target->lane.clear();
    take_answer(*target, action, lane != lanes.end(), answer);
    consider(*target);
    drop_if_unused(*target);
  }
  if (lane != lanes.end()) serve(*lane->second);
  if (drains.empty()) slots.forget();
  pump();
}

void Engine::Core::take_answer(Target& target, Action action, bool through_lane, const Answer& answer) {
  const bool understood = answer.kind != Answer::Kind::unsupported;
  if (!understood) start_discovery();
  const bool gone = answer.kind == Answer::Kind::gone ||
                    (!understood && (eviction_state == Evictions::known || action == Action::remove));
  if (answer.kind == Answer::Kind::accepted || gone) {
    target.setback.reset();
    target.cause.clear();
    if (action == Action::kill) {
      target.killed = true;
    } else if (action == Action::shorten) {
      target.shortened = true;
    } else {
      target.accepted = p.loop.now();
    }
    if (&target == own && answer.kind == Answer::Kind::accepted && engine.on_own_eviction) engine.on_own_eviction();
    return;
  }
  take_refusal(target, through_lane, answer);
  if (answer.final) give_up(target, action, answer);
}

void Engine::Core::take_refusal(Target& target, bool through_lane, const Answer& answer) {
  const io::Steady now = p.loop.now();
  using Kind = Answer::Kind;
  target.accepted.reset();
  target.cause = answer.cause;
  // Of a server that was too busy no webhook has heard.
  const bool denied = answer.kind == Kind::refused && answer.cause.find("denied the request") != std::string::npos;
  if (answer.kind == Kind::over_budget || answer.kind == Kind::several || denied) {
    target.asked = now;
    ++target.asked_in_vain;
  }
  if (answer.kind == Kind::over_budget && through_lane) {
    // It stands in the queue of its budget, which knows for how long.
    target.setback.reset();
    return;
  }
  if (answer.kind == Kind::not_leader && answer.cause.empty()) return;  // withdrawn
  const bool again = target.setback && target.setback->answer.kind == answer.kind;
  Setback setback{answer, again ? target.setback->in_a_row + 1 : 1, {}};
  setback.retry_at = now + pause_after(answer, setback.in_a_row);
  const bool by_webhook = answer.kind == Kind::refused && target.budgets.size() > 1;
  if (answer.kind == Kind::over_budget || answer.kind == Kind::several || by_webhook) {
    // The change of a budget ends it; the time is for webhooks, and for what the watch does not tell.
    const io::Duration pause = pause_between_asks(target.asked_in_vain, target.uid);
    if (budget_state == Budgets::known) setback.retry_at = std::max(setback.retry_at, now + pause);
    refused[target.ns].insert(&target);
  }
  target.setback = std::move(setback);
}

// For those who want it so. The others of the node go on.
void Engine::Core::give_up(Target& target, Action action, const Answer& answer) {
  const auto pod = pod_of(target);
  if (!pod || target.deletion) return;
  for (Membership& membership : target.memberships) {
    Drain& drain = *membership.drain;
    const bool concerned = membership.pending() && membership.verdict.fate == Fate::take;
    if (!concerned || !drain.options.give_up_on_errors || !membership.given_up.empty()) continue;
    count(membership, -1);
    membership.given_up = failure_text(*pod, action == Action::remove, answer.cause);
    count(membership, 1);
    update_phase(drain);
    tell(drain);
  }
}

Drain* Engine::Core::find_drain(uint64_t id) {
  const auto it = std::find_if(drains.begin(), drains.end(), [&](const auto& one) { return one.second->id == id; });
  return it == drains.end() ? nullptr : it->second.get();
}

// Something that held everything back does so no more.
void Engine::Core::resume() {
  for (const auto& [key, drain] : drains) {
    start_list(*drain);
    update_phase(*drain);
    consider_all(*drain);
  }
  for (const auto& [key, lane] : lanes) serve(*lane);
}

// Requests that were cut off may have arrived.
void Engine::Core::abandon() {
  sending = nullptr;
  if (eviction_state == Evictions::asked_for) eviction_state = Evictions::assumed;
  for (const auto& [key, drain] : drains) {
    if (drain->listing == Drain::Listing::under_way) drain->listing = Drain::Listing::wanted;
    drain->node_under_way = false;
  }
  for (const std::string& uid : slots.waiting()) withdraw(uid);
  Answer cut;
  cut.kind = Answer::Kind::unsure;
  cut.cause = "it was interrupted";
  std::vector<std::string> interrupted;
  for (const auto& [uid, target] : targets) {
    if (target->in_flight != Action::none) interrupted.push_back(uid);
  }
  for (const std::string& uid : interrupted) {
    const Target& target = *find_target(uid);
    finish(uid, target.in_flight, std::string(target.lane), cut);
  }
}

}  // namespace careen::drain
