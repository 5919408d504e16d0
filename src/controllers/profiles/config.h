// The configuration of the maintenance profiles: intervals, plugin instances, and per profile and state what to run
// and where to go. Loading checks everything there is to check and reports all errors with line and column; the
// result refers to instances by index and needs no lookup by name.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/error.h"
#include "config/interpolate.h"
#include "controllers/profiles/check.h"
#include "controllers/profiles/expression.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/notify.h"
#include "controllers/profiles/plugin.h"
#include "controllers/profiles/schedule.h"
#include "controllers/profiles/state.h"
#include "controllers/profiles/trigger.h"
#include "io/time.h"

namespace careen::profiles {

struct CheckInstance {
  std::string name;
  std::unique_ptr<const Check> check;  // never null
};

struct NotifyInstance {
  std::string name;
  std::unique_ptr<const Notify> notify;  // never null
  Schedule schedule;
};

struct TriggerInstance {
  std::string name;
  std::unique_ptr<const Trigger> trigger;  // never null
};

struct Transition {
  CheckExpression check;
  State next = State::operational;
  std::vector<int> trigger;  // indexes into Config::triggers, in order of execution
};

struct StateChains {
  std::vector<int> enter;   // indexes into Config::triggers
  std::vector<int> notify;  // indexes into Config::notifies
  std::vector<Transition> transitions;
};

struct Profile {
  std::string name;
  std::array<StateChains, 3> states;

  const StateChains& at(State state) const { return states[index_of(state)]; }
};

struct Config {
  io::Duration requeue{0};  // negative: no timed requeue, only events
  std::vector<CheckInstance> checks;
  std::vector<NotifyInstance> notifies;
  std::vector<TriggerInstance> triggers;
  std::map<std::string, Profile, std::less<>> profiles;  // `default` is always there
  std::vector<std::string> dashboard_label_filter;
  Needs needs;
  // Accepted, but likely not what was meant; in order of the file.
  std::vector<config::ConfigError> warnings;
  // Values of secret keys and of variables, which no text for people may contain.
  std::vector<std::string> secrets;

  const Profile* find_profile(std::string_view name) const;
  // The text with *** in place of every secret: for messages that come from outside.
  std::string redact(std::string text) const;
};

// All there is to say about the text of a configuration file, in order of the file.
struct ConfigReport {
  std::optional<Config> config;  // absent when there are errors
  std::vector<config::ConfigError> errors;
  std::vector<config::ConfigError> warnings;
};

// Reads the text of a configuration file. `filename` only appears in messages.
ConfigReport examine_config(std::string_view text, std::string_view filename, const PluginRegistry& registry,
                            const config::Environment& environment);

// The same for those who need it only if it is valid: the configuration with its warnings, or else the errors.
tl::expected<Config, std::vector<config::ConfigError>> load_config(std::string_view text, std::string_view filename,
                                                                   const PluginRegistry& registry,
                                                                   const config::Environment& environment);

}  // namespace careen::profiles
