#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/check_has_key.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class HasLabel final : public Check {
 public:
  explicit HasLabel(config::ConfigReader& config) : wanted_(config) {}
  std::string_view type() const override { return "hasLabel"; }
  CheckResult run(const CheckContext& context) const override {
    return check_key("label", wanted_, context.node.label(wanted_.key), context.explain);
  }

 private:
  WantedKey wanted_;
};

std::unique_ptr<Check> make_has_label_check(config::ConfigReader& config) { return std::make_unique<HasLabel>(config); }
}  // namespace

Plugin<Check> has_label_check() {
  return {make_has_label_check,
          {"hasLabel",
           "Passes if the node has a label",
           {
               {.name = "key", .text = "Key of the label", .required = true},
               {.name = "value", .text = "The value it must have; any value will do if this is empty"},
           },
           R"(- name: approved
  type: hasLabel
  config:
    key: example.com/maintenance-approved
    value: "true"
)"}};
}

}  // namespace careen::profiles
