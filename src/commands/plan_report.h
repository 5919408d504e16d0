// A plan for people at a terminal, and two plans side by side. All are pure functions.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace careen::app {

struct PlanReportOptions {
  size_t width = 80;
  bool all = false;  // every row
};

// What matters first: the end, the pace, what limits it; then the rows.
std::vector<std::string> plan_lines(const plan::Plan& plan, const PlanReportOptions& options);

struct NamedPlan {
  std::string name;  // of its configuration file
  plan::Plan plan;
};
std::vector<std::string> comparison_lines(const NamedPlan& a, const NamedPlan& b, const PlanReportOptions& options);

}  // namespace careen::app
