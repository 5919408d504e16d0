#include "profiles/check_has_key.h"
#include "profiles/plugins.h"

namespace careen::profiles {

namespace {
class HasAnnotation final : public Check {
 public:
  HasAnnotation(std::string key, std::string value) : key_(std::move(key)), value_(std::move(value)) {}
  std::string_view type() const override { return "hasAnnotation"; }
  CheckResult run(const CheckContext& context) const override {
    return check_key("annotation", key_, value_, context.node.annotation(key_), context.explain);
  }

 private:
  std::string key_;
  std::string value_;
};
}  // namespace

std::unique_ptr<Check> make_has_annotation(ConfigReader& config) {
  return std::make_unique<HasAnnotation>(config.string("key", Required::yes), config.string("value", Required::no));
}

}  // namespace careen::profiles
