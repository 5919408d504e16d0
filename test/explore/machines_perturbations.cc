#include "machines_perturbations.h"

#include <algorithm>

#include "draw.h"

namespace careen::explore {

using io::minutes;
using io::seconds;

bool strikes_management(uint64_t choice) { return choice % 3 == 0; }
size_t refused_resource(uint64_t choice) { return choice / 3 % kRefusedResources.size(); }
bool disables_for_ever(uint64_t choice) { return choice / 32 % 3 == 0; }

namespace {

bool forbids_nodes(uint64_t choice) {
  return !strikes_management(choice) && kRefusedResources[refused_resource(choice)] == "/nodes";
}

// Right when careen writes what depends on it.
bool concerns_a_machine(Action action) { return action >= Action::withdraw_request; }

Action draw_fault(Draw& draw) {
  switch (draw.between(0, 5)) {
    case 0:
      return draw.of({Action::lose, Action::refuse, Action::mask, Action::cut, Action::unanswered, Action::slow,
                      Action::hold, Action::hold, Action::slow_answer});
    case 1:
      return draw.of({Action::crash, Action::crash, Action::suspend, Action::suspend, Action::stop, Action::isolate,
                      Action::usurp, Action::take_lock, Action::empty_lock, Action::delete_lock, Action::step_clock});
    case 2:
      return draw.of({Action::delay_streams, Action::freeze_streams, Action::freeze_streams, Action::end_streams,
                      Action::break_streams, Action::stale_reads, Action::compact, Action::outage,
                      Action::event_trouble});
    case 3:
      return draw.of({Action::lose_server, Action::lose_server, Action::renew_token, Action::move_server,
                      Action::hide_secret, Action::garble_secret, Action::forbid});
    case 4:
      return draw.of({Action::withdraw_request, Action::disable_machine, Action::disable_machine, Action::erase_machine,
                      Action::withdraw_approvals, Action::leave_node, Action::fail_node, Action::delete_node,
                      Action::renew_node, Action::renew_node});
    default:
      return draw.of({Action::edit_foreign_label, Action::edit_foreign_annotation, Action::pause, Action::pause,
                      Action::crash, Action::lose_server, Action::withdraw_request, Action::renew_node});
  }
}

Trigger draw_moment(Draw& draw, Action action, io::Duration horizon) {
  Trigger trigger;
  const bool write = concerns_a_write(action) || action == Action::usurp;
  if (!write && draw.one_in(concerns_a_machine(action) ? 3 : 2)) {
    trigger.at = draw.between(io::Duration{0}, horizon);
    return trigger;
  }
  trigger.kind = write || draw.one_in(2) ? Trigger::Kind::before_write : Trigger::Kind::after_write;
  trigger.target = draw.of({Target::nodes, Target::nodes, Target::nodes, Target::machines, Target::machines,
                            Target::machines, Target::hosts, Target::lock, Target::events});
  if (concerns_a_machine(action)) {
    trigger.target = draw.of({Target::nodes, Target::nodes, Target::machines, Target::machines, Target::hosts});
  }
  // Right after a Node was told something, most often that its Machine is being deleted.
  if (action == Action::renew_node) {
    trigger.kind = Trigger::Kind::after_write;
    trigger.target = Target::nodes;
  }
  const int most = trigger.target == Target::lock ? 100 : trigger.target == Target::hosts ? 4 : 12;
  trigger.count = draw.between(1, most);
  return trigger;
}

// Its Nodes cannot be written while a Machine leaves careen's care, and for a while after that.
void add_unwritable_farewell(Draw& draw, io::Duration horizon, std::vector<Perturbation>& list) {
  Perturbation forbid;
  forbid.action = Action::forbid;
  forbid.code = 401;
  forbid.trigger.at = draw.between(minutes{1}, horizon);
  forbid.span = draw.between(seconds{15}, seconds{50});
  do {
    forbid.choice = draw.next();
  } while (!forbids_nodes(forbid.choice) || !disables_for_ever(forbid.choice));
  Perturbation disable = forbid;
  disable.action = Action::disable_machine;
  disable.trigger.at += draw.between(seconds{1}, seconds{5});
  for (Perturbation* one : {&forbid, &disable}) {
    one->index = static_cast<int>(list.size()) + 1;
    list.push_back(*one);
  }
}

}  // namespace

std::vector<Perturbation> draw_machines_perturbations(uint64_t seed, io::Duration horizon) {
  Draw draw(seed * 2 + 1);
  std::vector<Perturbation> list;
  for (int i = draw.between(1, 7); i > 0; --i) {
    Perturbation one;
    one.index = static_cast<int>(list.size()) + 1;
    one.action = draw_fault(draw);
    one.trigger = draw_moment(draw, one.action, horizon);
    one.span = draw.one_in(3) ? draw.between(seconds{1}, seconds{9}) : draw.between(seconds{10}, minutes{1});
    one.delay = draw.one_in(3) ? draw.between(seconds{1}, seconds{9}) : draw.between(seconds{10}, minutes{1});
    // What careen is to notice has to last.
    const bool lasts = one.action == Action::lose_server || one.action == Action::hide_secret ||
                       one.action == Action::disable_machine || one.action == Action::forbid;
    if (lasts && draw.one_in(2)) one.span = draw.between(minutes{1}, minutes{5});
    // A right that is refused for longer is taken to be missing.
    if (one.action == Action::forbid) one.span = std::min(one.span, io::Duration(seconds{150}));
    // The Node is there again when it is heard that it has gone.
    if (one.action == Action::renew_node) one.delay = std::max(one.delay, io::Duration(seconds{5}));
    one.code = draw.of({429, 500, 503, 504, 502});
    if (one.action == Action::forbid) one.code = draw.of({401, 403});
    if ((one.action == Action::outage || one.action == Action::event_trouble) && draw.one_in(3)) one.code = 0;
    // A server that answers 429 says that it did nothing.
    if (one.action == Action::mask && one.code == 429) one.code = 500;
    one.fate = draw.of({Fate::lost, Fate::passes, Fate::late});
    one.choice = draw.next();
    list.push_back(one);
  }
  if (draw.one_in(6)) add_unwritable_farewell(draw, horizon, list);
  return list;
}

}  // namespace careen::explore
