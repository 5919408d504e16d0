#include <fmt/format.h>

#include <algorithm>

#include "profiles/check_context.h"
#include "profiles/plugins.h"

namespace careen::profiles {

namespace {

struct Settings {
  int64_t max = 0;
  std::string profile;
  std::vector<std::string> group_by;
  io::Duration skip_after{};
};

class MaxMaintenance final : public Check {
 public:
  explicit MaxMaintenance(Settings settings) : settings_(std::move(settings)) {}
  std::string_view type() const override { return "maxMaintenance"; }

  CheckResult run(const CheckContext& context) const override {
    const BudgetKey key{scope_for(context), settings_.max, settings_.skip_after};
    const BudgetUse use = measure(context.occupancy, key, context.now, context.node.base().name);
    CheckResult result;
    result.error = use.error;
    if (!use.error.empty()) return result;
    result.passed = use.used < settings_.max;
    if (context.explain) explain(context, key, use.used, result);
    result.budget.emplace(key, use);
    return result;
  }

 private:
  void explain(const CheckContext& context, const BudgetKey& key, int64_t used, CheckResult& result) const {
    constexpr size_t kMost = 8;
    const auto names = holders(context.occupancy, key, context.now, context.node.base().name, kMost);
    result.reason = fmt::format("{} of {} in maintenance among {}", used, settings_.max, describe(key.scope));
    if (!names.empty()) result.reason += fmt::format(": {}", fmt::join(names, ", "));
    if (used > static_cast<int64_t>(kMost)) result.reason += fmt::format(" and {} more", used - int64_t{kMost});
    result.info = {{"scope", key.scope.text()},
                   {"maintained", static_cast<double>(used)},
                   {"max", static_cast<double>(settings_.max)}};
  }

  // A group label that the node lacks, or that is empty, does not narrow the scope.
  Scope scope_for(const CheckContext& context) const {
    Scope scope{settings_.profile, {}};
    for (const std::string& key : settings_.group_by) {
      const auto value = context.node.label(key);
      if (value && !value->empty()) scope.labels.emplace_back(key, *value);
    }
    return scope;
  }

  static std::string describe(const Scope& scope) {
    return scope.profile.empty() ? scope.text() : fmt::format("{} with profile {}", scope.text(), scope.profile);
  }

  Settings settings_;
};

}  // namespace

std::unique_ptr<Check> make_max_maintenance(ConfigReader& config) {
  Settings settings;
  settings.max = config.integer("max", Required::yes);
  if (settings.max < 0) config.error("max", "must be positive");
  settings.profile = config.string("profile", Required::no);
  settings.group_by = config.strings("groupBy", Required::no);
  const std::string deprecated = config.string("groupLabel", Required::no);
  const bool known =
      std::find(settings.group_by.begin(), settings.group_by.end(), deprecated) != settings.group_by.end();
  if (!deprecated.empty() && !known) settings.group_by.push_back(deprecated);
  settings.skip_after = config.duration("skipAfter", Required::no);
  return std::make_unique<MaxMaintenance>(std::move(settings));
}

}  // namespace careen::profiles
