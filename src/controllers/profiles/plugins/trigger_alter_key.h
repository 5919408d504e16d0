// What alterLabel and alterAnnotation share: a key that is set to a value, or removed.
#pragma once

#include <memory>
#include <string>

#include "config/reader.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {

template <auto kSet, auto kRemove>
class AlterKey final : public Trigger {
 public:
  AlterKey(std::string_view type, config::ConfigReader& config)
      : type_(type),
        key_(config.string("key", config::Required::yes)),
        value_(config.string("value", config::Required::no)),
        remove_(config.boolean("remove")) {}

  std::string_view type() const override { return type_; }
  TriggerResult apply(TriggerContext& context) const override {
    if (remove_) {
      (context.node.*kRemove)(key_);
    } else {
      (context.node.*kSet)(key_, value_);
    }
    return {};
  }

 private:
  std::string_view type_;  // a literal
  std::string key_;
  std::string value_;
  bool remove_;
};

}  // namespace careen::profiles
