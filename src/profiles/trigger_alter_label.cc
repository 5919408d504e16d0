#include "profiles/plugins.h"
#include "profiles/trigger_context.h"

namespace careen::profiles {

namespace {
class AlterLabel final : public Trigger {
 public:
  AlterLabel(std::string key, std::string value, bool remove)
      : key_(std::move(key)), value_(std::move(value)), remove_(remove) {}
  std::string_view type() const override { return "alterLabel"; }
  TriggerResult apply(TriggerContext& context) const override {
    if (remove_) {
      context.node.remove_label(key_);
    } else {
      context.node.set_label(key_, value_);
    }
    return {};
  }

 private:
  std::string key_;
  std::string value_;
  bool remove_;
};
}  // namespace

std::unique_ptr<Trigger> make_alter_label(ConfigReader& config) {
  return std::make_unique<AlterLabel>(config.string("key", Required::yes), config.string("value", Required::no),
                                      config.boolean("remove"));
}

}  // namespace careen::profiles
