// A trigger plugin: a configured change of one node, applied when a transition happens or a state is entered.
#pragma once

#include <string_view>

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
  // Adds what it has to know besides the nodes.
  virtual void add_needs(Needs&) const {}
  virtual TriggerResult apply(TriggerContext& context) const = 0;
};

}  // namespace careen::profiles
