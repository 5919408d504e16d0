// One case: a campaign on a model cluster of its own, disturbed by perturbations, watched by the invariants. The same
// case always runs the same way.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "campaign.h"
#include "coverage.h"
#include "invariants.h"
#include "perturbation.h"

namespace careen::explore {

struct Case {
  uint64_t seed = 0;
  Campaign campaign;
  std::vector<Perturbation> perturbations;
  io::Duration calm_after{};  // what has not struck by then does not strike any more
  // All but these nodes get to their end by then, although the fault still lasts.
  struct Isolation {
    std::set<std::string> stuck;
    io::Duration by{};
  };
  std::optional<Isolation> isolation = {};
};

// Where the undisturbed campaign leads, and how long it takes.
struct Expectation {
  std::map<std::string, std::string> nodes;
  io::Duration takes{};
};

struct RunOptions {
  bool timeline = false;
};

struct Outcome {
  std::vector<Violation> violations;
  std::string timeline;  // if it was asked for
  Coverage coverage;
  io::Duration virtual_time{};
  int transitions = 0;
  Expectation end;  // as it was
  // Writes that careen sent, by target.
  std::map<Target, int> writes;

  bool failed() const { return !violations.empty(); }
};

// Without perturbations, until nothing happens any more.
Outcome run_undisturbed(const Campaign& campaign, const RunOptions& options = {});
Outcome run_case(const Case& one, const Expectation& expected, const RunOptions& options = {});

}  // namespace careen::explore
