#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/trigger_alter_key.h"

namespace careen::profiles {

namespace {
std::unique_ptr<Trigger> make_alter_label_trigger(config::ConfigReader& config) {
  return std::make_unique<AlterKey<&NodeDraft::set_label, &NodeDraft::remove_label>>("alterLabel", config);
}
}  // namespace

Plugin<Trigger> alter_label_trigger() {
  return {make_alter_label_trigger,
          {"alterLabel",
           "Sets or removes a label of the node",
           {
               {.name = "key", .text = "Key of the label", .required = true},
               {.name = "value", .text = "The value to set"},
               {.name = "remove", .type = config::KeyType::boolean, .text = "Remove it instead", .otherwise = "false"},
           },
           R"(- name: mark_rebooting
  type: alterLabel
  config:
    key: example.com/rebooting
    value: "true"
)"}};
}

}  // namespace careen::profiles
