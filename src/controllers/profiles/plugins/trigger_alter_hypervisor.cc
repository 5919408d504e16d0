#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "controllers/profiles/hypervisor_fields.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {

namespace {

class AlterHypervisor final : public Trigger {
 public:
  explicit AlterHypervisor(std::vector<FieldValue> wanted) : wanted_(std::move(wanted)) {}
  std::string_view type() const override { return "alterHypervisor"; }
  void add_needs(Needs& needs) const override { needs.hypervisors = true; }

  TriggerResult apply(TriggerContext& context) const override {
    TriggerResult result;
    const kube::Object* hypervisor = find_hypervisor(context.hypervisors, context.node.base().name, result);
    if (!hypervisor) return result;
    bool differs = false;
    for (const FieldValue& wanted : wanted_) {
      const std::string name(wanted.field->name);
      // An earlier trigger of the chain may have wanted something else.
      context.hypervisor.erase(name);
      if (value_of(*hypervisor, "spec", *wanted.field) == wanted.value) continue;
      if (context.hypervisors.was_told(*hypervisor, name, wanted.value)) continue;
      context.hypervisor.emplace(name, HypervisorWish{wanted.value, std::string(context.profile)});
      differs = true;
    }
    const auto* const refusal = context.hypervisors.refused(hypervisor->name, context.profile, context.now);
    if (!differs || !refusal) return result;
    result.error = fmt::format("hypervisor {} cannot be written: {}", hypervisor->name, refusal->error);
    result.changes_at = refusal->until;
    return result;
  }

 private:
  std::vector<FieldValue> wanted_;
};

// The API server knows best which kinds of maintenance there are, so an odd one is not refused here.
void warn_of_odd_maintenance(config::ConfigReader& config, const std::vector<FieldValue>& wanted) {
  constexpr std::array<std::string_view, 5> kKinds{"", "manual", "auto", "ha", "termination"};
  for (const FieldValue& one : wanted) {
    if (one.field->name != "maintenance") continue;
    const auto kind = one.value.view().text();
    if (kind && std::find(kKinds.begin(), kKinds.end(), *kind) != kKinds.end()) continue;
    config.warn("maintenance", "is none of manual, auto, ha, termination or empty; the API server may refuse it");
  }
}

std::unique_ptr<Trigger> make_alter_hypervisor_trigger(config::ConfigReader& config) {
  std::vector<FieldValue> wanted = read_fields(config, hypervisor_spec_fields(), "spec of a hypervisor");
  warn_of_odd_maintenance(config, wanted);
  return std::make_unique<AlterHypervisor>(std::move(wanted));
}

}  // namespace

Plugin<Trigger> alter_hypervisor_trigger() {
  return {make_alter_hypervisor_trigger,
          {"alterHypervisor", "Sets fields of the spec of the node's Hypervisor (kvm.cloud.sap/v1)",
           describe_fields(hypervisor_spec_fields()),
           R"(- name: evacuate_host
  type: alterHypervisor
  config:
    maintenance: auto
    maintenanceReason: operating system update
)"}};
}

}  // namespace careen::profiles
