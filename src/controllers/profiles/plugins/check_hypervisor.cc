#include <fmt/format.h>
#include <fmt/ranges.h>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/hypervisor_fields.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {

class CheckHypervisor final : public Check {
 public:
  explicit CheckHypervisor(std::vector<FieldValue> wanted) : wanted_(std::move(wanted)) {}
  std::string_view type() const override { return "checkHypervisor"; }
  void add_needs(Needs& needs) const override { needs.hypervisors = true; }

  // True if every field has the value that is wanted; without any, if the hypervisor is there.
  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    const kube::Object* hypervisor = find_hypervisor(context.facts.hypervisors, context.node.base().name, result);
    if (!hypervisor) return result;
    result.passed = true;
    std::vector<std::string> reasons;
    for (const FieldValue& wanted : wanted_) {
      const kube::Json value = value_of(*hypervisor, "status", *wanted.field);
      const bool is_equal = value == wanted.value;
      result.passed = result.passed && is_equal;
      if (!context.explain) continue;
      reasons.push_back(is_equal
                            ? fmt::format("{} is {}", wanted.field->name, value.dump())
                            : fmt::format("{} is {}, not {}", wanted.field->name, value.dump(), wanted.value.dump()));
    }
    if (!context.explain) return result;
    result.reason = reasons.empty() ? fmt::format("hypervisor {} is there", hypervisor->name)
                                    : fmt::format("{}", fmt::join(reasons, "; "));
    return result;
  }

 private:
  std::vector<FieldValue> wanted_;
};

std::unique_ptr<Check> make_check_hypervisor_check(config::ConfigReader& config) {
  return std::make_unique<CheckHypervisor>(read_fields(config, hypervisor_status_fields(), "status of a hypervisor"));
}

}  // namespace

Plugin<Check> check_hypervisor_check() {
  return {make_check_hypervisor_check,
          {"checkHypervisor",
           "Passes if fields of the status of the node's Hypervisor (kvm.cloud.sap/v1) have the values given",
           describe_fields(hypervisor_status_fields()),
           R"(- name: evicted
  type: checkHypervisor
  config:
    evicted: true
)"}};
}

}  // namespace careen::profiles
