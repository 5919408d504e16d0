// A maintenance plan: which node is maintained when, what limits the pace, what never gets through, and what was
// assumed. It is a value; planner.h makes it, and plan_forms.h shows it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::plan {

// One maintenance of one node.
struct PlanRow {
  std::string node;
  std::string profile;  // or a controller's object, KIND/NAME
  std::optional<io::Wall> requested;
  io::Wall begin{};                   // its drain began, or it entered maintenance
  std::optional<io::Wall> end;        // nothing: not within the plan
  std::optional<io::Duration> drain;  // how long that took, when there was one
  bool operator==(const PlanRow&) const = default;
};

// A node that wants maintenance and has not had it when the plan ends.
struct Unserved {
  std::string node;
  std::string profile;
  std::string why;
  bool operator==(const Unserved&) const = default;
};

struct Limit {
  std::string what;  // stagger one_by_one
  double share = 0;  // of the time in which somebody waited; all of them together are 1
};

// All maintenances of one profile, or of all objects of one controller.
struct Campaign {
  std::string profile;
  size_t maintained = 0;
  size_t left = 0;   // in their turn after the plan's end
  size_t stuck = 0;  // never
  size_t at_once = 0;
  std::optional<io::Wall> begin;
  std::optional<io::Wall> end;  // only when nothing is left or stuck or under way
};

struct Plan {
  io::Wall from{};
  io::Wall until{};
  bool complete = false;                 // false: the rows so far
  std::vector<std::string> assumptions;  // in words
  std::vector<std::string> notes;        // what the reader should know besides
  std::vector<PlanRow> rows;             // by begin, node and profile
  std::vector<Unserved> stuck;
  std::vector<Unserved> left;
  std::vector<Limit> limits;  // the greatest share first
  std::vector<Campaign> campaigns;
  size_t at_once = 0;  // nodes, over all campaigns
};

// KIND/x and KIND/y are one campaign.
std::string campaign_of(std::string_view profile);

}  // namespace careen::plan
