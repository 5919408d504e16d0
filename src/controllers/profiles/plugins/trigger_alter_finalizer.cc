#include <memory>
#include <string>

#include "config/reader.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {

namespace {

class AlterFinalizer final : public Trigger {
 public:
  AlterFinalizer(std::string key, bool remove) : key_(std::move(key)), remove_(remove) {}
  std::string_view type() const override { return "alterFinalizer"; }

  TriggerResult apply(TriggerContext& context) const override {
    if (remove_) {
      context.node.remove_finalizer(key_);
    } else {
      context.node.add_finalizer(key_);
    }
    return {};
  }

 private:
  std::string key_;
  bool remove_;
};

std::unique_ptr<Trigger> make_alter_finalizer_trigger(config::ConfigReader& config) {
  std::string key = config.string("key", config::Required::yes);
  return std::make_unique<AlterFinalizer>(std::move(key), config.boolean("remove"));
}

}  // namespace

Plugin<Trigger> alter_finalizer_trigger() {
  return {make_alter_finalizer_trigger,
          {"alterFinalizer",
           "Adds or removes a finalizer of the node",
           {
               {.name = "key", .text = "The finalizer", .required = true},
               {.name = "remove", .type = config::KeyType::boolean, .text = "Remove it instead", .otherwise = "false"},
           },
           R"(- name: hold_deletion
  type: alterFinalizer
  config:
    key: example.com/maintenance
)"}};
}

}  // namespace careen::profiles
