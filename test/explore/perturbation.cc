#include "perturbation.h"

#include <fmt/format.h>

#include <array>

#include "draw.h"
#include "machines_perturbations.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

namespace {

constexpr std::array<std::string_view, kActions> kNames{"lose it",
                                                        "refuse it",
                                                        "mask its answer",
                                                        "cut its answer",
                                                        "leave it unanswered",
                                                        "slow it down",
                                                        "hold it",
                                                        "slow its answer down",
                                                        "crash",
                                                        "suspend",
                                                        "stop",
                                                        "isolate",
                                                        "edit a foreign label",
                                                        "edit a foreign annotation",
                                                        "add a taint",
                                                        "add a finalizer",
                                                        "edit the state label",
                                                        "remove the data",
                                                        "damage the data",
                                                        "call maintenance off",
                                                        "change the profile",
                                                        "change the zone",
                                                        "ask again",
                                                        "break a condition",
                                                        "freeze",
                                                        "drop the version",
                                                        "move a pod",
                                                        "delete the node",
                                                        "lower the limit",
                                                        "raise the limit",
                                                        "close the limit",
                                                        "shift the hours",
                                                        "change the stagger",
                                                        "mute",
                                                        "break the configuration",
                                                        "delay streams",
                                                        "freeze streams",
                                                        "end streams",
                                                        "break streams",
                                                        "read stale",
                                                        "outage",
                                                        "trouble with events",
                                                        "compact",
                                                        "delete the ledger",
                                                        "take the lock",
                                                        "empty the lock",
                                                        "delete the lock",
                                                        "delete a lease",
                                                        "take a lease",
                                                        "end a lease",
                                                        "outside refuses",
                                                        "outside hangs",
                                                        "outside loses answers",
                                                        "outside is slow",
                                                        "raise the load",
                                                        "usurp the lock",
                                                        "uncordon the node",
                                                        "relabel the node",
                                                        "edit a maintenance",
                                                        "renew a maintenance",
                                                        "replace a pod",
                                                        "place a pod",
                                                        "close a budget",
                                                        "delete a node's lease",
                                                        "pause",
                                                        "forbid",
                                                        "break a webhook of nodes",
                                                        "break a webhook of evictions",
                                                        "forge holds",
                                                        "forge an outbox",
                                                        "set the clock",
                                                        "lose the webhook",
                                                        "lose the server",
                                                        "renew the token",
                                                        "move the server",
                                                        "hide the secret",
                                                        "garble the secret",
                                                        "withdraw the request",
                                                        "disable the machine",
                                                        "erase the machine",
                                                        "withdraw approvals",
                                                        "leave the node",
                                                        "fail the node",
                                                        "renew the node unheard"};

bool concerns_a_lease(Action action) { return action >= Action::delete_lease && action <= Action::end_lease; }

Trigger draw_trigger(Draw& draw, Action action, int nodes, io::Duration horizon) {
  Trigger trigger;
  if (action == Action::usurp) {
    return {Trigger::Kind::before_write,
            {},
            draw.of({Target::ledger, Target::ledger, Target::nodes}),
            draw.between(1, 2 * nodes)};
  }
  // Right when careen is about to take one.
  if (concerns_a_lease(action) && !draw.one_in(3)) {
    return {Trigger::Kind::before_write, {}, Target::leases, draw.between(1, nodes)};
  }
  const bool write = concerns_a_write(action);
  if (!write && draw.one_in(3)) {
    trigger.at = draw.between(io::Duration{0}, horizon);
    return trigger;
  }
  trigger.kind = write || draw.one_in(2) ? Trigger::Kind::before_write : Trigger::Kind::after_write;
  trigger.target = draw.of({Target::nodes, Target::nodes, Target::nodes, Target::nodes, Target::ledger, Target::ledger,
                            Target::ledger, Target::leases, Target::leases, Target::lock, Target::events});
  const int most = trigger.target == Target::nodes    ? 4 * nodes
                   : trigger.target == Target::ledger ? 2 * nodes
                   : trigger.target == Target::leases ? nodes
                   : trigger.target == Target::lock   ? 40
                                                      : 3 * nodes;
  trigger.count = draw.between(1, most);
  return trigger;
}

Action draw_action(Draw& draw) {
  // What has found most is drawn more often.
  if (draw.one_in(3)) {
    return draw.of({Action::crash, Action::crash, Action::suspend, Action::suspend, Action::hold, Action::hold,
                    Action::delay_streams, Action::lower_limit, Action::cut, Action::isolate, Action::usurp,
                    Action::usurp});
  }
  return static_cast<Action>(draw.between(0, static_cast<int>(Action::usurp)));
}

// Those that make sense where nodes have kubelets and pods.
Action draw_drain_action(Draw& draw) {
  if (draw.one_in(4)) {
    return draw.of({Action::uncordon, Action::relabel, Action::edit_maintenance, Action::renew_maintenance,
                    Action::replace_pod, Action::replace_pod, Action::place_pod, Action::close_budget,
                    Action::delete_node_lease});
  }
  if (draw.one_in(2)) {
    return draw.of({Action::crash, Action::crash, Action::crash, Action::suspend, Action::suspend, Action::hold,
                    Action::hold, Action::delay_streams, Action::freeze_streams, Action::stale_reads, Action::cut,
                    Action::isolate, Action::usurp});
  }
  return draw.of({Action::lose,
                  Action::refuse,
                  Action::mask,
                  Action::unanswered,
                  Action::slow,
                  Action::slow_answer,
                  Action::stop,
                  Action::edit_foreign_label,
                  Action::edit_foreign_annotation,
                  Action::add_taint,
                  Action::add_finalizer,
                  Action::call_off,
                  Action::ask_again,
                  Action::delete_node,
                  Action::delete_node,
                  Action::lower_limit,
                  Action::raise_limit,
                  Action::close_limit,
                  Action::break_config,
                  Action::end_streams,
                  Action::break_streams,
                  Action::outage,
                  Action::outage,
                  Action::event_trouble,
                  Action::compact,
                  Action::delete_ledger,
                  Action::take_lock,
                  Action::empty_lock,
                  Action::delete_lock});
}

Trigger draw_drain_trigger(Draw& draw, Action action, io::Duration horizon) {
  Trigger trigger;
  if (action == Action::replace_pod) return {Trigger::Kind::before_write, {}, Target::pods, draw.between(1, 20)};
  const bool write = concerns_a_write(action) || action == Action::usurp;
  if (!write && draw.one_in(3)) {
    trigger.at = draw.between(io::Duration{0}, horizon);
    return trigger;
  }
  trigger.kind = write || draw.one_in(2) ? Trigger::Kind::before_write : Trigger::Kind::after_write;
  trigger.target =
      draw.of({Target::nodes, Target::nodes, Target::maintenances, Target::maintenances, Target::maintenances,
               Target::pods, Target::pods, Target::pods, Target::node_leases, Target::ledger, Target::lock});
  const int most = trigger.target == Target::maintenances  ? 25
                   : trigger.target == Target::pods        ? 20
                   : trigger.target == Target::node_leases ? 5
                   : trigger.target == Target::ledger      ? 6
                                                           : 20;
  trigger.count = draw.between(1, most);
  return trigger;
}

// Faults that were thought of later are drawn apart: with or without them, the other faults of a seed are the same.
class Apart {
 public:
  Apart(uint64_t seed, const Campaign& campaign, io::Duration horizon, std::vector<Perturbation>& list)
      : draw(seed), campaign_(campaign), horizon_(horizon), list_(list) {}

