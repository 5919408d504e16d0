#include "profiles/plugins.h"
#include "profiles/trigger_context.h"

namespace careen::profiles {

namespace {
class AlterAnnotation final : public Trigger {
 public:
  AlterAnnotation(std::string key, std::string value, bool remove)
      : key_(std::move(key)), value_(std::move(value)), remove_(remove) {}
  std::string_view type() const override { return "alterAnnotation"; }
  TriggerResult apply(TriggerContext& context) const override {
    if (remove_) {
      context.node.remove_annotation(key_);
    } else {
      context.node.set_annotation(key_, value_);
    }
    return {};
  }

 private:
  std::string key_;
  std::string value_;
  bool remove_;
};
}  // namespace

std::unique_ptr<Trigger> make_alter_annotation(ConfigReader& config) {
  return std::make_unique<AlterAnnotation>(config.string("key", Required::yes), config.string("value", Required::no),
                                           config.boolean("remove"));
}

}  // namespace careen::profiles
