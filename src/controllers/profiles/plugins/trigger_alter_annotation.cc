#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/trigger_alter_key.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Trigger> make_alter_annotation_trigger(config::ConfigReader& config) {
  return std::make_unique<AlterKey<&NodeDraft::set_annotation, &NodeDraft::remove_annotation>>("alterAnnotation",
                                                                                               config);
}
}  // namespace

Plugin<Trigger> alter_annotation_trigger() {
  return {make_alter_annotation_trigger,
          {"alterAnnotation",
           "Sets or removes an annotation of the node",
           {
               {.name = "key", .text = "Key of the annotation", .required = true},
               {.name = "value", .text = "The value to set"},
               {.name = "remove", .type = config::KeyType::boolean, .text = "Remove it instead", .otherwise = "false"},
           },
           R"(- name: mark_rebooting
  type: alterAnnotation
  config:
    key: example.com/rebooting
    value: "true"
)"}};
}

}  // namespace careen::profiles
