#include "write_faults.h"

#include "sim/api_server.h"

namespace careen::explore {

void harm(sim::Treatment& treatment, const Perturbation& what) {
  switch (what.action) {
    case Action::lose:
      treatment.lost = true;
      return;
    case Action::refuse:
      treatment.refuse = sim::ApiServer::refusal(what.code, "Trouble");
      if (what.code == 429) treatment.refuse->retry_after = io::seconds{1 + what.choice % 5};
      return;
    case Action::mask:
      treatment.mask = sim::ApiServer::refusal(what.code, "Trouble");
      return;
    case Action::cut:
      treatment.cut = true;
      return;
    case Action::unanswered:
      treatment.unanswered = true;
      return;
    case Action::slow:
      treatment.before = what.span / 8;
      return;
    case Action::hold:
      treatment.before = what.span;
      return;
    default:
      treatment.after = what.span / 4;
      return;
  }
}

io::Duration part_with(sim::Treatment& treatment, const Perturbation& what) {
  treatment.lost |= what.fate == Fate::lost;
  if (what.fate != Fate::late) return {};
  treatment.before = what.delay;
  return what.delay;
}

}  // namespace careen::explore
