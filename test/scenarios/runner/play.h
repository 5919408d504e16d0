// Plays a scenario in virtual time and tells how it went.
#pragma once

#include <cstdint>
#include <string>

#include "scenario.h"

namespace careen::scenarios {

struct Outcome {
  bool passed = false;
  // What was expected where, what was seen instead, and what led there; empty when it passed.
  std::string failure;
  std::string timeline;
  io::Duration length{};
};

Outcome play(const Scenario& scenario, uint64_t seed);

}  // namespace careen::scenarios
