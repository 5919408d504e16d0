// The planner: loads a snapshot into the model cluster, runs careen itself on it in virtual time with the world outside
// acted out as assumed, and writes down what happens. The plan is what the code that decides would do.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "config/interpolate.h"
#include "io/result.h"
#include "plan/assumptions.h"
#include "plan/plan.h"
#include "plan/snapshot.h"

namespace careen::plan {

struct PlannerOptions {
  io::Duration span = io::hours{24 * 14};
  Assumptions assumptions;
  std::string config_name = "maintenance.yaml";  // in messages
  config::Environment environment = {};          // variables that the configuration names; others are made up
  uint64_t seed = 1;
};

class Planner {
 public:
  // Of this configuration, or without one of that in the snapshot. The error says what is wrong with it, a line each.
  static io::Result<std::unique_ptr<Planner>> make(Snapshot snapshot, std::string config, PlannerOptions options);
  virtual ~Planner() = default;

  // Goes on until the plan is complete (true) or `pause`, which is asked often, wants a break (false).
  virtual bool advance(const std::function<bool()>& pause = {}) = 0;
  // From 0 to 1.
  virtual double progress() const = 0;
  // As far as it has come.
  virtual Plan plan() const = 0;
};

// All at once.
io::Result<Plan> make_plan(Snapshot snapshot, std::string config, PlannerOptions options);

// Whether a plan with this configuration has to know of pods; unreadable ones do not.
bool needs_pods(std::string_view config);

}  // namespace careen::plan
