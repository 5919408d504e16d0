#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class AnyLabelCheck final : public Check {
 public:
  AnyLabelCheck(std::string key, std::string value) : key_(std::move(key)), value_(std::move(value)) {}
  std::string_view type() const override { return "anyLabel"; }

  CheckResult run(const CheckContext& context) const override {
    const Fleet::Yes any = context.facts.fleet.any_label(key_, value_);
    CheckResult result;
    result.passed = any.value;
    result.topics.push_back(any.topic);
    if (!context.explain) return result;
    result.reason = fmt::format("{} node has label {}", any.value ? "some" : "no", key_);
    if (!value_.empty()) result.reason += fmt::format("={}", value_);
    return result;
  }

 private:
  std::string key_;
  std::string value_;
};

std::unique_ptr<Check> make_any_label_check(config::ConfigReader& config) {
  return std::make_unique<AnyLabelCheck>(config.string("key", config::Required::yes),
                                         config.string("value", config::Required::no));
}
}  // namespace

Plugin<Check> any_label_check() {
  return {make_any_label_check,
          {"anyLabel",
           "Passes if at least one node of the cluster has a label",
           {
               {.name = "key", .text = "Key of the label", .required = true},
               {.name = "value", .text = "The value it must have; any value will do if this is empty"},
           },
           R"(- name: somebody_updates
  type: anyLabel
  config:
    key: example.com/update-in-progress
    value: "true"
)"}};
}

}  // namespace careen::profiles
