#include <fmt/format.h>

#include <algorithm>

#include "budget/occupancy.h"
#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"

namespace careen::profiles {

namespace {

struct Settings {
  config::CountOrPercentage max;
  std::string profile;
  std::vector<std::string> group_by;
  io::Duration skip_after{};
};

class MaxMaintenance final : public Check {
 public:
  explicit MaxMaintenance(Settings settings) : settings_(std::move(settings)) {}
  std::string_view type() const override { return "maxMaintenance"; }
  std::vector<std::string> group_labels() const override { return settings_.group_by; }

  CheckResult run(const CheckContext& context) const override {
    CheckResult result;
    budget::NodePlaces places{scope_for(context), settings_.max.count, settings_.skip_after};
    std::optional<Fleet::Share> share;
    if (settings_.max.percent > 0) {
      share = context.facts.fleet.share(places.scope, settings_.max.percent);
      places.max = share->places;
      result.topics.push_back(share->topic);
    }
    budget::Use use = measure(context.facts.occupancy, places, context.now, context.node.base().name);
    result.passed = !use.full();
    if (context.explain) explain(context, places, use.used, share, result);
    result.budget.emplace(std::move(places), use);
    return result;
  }

 private:
  void explain(const CheckContext& context, const budget::NodePlaces& places, int64_t used,
               const std::optional<Fleet::Share>& share, CheckResult& result) const {
    constexpr size_t kMost = 8;
    const auto names = holders(context.facts.occupancy, places, context.now, context.node.base().name, kMost);
    result.reason = fmt::format("{} of {}", used, places.max);
    if (share) result.reason += fmt::format(" ({}% of {} nodes)", settings_.max.percent, share->nodes);
    result.reason += fmt::format(" in maintenance among {}", describe(places.scope));
    if (!names.empty()) result.reason += fmt::format(": {}", fmt::join(names, ", "));
    if (used > static_cast<int64_t>(kMost)) result.reason += fmt::format(" and {} more", used - int64_t{kMost});
    result.info = {{"scope", places.scope.text()},
                   {"maintained", static_cast<double>(used)},
                   {"max", static_cast<double>(places.max)}};
  }

  // A group label that the node lacks, or that is empty, does not narrow the scope.
  budget::Scope scope_for(const CheckContext& context) const {
    budget::Scope scope{settings_.profile, {}};
    for (const std::string& key : settings_.group_by) {
      const auto value = context.node.label(key);
      if (value && !value->empty()) scope.labels.emplace_back(key, *value);
    }
    return scope;
  }

  static std::string describe(const budget::Scope& scope) {
    return scope.subset.empty() ? scope.text() : fmt::format("{} with profile {}", scope.text(), scope.subset);
  }

  Settings settings_;
};

std::unique_ptr<Check> make_max_maintenance_check(config::ConfigReader& config) {
  Settings settings;
  settings.max = config.count_or_percentage("max", config::Required::yes);
  if (settings.max.count < 0) config.warn("max", "is negative, so the check never passes");
  settings.profile = config.string("profile", config::Required::no);
  settings.group_by = config.strings("groupBy", config::Required::no);
  const std::string deprecated = config.string("groupLabel", config::Required::no);
  const bool known =
      std::find(settings.group_by.begin(), settings.group_by.end(), deprecated) != settings.group_by.end();
  if (!deprecated.empty() && !known) settings.group_by.push_back(deprecated);
  settings.skip_after = config.duration("skipAfter", config::Required::no);
  if (settings.skip_after < io::Duration{0}) {
    config.warn("skipAfter", "is negative, which means the same as 0: every maintenance counts");
  }
  return std::make_unique<MaxMaintenance>(std::move(settings));
}

}  // namespace

Plugin<Check> max_maintenance_check() {
  return {
      make_max_maintenance_check,
      {"maxMaintenance",
       "Passes while fewer nodes than a limit are in maintenance",
       {
           {.name = "max",
            .type = config::KeyType::count_or_percentage,
            .text = "How many nodes may be in maintenance at once; a percentage is of the nodes that are looked at, "
                    "rounded down, but at least one",
            .required = true},
           {.name = "profile", .text = "Counts only nodes that have this profile"},
           {.name = "groupBy",
            .type = config::KeyType::texts,
            .text = "Label keys: counts only nodes that have the same values as this one"},
           {.name = "groupLabel", .text = "One more label key; older spelling of groupBy"},
           {.name = "skipAfter",
            .type = config::KeyType::duration,
            .text = "Nodes that have been in maintenance for longer do not count any more",
            .otherwise = "0"},
       },
       R"(- name: one_per_zone
  type: maxMaintenance
  config:
    max: 1
    groupBy: topology.kubernetes.io/zone
)"}};
}

}  // namespace careen::profiles