  Perturbation& add(Action action) {
    Perturbation one;
    one.index = static_cast<int>(list_.size()) + 1;
    one.action = action;
    one.trigger = campaign_.drains ? draw_drain_trigger(draw, action, horizon_)
                                   : draw_trigger(draw, action, static_cast<int>(campaign_.nodes.size()), horizon_);
    one.span = draw.one_in(3) ? draw.between(seconds{1}, seconds{9}) : draw.between(seconds{10}, minutes{3});
    one.choice = draw.next();
    return list_.emplace_back(one);
  }

  Draw draw;

 private:
  const Campaign& campaign_;
  io::Duration horizon_;
  std::vector<Perturbation>& list_;
};

// Of one case in three.
void add_pauses(Apart apart) {
  if (!apart.draw.one_in(3)) return;
  for (int i = apart.draw.between(1, 2); i > 0; --i) apart.add(Action::pause);
}

// Of one case in four; often right from the start, when nothing is known yet, and then often while everything is
// paused.
void add_refusals(Apart apart) {
  if (!apart.draw.one_in(4)) return;
  Perturbation& forbid = apart.add(Action::forbid);
  forbid.code = apart.draw.of({401, 403});
  forbid.span = apart.draw.one_in(2) ? apart.draw.between(seconds{1}, seconds{9})
                                     : apart.draw.between(seconds{10}, minutes{forbid.code == 401 ? 5 : 2});
  // So long that the right is taken to be missing.
  if (forbid.code == 403 && apart.draw.one_in(4)) forbid.span = apart.draw.between(minutes{4}, minutes{6});
  if (apart.draw.one_in(2)) forbid.trigger = {};
  if (forbid.trigger.kind != Trigger::Kind::at || !apart.draw.one_in(2)) return;
  const Trigger trigger = forbid.trigger;
  const io::Duration span = forbid.span + apart.draw.between(seconds{5}, minutes{2});
  Perturbation& pause = apart.add(Action::pause);
  pause.trigger = trigger;
  pause.span = span;
}

// Of one case in six: a node is created again while everything is paused and no process can hear of it. Either the
// pause outlives the gap, so that what begins after it differs visibly from what had begun before; or the gap outlives
// the pause, so that careen continues without having heard of it.
void add_renewals(Apart apart) {
  if (!apart.draw.one_in(6)) return;
  const io::Duration at = apart.draw.between(seconds{10}, minutes{4}),
                     shorter = apart.draw.between(seconds{5}, seconds{20}),
                     longer = shorter + apart.draw.between(seconds{35}, minutes{1});
  const bool goes_on_unheard = apart.draw.one_in(2);
  const auto add = [&](Action action, io::Duration after, io::Duration span) -> Perturbation& {
    Perturbation& one = apart.add(action);
    one.trigger = {};
    one.trigger.at = at + after;
    one.span = span;
    return one;
  };
  add(Action::pause, seconds{0}, goes_on_unheard ? shorter : longer).choice = kEverything;
  // The streams of nodes.
  add(Action::freeze_streams, seconds{1}, goes_on_unheard ? longer : shorter).choice = 0;
  add(Action::delete_node, seconds{2}, shorter / 4);
}

// Of one case in three.
void add_forgeries(Apart apart) {
  if (!apart.draw.one_in(3)) return;
  for (int i = apart.draw.between(1, 2); i > 0; --i) {
    apart.add(apart.draw.one_in(2) ? Action::forge_holds : Action::forge_outbox);
  }
}

// Of one case in six: the clock is set wrong, and perhaps right again.
void add_steps(Apart apart) {
  if (!apart.draw.one_in(6)) return;
  for (int i = apart.draw.between(1, 2); i > 0; --i) apart.add(Action::step_clock);
}

// Of one case in five.
void add_webhooks(Apart apart, bool drains) {
  if (!apart.draw.one_in(5)) return;
  const bool evictions = drains && apart.draw.one_in(2);
  Perturbation& broken = apart.add(evictions ? Action::break_eviction_webhook : Action::break_node_webhook);
  broken.span = apart.draw.between(seconds{10}, minutes{6});
  broken.code = apart.draw.of({403, 500});
}

// Of one case in three: the webhook is lost.
void add_losses(Apart apart) {
  if (!apart.draw.one_in(3)) return;
  for (int i = apart.draw.between(1, 2); i > 0; --i) apart.add(Action::lose_webhook);
}

}  // namespace

