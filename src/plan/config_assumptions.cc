#include "plan/config_assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/state.h"
#include "plan/outside_facts.h"

namespace careen::plan {

using profiles::State;

namespace {

// A check whose answer is assumed.
class Assumed final : public profiles::Check {
 public:
  Assumed(std::string type, bool answer) : type_(std::move(type)), answer_(answer) {}
  std::string_view type() const override { return type_; }
  profiles::CheckResult run(const profiles::CheckContext& context) const override {
    profiles::CheckResult result;
    result.passed = answer_;
    if (context.explain) result.reason = fmt::format("assumed to be {}", answer_);
    return result;
  }

 private:
  std::string type_;
  bool answer_;
};

constexpr std::string_view kUnforeseeable = "prometheusInstant";
// Failing chains are tried again this seldom: nothing but what is watched changes on the model.
constexpr io::Duration kRequeue = io::hours{1};

// What the check is assumed to say; nothing when it is asked.
std::optional<bool> answer_of(const profiles::CheckInstance& instance, const Assumptions& assumptions) {
  if (const auto given = assumptions.checks.find(instance.name); given != assumptions.checks.end()) {
    return given->second;
  }
  if (instance.check->type() == kUnforeseeable) return true;
  return std::nullopt;
}

std::string lines(const std::vector<config::ConfigError>& errors) {
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : "\n") + error.to_text();
  return text;
}

std::string known_checks(const profiles::Config& config) {
  std::string out;
  for (const auto& check : config.checks) out += (out.empty() ? "" : ", ") + check.name;
  return out;
}

// Valid wherever a text is.
constexpr std::string_view kHidden = "hidden";

std::vector<std::string> longest_first(std::vector<std::string> secrets) {
  std::erase(secrets, "");
  std::sort(secrets.begin(), secrets.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return secrets;
}

bool replace_all(std::string& text, const std::string& what, std::string_view by) {
  bool found = false;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
    found = true;
  }
  return found;
}

// Then only its name stands in the text.
bool is_value_of(const std::map<std::string, std::string>& environment, const std::string& secret) {
  return std::any_of(environment.begin(), environment.end(), [&](const auto& entry) {
    return entry.second.find(secret) != std::string::npos || secret.find(entry.second) != std::string::npos;
  });
}

bool uses_facts(const profiles::Config& facts, State state) {
  return std::any_of(facts.profiles.begin(), facts.profiles.end(), [&](const auto& entry) {
    const auto& transitions = entry.second.at(state).transitions;
    return std::any_of(transitions.begin(), transitions.end(), [&](const profiles::Transition& transition) {
      return std::any_of(transition.check.leaves.begin(), transition.check.leaves.end(),
                         [&](int leaf) { return is_outside(facts.checks[static_cast<size_t>(leaf)]); });
    });
  });
}

std::string approvals_sentence(const Approvals& approvals) {
  switch (approvals.kind) {
    case Approvals::Kind::given:
      return "is approved at once";
    case Approvals::Kind::none:
      return "is not approved by anybody";
    case Approvals::Kind::after:
      break;
  }
  return fmt::format("is approved {} after it was required", io::format_duration(approvals.after));
}

}  // namespace

io::Result<PlanConfig> read_plan_config(std::string text, const std::string& name,
                                        const config::Environment& environment, const Assumptions& assumptions) {
  PlanConfig out;
  out.text = std::move(text);
  // What only a running careen has in its environment is a secret or an address: neither changes the plan.
  const auto lookup = [&](std::string_view variable) -> std::optional<std::string> {
    std::optional<std::string> value = environment ? environment(variable) : std::nullopt;
    return out.environment.emplace(variable, value.value_or("unset")).first->second;
  };
  profiles::ConfigReport report = examine_facts(out.text, name, lookup);
  if (!report.config) return io::fail(io::ErrorKind::invalid, lines(report.errors));
  out.facts = std::move(*report.config);
  for (const auto& [check, answer] : assumptions.checks) {
    const auto is_it = [&](const profiles::CheckInstance& one) { return one.name == check; };
    if (std::any_of(out.facts.checks.begin(), out.facts.checks.end(), is_it)) continue;
    return io::fail(io::ErrorKind::invalid,
                    fmt::format("check \"{}\", which is assumed, is not in the configuration; it "
                                "has {}",
                                check, known_checks(out.facts)));
  }
  return out;
}

