// What a check sees and what it answers.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/time.h"
#include "profiles/check.h"
#include "profiles/data.h"
#include "profiles/node_draft.h"
#include "profiles/occupancy.h"

namespace careen::profiles {

struct CheckContext {
  const NodeDraft& node;
  std::string_view profile;
  const ProfileData& data;
  const Occupancy& occupancy;
  io::Wall now;
  bool explain = true;  // fill in reason and info
};

struct CheckResult {
  bool passed = false;
  std::string error;   // not empty: no answer, and why
  std::string reason;  // the facts behind the answer, for people
  // For the info document: what the original reports.
  std::vector<std::pair<std::string, std::variant<std::string, double>>> info;
  // Without any change, the answer may be another from this time on.
  std::optional<io::Wall> changes_at;
  // The limit that was asked, and how much of it is used.
  std::optional<std::pair<BudgetKey, BudgetUse>> budget;
};

}  // namespace careen::profiles