io::Duration clock_after(uint64_t choice) {
  if (choice % 4 == 0) return {};
  return seconds{choice / 4 % (2 * kFurthestOff / seconds{1} + 1)} - kFurthestOff;
}

uint64_t step_to(io::Duration off) { return static_cast<uint64_t>((off + kFurthestOff) / seconds{1}) * 4 + 1; }

std::string_view name_of(Action action) { return kNames[static_cast<size_t>(action)]; }

std::string_view name_of(Target target) {
  constexpr std::array<std::string_view, 11> names{"nodes",    "ledger",       "leases",  "lock",
                                                   "events",   "maintenances", "pods",    "node leases",
                                                   "machines", "hosts",        "anything"};
  return names[static_cast<size_t>(target)];
}

std::string Perturbation::text() const {
  std::string out = fmt::format("#{} ", index);
  if (trigger.kind == Trigger::Kind::at) {
    out += fmt::format("at {}", io::format_duration(trigger.at));
  } else {
    out += fmt::format("{} write {} to {}", trigger.kind == Trigger::Kind::before_write ? "before" : "after",
                       trigger.count, name_of(trigger.target));
  }
  out += fmt::format(": {}", name_of(action));
  if (action == Action::refuse || action == Action::mask || action == Action::outage ||
      action == Action::event_trouble || action == Action::forbid || action == Action::break_eviction_webhook) {
    out += code == 0 ? " (no answer)" : fmt::format(" ({})", code);
  }
  if (action == Action::crash || action == Action::suspend) {
    out += fate == Fate::lost     ? ", the write is lost"
           : fate == Fate::passes ? ", the write passes"
                                  : fmt::format(", the write arrives {} later", io::format_duration(delay));
  }
  if (span > io::Duration{0}) out += fmt::format(", {}", io::format_duration(span));
  return out;
}

