// What was decided for one profile of a node, in the detail that the info document and explanations show.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "profiles/check_context.h"
#include "profiles/state.h"

namespace careen::profiles {

struct CheckOutcome {
  std::string instance;
  std::string type;
  bool passed = false;
  std::string error;
  std::string reason;
  std::vector<std::pair<std::string, InfoValue>> info;
};

struct TransitionOutcome {
  bool passed = false;  // the expression is true and nothing else forbids the transition
  State target = State::operational;
  std::string error;
  std::string expression;
  bool chain_passed = false;  // the expression alone
  std::vector<CheckOutcome> checks;
};

struct ProfileOutcome {
  std::string name;
  std::string state;  // before
  std::string next;   // after
  std::string error;
  std::vector<TransitionOutcome> transitions;
  std::optional<io::Wall> wake = std::nullopt;  // when it could change without anybody doing anything
};

}  // namespace careen::profiles
