#include "controllers/profiles/begun_transitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/ledger.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decision_draft.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/limit_places.h"
#include "controllers/profiles/stagger_leases.h"
#include "controllers/profiles/transition_choice.h"
#include "controllers/profiles/trigger_chain.h"
#include "drain/holds.h"
#include "limits/desk.h"
#include "limits/waits_text.h"

namespace careen::profiles {

BegunTransitions::BegunTransitions(DecisionDraft& draft) : d_(draft) {
  if (!d_.node.annotation(drain::kHoldsAnnotation)) return;
  for (const auto& hold : d_.node.holds().by_owner) {
    if (is_begun(hold)) begun_.insert(hold.first);
  }
}

bool BegunTransitions::waits_for_other(const Profile& profile, Why& why) {
  const std::string own = beginner_name(profile.name);
  if (std::all_of(begun_.begin(), begun_.end(), [&](const std::string& owner) { return owner == own; })) return false;
  d_.hold_up(why, Why::Verdict::no, "another profile of this node has begun a transition");
  return true;
}

bool BegunTransitions::waits_for_room(const ProfileData& data, Why& why) {
  const budget::Ledger* const ledger = d_.world.ledger;
  if (!ledger || ledger->fits(d_.node.base().uid)) return false;
  d_.hold_up(why, Why::Verdict::no,
             "the ledger is full: {} admissions are under way, and this one has to be recorded too",
             ledger->entries().size());
  d_.decision.waits.places.push_back({budget::LedgerRoom{}, data.transition, std::nullopt});
  return true;
}

bool BegunTransitions::waits_for_limit(const Profile& profile, const TransitionChoice& choice, Why& why) {
  const LimitPlaces* const places = d_.world.facts.limits;
  const std::string& node = d_.node.base().name;
  if (!places || choice.winner->next != State::in_maintenance || !places->concern(node)) return false;
  limits::Asking asking = places->asking(node, profile.name, d_.now);
  const auto detail = d_.explain ? limits::Desk::Detail::text : limits::Desk::Detail::verdict;
  const limits::Desk::Answer answer = places->desk().ask(asking, detail);
  if (answer.allowed) return false;
  d_.wake(answer.changes_at);
  if (d_.explain)
    d_.outcome.held_up.push_back(why.add(Why::Verdict::no, limits::waits_text(answer.text), Why::Code::no_place));
  d_.decision.waits.limits.push_back(std::move(asking));
  return true;
}

bool BegunTransitions::begin(const Profile& profile, const TransitionChoice& choice, DrainWanted drain, Why& why) {
  if (waits_for_other(profile, why)) return false;
  if (d_.decision.admission()) {
    d_.hold_up(why, Why::Verdict::no, "another profile of this node moves first");
    return false;
  }
  const std::string owner = beginner_name(profile.name);
  budget::Admission admission = admission_of(profile);
  if (begun_.contains(owner)) {
    admission.counts = choice.winner->next == State::in_maintenance;
    d_.decision.place = place::Continued{std::move(admission)};
  } else {
    take(d_.decision.effects, choice);
    add(admission, choice.winner->next);
    admission.drains = true;
    d_.decision.place = place::Begun{std::move(admission)};
    begun_.insert(owner);
  }
  kept_.insert(owner);
  d_.node.cordon(owner, d_.now, true);
  if (has_cordoned(d_.node.base(), owner)) awaited_.push_back(std::move(drain));
  return true;
}

void BegunTransitions::admit(const Profile& profile, State to) {
  Place& place = d_.decision.place;
  if (auto* const begun = std::get_if<place::Begun>(&place)) return add(begun->admission, to);
  auto* used = std::get_if<place::Used>(&place);
  if (!used) used = &place.emplace<place::Used>(admission_of(profile));
  // The place is that of whoever was asked about.
  if (to == State::in_maintenance) used->admission.by = holder_name(profile.name);
  add(used->admission, to);
}

budget::Admission BegunTransitions::admission_of(const Profile& profile) const {
  return {d_.node.base().uid, d_.node.base().name, holder_name(profile.name), d_.now, false, {}};
}

void BegunTransitions::add(budget::Admission& admission, State to) const {
  admission.counts |= to == State::in_maintenance;
  admission.leases.clear();
  for (const LeaseGrab& grab : d_.decision.effects.leases) {
    admission.leases.push_back({grab.key(), in_microseconds(d_.now)});
  }
}

void BegunTransitions::drain_on_entry(const Profile& profile, DrainWanted drain, ChainEnd end) {
  const std::string owner = holder_name(profile.name);
  const bool awaited = end == ChainEnd::draining;
  if (awaited) d_.node.cordon(owner, d_.now, false);
  if (!has_cordoned(d_.node.base(), owner)) return;
  (awaited ? awaited_ : d_.decision.effects.drains).push_back(std::move(drain));
}

void BegunTransitions::leave(const Profile& profile) {
  keep(profile);
  d_.decision.effects.drains_left.push_back(holder_name(profile.name));
}

void BegunTransitions::keep(const Profile& profile) {
  const std::string owner = beginner_name(profile.name);
  if (!begun_.contains(owner)) return;
  kept_.insert(owner);
  if (!d_.decision.keeps()) d_.decision.place = place::Kept{};
}

void BegunTransitions::keep_all() {
  if (!begun_.empty()) d_.decision.place = place::Kept{};
}

void BegunTransitions::finish() {
  withdraw();
  start_awaited_drains();
  end_released_drains();
}

// What has begun and does not go on: its cordon ends.
void BegunTransitions::withdraw() {
  if (begun_.empty()) return;
  for (const auto& hold : d_.node.holds().by_owner) {
    if (!is_begun(hold) || kept_.contains(hold.first)) continue;
    d_.say(d_.decision.why, Why::Verdict::note, "the transition that {} stands for is withdrawn", hold.first);
    d_.node.release_cordon(hold.first);
  }
}

// The triggers before a drain take effect before anything is evicted: a drain waits for that write. One that is
// already running continues meanwhile.
void BegunTransitions::start_awaited_drains() {
  Effects& effects = d_.decision.effects;
  const bool unwritten = d_.node.changed() || !effects.hypervisor.empty();
  for (DrainWanted& drain : awaited_) {
    if (unwritten) {
      effects.drains_left.push_back(std::move(drain.owner));
    } else {
      effects.drains.push_back(std::move(drain));
    }
  }
}

// A pod that arrives after the release is left alone: the drain ends before the release is sent.
void BegunTransitions::end_released_drains() {
  std::vector<DrainWanted>& drains = d_.decision.effects.drains;
  if (drains.empty()) return;
  const drain::Holds holds = d_.node.holds();
  std::erase_if(drains, [&](const DrainWanted& wanted) {
    const std::string_view profile = std::string_view(wanted.owner).substr(kHoldPrefix.size());
    return !holds.by_owner.contains(wanted.owner) && !holds.by_owner.contains(beginner_name(profile));
  });
}

}  // namespace careen::profiles
