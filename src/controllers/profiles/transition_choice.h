// The part of a decision that is about transitions: what their checks say, which transition happens, and what could
// make them say something else.
#pragma once

#include <cstddef>
#include <vector>

#include "controllers/profiles/check_context.h"

namespace careen {
struct Why;
}

namespace careen::profiles {

struct DecisionDraft;
struct Effects;
struct Profile;
struct ProfileData;
struct StateChains;
struct Transition;

// What a check said beyond yes or no.
struct CheckAnswer {
  size_t leaf = 0;  // of the expression
  CheckResult result;
};

struct TransitionChoice {
  enum class Outcome {
    chosen,
    none,     // no transition passes
    pending,  // a check has no answer yet: none is chosen, since that one might be the first to pass
    failed,   // the same for a check that failed, which is reported
  };
  Outcome outcome = Outcome::none;
  const Transition* winner = nullptr;
  std::vector<CheckAnswer> answers;  // of the winner's checks

  // It needs a place in maintenance, or leases.
  bool wants_place() const;
};

// The first transition that passes.
TransitionChoice choose(DecisionDraft& draft, const Profile& profile, const ProfileData& data,
                        const StateChains& chains, Why& why);
// What the checks of the transition that happens allow only once.
void take(Effects& effects, const TransitionChoice& choice);

}  // namespace careen::profiles
