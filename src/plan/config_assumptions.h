// A configuration as a plan uses it: read once for careen on the model, and once for those who act out the world around
// it. What a plan assumes about checks is put in their place; nobody is notified of what is only planned.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "controllers/profiles/config.h"
#include "io/result.h"
#include "plan/assumptions.h"

namespace careen::plan {

struct PlanConfig {
  std::string text;
  profiles::Config facts;                          // of examine_facts()
  std::map<std::string, std::string> environment;  // all that the text asks for
  std::map<std::string, size_t> learned_from;      // by profile: how many nodes
};

io::Result<PlanConfig> read_plan_config(std::string text, const std::string& name,
                                        const config::Environment& environment, const Assumptions& assumptions);

// Changes the configuration that careen takes on the model.
void assume_in(profiles::Config& config, const Assumptions& assumptions);

// The text without the values of its secrets, still a configuration that can be planned with; or why it cannot be.
io::Result<std::string> without_secrets(const std::string& text, const std::string& name,
                                        const config::Environment& environment);

// In words, one sentence each.
std::vector<std::string> assumptions_text(const PlanConfig& config, const Assumptions& assumptions, bool pods);

}  // namespace careen::plan
