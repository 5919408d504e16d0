#include "controllers/profiles/needs.h"

#include "controllers/profiles/config.h"
#include "templates/analysis.h"

namespace careen::profiles {

Needs needs_of(const Config& config) {
  Needs needs;
  for (const CheckInstance& instance : config.checks) instance.check->add_needs(needs);
  for (const TriggerInstance& instance : config.triggers) instance.trigger->add_needs(needs);
  for (const NotifyInstance& instance : config.notifies) {
    const templates::NodeFields& fields = instance.notify->fields();
    needs.node_sections.insert(fields.sections.begin(), fields.sections.end());
  }
  return needs;
}

}  // namespace careen::profiles
