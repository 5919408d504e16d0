#include <array>
#include <memory>
#include <string>

#include "profiles/plugins.h"
#include "profiles/suggest.h"
#include "profiles/trigger_context.h"

namespace careen::profiles {

namespace {

constexpr std::array<std::string_view, 3> kActions{"cordon", "uncordon", "drain"};

class Eviction final : public Trigger {
 public:
  explicit Eviction(bool unschedulable) : unschedulable_(unschedulable) {}
  std::string_view type() const override { return "eviction"; }

  TriggerResult apply(TriggerContext& context) const override {
    context.node.set_unschedulable(unschedulable_);
    return {};
  }

 private:
  bool unschedulable_;
};

std::unique_ptr<Trigger> make(ConfigReader& config) {
  const std::string action = config.string("action", Required::yes);
  if (action == "drain") {
    config.error("action", "must be cordon or uncordon: the drain action is not available in this version of careen");
  } else if (!action.empty() && action != "cordon" && action != "uncordon") {
    config.error("action", "must be cordon, uncordon or drain" + did_you_mean(action, kActions));
  }
  // Only a drain heeds these; a mistake in them is told all the same.
  config.boolean("forceEviction");
  config.duration("deletionTimeout", Required::no, io::minutes{10});
  config.duration("evictionTimeout", Required::no, io::minutes{10});
  return std::make_unique<Eviction>(action == "cordon");
}

}  // namespace

Plugin<Trigger> eviction_trigger() {
  return {make,
          {"eviction",
           "Cordons or uncordons the node",
           {
               {.name = "action",
                .type = KeyType::choice,
                .text = "What to do",
                .required = true,
                .choices = {kActions.begin(), kActions.end()}},
               {.name = "forceEviction",
                .type = KeyType::boolean,
                .text = "A drain deletes pods that do not end in time",
                .otherwise = "false"},
               {.name = "deletionTimeout",
                .type = KeyType::duration,
                .text = "How long a drain waits for deleted pods to end",
                .otherwise = "10m"},
               {.name = "evictionTimeout",
                .type = KeyType::duration,
                .text = "How long a drain waits for pods to be evicted",
                .otherwise = "10m"},
           },
           R"(- name: cordon
  type: eviction
  config:
    action: cordon
)"}};
}

}  // namespace careen::profiles
