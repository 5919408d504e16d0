#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {

class HypervisorCondition final : public Check {
 public:
  HypervisorCondition(std::string type, std::string status) : type_(std::move(type)), status_(std::move(status)) {}
  std::string_view type() const override { return "hypervisorCondition"; }
  void add_needs(Needs& needs) const override { needs.hypervisors = true; }

  // The first condition of that type decides.
  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    const kube::Object* hypervisor = find_hypervisor(context.facts.hypervisors, context.node.base().name, result);
    if (!hypervisor) return result;
    const kube::JsonView conditions = hypervisor->document.at("/status/conditions");
    for (size_t i = 0; i < conditions.size(); ++i) {
      if (conditions[i]["type"].text() != type_) continue;
      const std::string_view current = conditions[i]["status"].text().value_or("");
      result.passed = current == status_;
      if (context.explain) explain(current, result);
      return result;
    }
    if (!context.explain) return result;
    result.reason = fmt::format("condition {} not present", type_);
    result.info.emplace_back("reason", result.reason);
    return result;
  }

 private:
  void explain(std::string_view current, CheckResult& result) const {
    result.reason = fmt::format("condition {} of the hypervisor is {}", type_, current);
    if (!result.passed) result.reason += fmt::format(", not {}", status_);
    result.info.emplace_back("current", std::string(current));
    result.info.emplace_back("expected", status_);
  }

  std::string type_;
  std::string status_;
};

std::unique_ptr<Check> make_hypervisor_condition_check(config::ConfigReader& config) {
  std::string type = config.string("type", config::Required::yes);
  return std::make_unique<HypervisorCondition>(std::move(type), config.string("status", config::Required::yes));
}

}  // namespace

Plugin<Check> hypervisor_condition_check() {
  return {make_hypervisor_condition_check,
          {"hypervisorCondition",
           "Passes if a condition of the node's Hypervisor (kvm.cloud.sap/v1) has a status",
           {
               {.name = "type", .text = "Type of the condition", .required = true},
               {.name = "status", .text = "The status it must have: True, False or Unknown", .required = true},
           },
           R"(- name: hypervisor_ready
  type: hypervisorCondition
  config:
    type: Ready
    status: "True"
)"}};
}

}  // namespace careen::profiles
