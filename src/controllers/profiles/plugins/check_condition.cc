#include <fmt/format.h>

#include <algorithm>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class Condition final : public Check {
 public:
  Condition(std::string type, std::string status) : type_(std::move(type)), status_(std::move(status)) {}
  std::string_view type() const override { return "condition"; }

  // The first entry of that type counts.
  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    const auto& conditions = context.node.base().conditions;
    const auto found =
        std::find_if(conditions.begin(), conditions.end(), [this](const auto& entry) { return entry.type == type_; });
    result.passed = found != conditions.end() && found->status == status_;
    if (!context.explain) return result;
    if (found == conditions.end()) {
      result.reason = fmt::format("condition {} not present", type_);
      result.info.emplace_back("reason", result.reason);
      return result;
    }
    result.reason = fmt::format("condition {} is {}", type_, found->status.view());
    if (!result.passed) result.reason += fmt::format(", not {}", status_);
    result.info.emplace_back("current", std::string(found->status.view()));
    result.info.emplace_back("expected", status_);
    return result;
  }

 private:
  std::string type_;
  std::string status_;
};

std::unique_ptr<Check> make_condition_check(config::ConfigReader& config) {
  return std::make_unique<Condition>(config.string("type", config::Required::yes),
                                     config.string("status", config::Required::yes));
}
}  // namespace

Plugin<Check> condition_check() {
  return {make_condition_check,
          {"condition",
           "Passes if a condition of the node's status has a certain value",
           {
               {.name = "type", .text = "Type of the condition", .required = true},
               {.name = "status", .text = "The status it must have", .required = true},
           },
           R"(- name: ready
  type: condition
  config:
    type: Ready
    status: "True"
)"}};
}

}  // namespace careen::profiles
