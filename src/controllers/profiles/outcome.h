// What was decided for one profile of a node, in the detail that the info document and explanations show.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "budget/key.h"
#include "controllers/profiles/info_value.h"
#include "controllers/profiles/state.h"
#include "io/time.h"

namespace careen::profiles {

struct CheckOutcome {
  std::string instance;
  std::string type;
  bool passed = false;
  std::string error;
  std::string reason;
  std::vector<std::pair<std::string, InfoValue>> info;
  bool pending = false;                                                      // no answer yet
  std::optional<io::Wall> changes_at = std::nullopt;                         // without any change, at the earliest
  std::optional<std::pair<budget::Key, budget::Use>> budget = std::nullopt;  // the limit that was asked
};

struct TransitionOutcome {
  bool passed = false;  // the expression is true and nothing else forbids the transition
  State target = State::operational;
  std::string error;
  std::string expression;
  bool chain_passed = false;         // the expression alone
  std::vector<CheckOutcome> checks;  // one for each leaf of the expression, in order
  std::string blocked = {};          // the expression is true: what else forbids the transition
};

struct ProfileOutcome {
  std::string name;
  std::string state;  // before
  std::string next;   // after
  std::string error;
  std::vector<TransitionOutcome> transitions;
  std::optional<io::Wall> wake = std::nullopt;   // when it could change without anybody doing anything
  std::optional<io::Wall> since = std::nullopt;  // in the state before
  // What has to be done or has to end before it moves on, in words: in its state, or after a transition was chosen.
  std::vector<std::string> held_up = {};
  std::string paused = {};  // not empty: nothing is decided, by whom and why
};

}  // namespace careen::profiles
