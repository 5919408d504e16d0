#include "drain/decide.h"

#include <algorithm>

#include "drain/filter.h"

namespace careen::drain {

namespace {

using Kind = Answer::Kind;

bool is_failure(const Setback& setback) {
  return setback.answer.kind == Kind::failed || setback.answer.kind == Kind::unsure ||
         setback.answer.kind == Kind::not_leader || setback.answer.kind == Kind::unsupported;
}

// Until when the last answer holds back the next request.
std::optional<io::Steady> held_back_until(const Situation& s, io::Steady now) {
  if (!s.setback || s.setback->retry_at <= now) return std::nullopt;
  return s.setback->retry_at;
}

Decision wait_until(io::Steady when) { return {Action::none, false, when}; }

Decision decide_terminating(const Situation& s, io::Steady now) {
  if (s.shortens) {
    if (const auto until = held_back_until(s, now)) return wait_until(*until);
    return Decision{Action::shorten, false, std::nullopt};
  }
  if (s.killed || !s.wish.kill_after) return {};
  const io::Steady due = *s.grace_ends + *s.wish.kill_after;
  if (now < due) return wait_until(due);
  if (const auto until = held_back_until(s, now); until && is_failure(*s.setback)) return wait_until(*until);
  return Decision{Action::kill, false, std::nullopt};
}

bool is_to_be_removed(const Situation& s, io::Steady now) {
  return s.wish.remove || (s.wish.remove_at && *s.wish.remove_at <= now);
}

}  // namespace

Decision decide(const Situation& s, io::Steady now) {
  if (s.in_flight != Action::none || s.held) return {};
  if (s.grace_ends) return decide_terminating(s, now);
  if (!s.wish.gone) return Decision{Action::none, false, s.wish.remove_at};
  if (s.accepted && now < *s.accepted + kEffectWithin) return wait_until(*s.accepted + kEffectWithin);
  const auto until = held_back_until(s, now);
  if (is_to_be_removed(s, now)) {
    // What held the eviction back does not hold back a deletion; what failed may fail again.
    if (until && is_failure(*s.setback)) return wait_until(*until);
    return Decision{Action::remove, false, std::nullopt};
  }
  Decision decision{Action::none, false, s.wish.remove_at};
  if (until) {
    decision.wake = std::min(decision.wake.value_or(*until), *until);
    return decision;
  }
  decision.action = Action::evict;
  decision.through_lane = s.passage == Passage::lane;
  return decision;
}

Stage stage_of(const Situation& s, const Seen& seen, bool lane_closed, io::Steady now) {
  if (s.grace_ends) return Stage::terminating;
  if (s.in_flight != Action::none) return s.asking ? Stage::blocked : Stage::evicting;
  if (s.accepted) return Stage::terminating;
  if (seen.fate == Fate::await) return Stage::completing;
  if (!seen.active || !seen.turn) return Stage::waiting;
  if (held_back_until(s, now)) return is_failure(*s.setback) ? Stage::failed : Stage::blocked;
  if (is_to_be_removed(s, now)) return Stage::waiting;
  if (s.passage == Passage::several) return Stage::blocked;
  return s.passage == Passage::lane && lane_closed ? Stage::blocked : Stage::waiting;
}

}  // namespace careen::drain
