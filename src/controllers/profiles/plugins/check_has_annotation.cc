#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/check_has_key.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {
class HasAnnotation final : public Check {
 public:
  explicit HasAnnotation(config::ConfigReader& config) : wanted_(config) {}
  std::string_view type() const override { return "hasAnnotation"; }
  CheckResult run(const CheckContext& context) const override {
    return check_key("annotation", wanted_, context.node.annotation(wanted_.key), context.explain);
  }

 private:
  WantedKey wanted_;
};

std::unique_ptr<Check> make_has_annotation_check(config::ConfigReader& config) {
  return std::make_unique<HasAnnotation>(config);
}
}  // namespace

Plugin<Check> has_annotation_check() {
  return {make_has_annotation_check,
          {"hasAnnotation",
           "Passes if the node has an annotation",
           {
               {.name = "key", .text = "Key of the annotation", .required = true},
               {.name = "value", .text = "The value it must have; any value will do if this is empty"},
           },
           R"(- name: approved
  type: hasAnnotation
  config:
    key: example.com/maintenance-approved
    value: "true"
)"}};
}

}  // namespace careen::profiles