io::Result<std::string> without_secrets(const std::string& text, const std::string& name,
                                        const config::Environment& environment) {
  const auto config = read_plan_config(text, name, environment, {});
  if (!config) return tl::make_unexpected(config.error());
  std::string redacted = text;
  for (const std::string& secret : longest_first(config->facts.secrets)) {
    const bool found = replace_all(redacted, secret, kHidden);
    if (found || text.find(secret) != std::string::npos || is_value_of(config->environment, secret)) continue;
    return io::fail(
        io::ErrorKind::invalid,
        fmt::format("{}: a secret is written with escapes and cannot be taken out; write it plainly, or as a "
                    "variable",
                    name));
  }
  const auto again = read_plan_config(redacted, name, environment, {});
  if (!again) return io::fail(io::ErrorKind::invalid, "without its secrets it is not valid: " + again.error().message);
  return redacted;
}

void assume_in(profiles::Config& config, const Assumptions& assumptions) {
  for (profiles::CheckInstance& instance : config.checks) {
    const auto answer = answer_of(instance, assumptions);
    if (answer) instance.check = std::make_unique<Assumed>(std::string(instance.check->type()), *answer);
  }
  for (auto& [name, profile] : config.profiles) {
    // What is only planned is announced to nobody.
    for (profiles::StateChains& chains : profile.states) chains.notify.clear();
  }
  if (config.requeue > io::Duration{0}) config.requeue = std::max(config.requeue, kRequeue);
  config.needs = profiles::needs_of(config);
}

std::vector<std::string> assumptions_text(const PlanConfig& config, const Assumptions& assumptions, bool pods) {
  std::vector<std::string> out;
  const auto add = [&](std::string text) { out.push_back(std::move(text)); };
  if (assumptions.maintenance) {
    add(fmt::format("maintenance of a node takes {}", io::format_duration(*assumptions.maintenance)));
  } else {
    for (const auto& [profile, duration] : assumptions.learned) {
      const auto nodes = config.learned_from.find(profile);
      add(fmt::format("maintenance by profile {} takes {}, the median of the latest of {} nodes", profile,
                      io::format_duration(duration), nodes == config.learned_from.end() ? 0 : nodes->second));
    }
    add(fmt::format("{}maintenance of a node takes {}", assumptions.learned.empty() ? "" : "otherwise ",
                    io::format_duration(Assumptions::kMaintenance)));
  }
  if (uses_facts(config.facts, State::maintenance_required)) {
    add("what waits for somebody's approval " + approvals_sentence(assumptions.approvals));
  }
  for (const Override& one : assumptions.overrides) {
    const std::string whom = fmt::format("profile {}, nodes {}", one.profile, one.node);
    if (one.maintenance) add(fmt::format("{}: maintenance takes {}", whom, io::format_duration(*one.maintenance)));
    if (one.approvals) add(fmt::format("{}: {}", whom, approvals_sentence(*one.approvals)));
  }
  if (pods) {
    add(fmt::format("pods end after {}, or their grace period if that is shorter; new ones are ready after {}",
                    io::format_duration(assumptions.pod_termination), io::format_duration(assumptions.pod_start)));
  }
  for (const profiles::CheckInstance& instance : config.facts.checks) {
    const auto given = assumptions.checks.find(instance.name);
    const bool answer = given == assumptions.checks.end() || given->second;
    if (given == assumptions.checks.end() && instance.check->type() != kUnforeseeable) continue;
    add(fmt::format("check {} {}", instance.name, answer ? "passes" : "does not pass"));
  }
  return out;
}

}  // namespace careen::plan
