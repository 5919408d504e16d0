// A trigger plugin: a configured change of one node, applied when a transition happens or a state is entered.
#pragma once

#include <optional>
#include <string_view>

#include "io/time.h"

namespace careen::profiles {

struct TriggerContext;
struct TriggerResult;
struct Needs;

class Trigger {
 public:
  Trigger() = default;
  Trigger(const Trigger&) = delete;
  Trigger& operator=(const Trigger&) = delete;
  virtual ~Trigger() = default;

  // The plugin's name in the configuration file, such as alterLabel.
  virtual std::string_view type() const = 0;
  // Adds what the trigger has to know besides the nodes.
  virtual void add_needs(Needs&) const {}
  // It may delete pods that their disruption budgets protect, this long after it began to evict them.
  virtual std::optional<io::Duration> overrides_budgets_after() const { return std::nullopt; }
  virtual TriggerResult apply(TriggerContext& context) const = 0;
};

}  // namespace careen::profiles
