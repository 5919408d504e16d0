// Makes a failing case smaller: as few perturbations and nodes as still break the same rule.
#pragma once

#include <functional>

#include "run.h"

namespace careen::explore {

// Perturbations go by halves, then singly; then nodes; as long as it still fails.
Case make_smaller(Case failing, const std::function<bool(const Case&)>& still_fails);

struct Shrunk {
  Case one;
  Outcome outcome;  // with its timeline
  int runs = 0;     // that it took
};
Shrunk shrink(const Case& failing, const Outcome& outcome);

}  // namespace careen::explore