std::vector<Perturbation> draw_perturbations(uint64_t seed, const Campaign& campaign, io::Duration horizon) {
  if (campaign.machines) return draw_machines_perturbations(seed, horizon);
  Draw draw(seed * 2);
  std::vector<Perturbation> list;
  const int nodes = static_cast<int>(campaign.nodes.size());
  for (int i = draw.between(1, 8); i > 0; --i) {
    Perturbation one;
    one.index = static_cast<int>(list.size()) + 1;
    one.action = campaign.drains ? draw_drain_action(draw) : draw_action(draw);
    one.trigger = campaign.drains ? draw_drain_trigger(draw, one.action, horizon)
                                  : draw_trigger(draw, one.action, nodes, horizon);
    one.span = draw.one_in(3) ? draw.between(seconds{1}, seconds{9}) : draw.between(seconds{10}, minutes{1});
    one.delay = draw.one_in(3) ? draw.between(seconds{1}, seconds{9}) : draw.between(seconds{10}, minutes{1});
    one.code = draw.of({429, 500, 503, 504, 502});
    if ((one.action == Action::outage || one.action == Action::event_trouble) && draw.one_in(3)) one.code = 0;
    // A server that answers 429 says that it did nothing.
    if (one.action == Action::mask && one.code == 429) one.code = 500;
    one.fate = draw.of({Fate::lost, Fate::passes, Fate::late});
    one.choice = draw.next();
    list.push_back(one);
  }
  add_pauses({seed ^ 0x7061757365ULL, campaign, horizon, list});
  add_refusals({seed ^ 0x666f72626964ULL, campaign, horizon, list});
  add_renewals({seed ^ 0x72656e6577ULL, campaign, horizon, list});
  add_forgeries({seed ^ 0x666f726765ULL, campaign, horizon, list});
  add_steps({seed ^ 0x636c6f636bULL, campaign, horizon, list});
  add_webhooks({seed ^ 0x776562686f6f6bULL, campaign, horizon, list}, campaign.drains);
  if (campaign.asks) add_losses({seed ^ 0x6c6f7373ULL, campaign, horizon, list});
  return list;
}

}  // namespace careen::explore
