// A claim: somebody has a node out, or is about to. Whether it counts in a limit is the limit's choice; whether it
// exists does not depend on limits.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::budget {

struct Admission;

struct Claim {
  enum class Stage {
    admitted,  // it is in the ledger, and the node is as it was
    begun,     // the node is being taken out, or something else is taken first
    out,       // the node is out
  };

  std::string who;       // profile/os-update, nodemaintenance/disk, terminal/ana@host
  std::string node;      // its name
  std::string uid = {};  // of the node; empty: there is none of that name
  std::optional<io::Wall> since = std::nullopt;
  Stage stage = Stage::out;
  std::vector<std::string> budgets = {};  // in which it counts, by the names that people gave them

  bool operator==(const Claim&) const = default;
};

std::string_view name_of(Claim::Stage stage);

// What an entry of the ledger claims: nothing is known of its node but that it may go on.
Claim claim_of(const Admission& admission);

}  // namespace careen::budget
