#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "config/reader.h"
#include "config/suggest.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/trigger_context.h"
#include "drain/progress.h"

namespace careen::profiles {

namespace {

constexpr std::array<std::string_view, 3> kActions{"cordon", "uncordon", "drain"};

class Cordon final : public Trigger {
 public:
  std::string_view type() const override { return "eviction"; }
  TriggerResult apply(TriggerContext& context) const override {
    context.node.cordon(holder_name(context.profile), context.now, false);
    return {};
  }
};

class Uncordon final : public Trigger {
 public:
  std::string_view type() const override { return "eviction"; }
  TriggerResult apply(TriggerContext& context) const override {
    context.node.uncordon(kHoldPrefix);
    return {};
  }
};

struct DrainSettings {
  bool force = false;
  DrainLimits limits;
};

// Everything but pods of DaemonSets and mirror pods has to go.
drain::Options options_for(const DrainSettings& settings) {
  drain::Options options;
  options.force = true;
  options.ignore_daemon_sets = true;
  options.delete_emptydir_data = true;
  options.chase_newcomers = true;
  options.daemon_sets_by_kind = true;
  if (settings.force) {
    options.delete_after = settings.limits.eviction;
    options.kill_after = settings.limits.deletion;
  }
  return options;
}

class Drain final : public Trigger {
 public:
  explicit Drain(DrainSettings settings) : settings_(settings), options_(options_for(settings)) {}
  std::string_view type() const override { return "eviction"; }
  void add_needs(Needs& needs) const override {
    needs.pods = true;
    needs.budgets = true;
  }
  std::optional<io::Duration> overrides_budgets_after() const override { return options_.delete_after; }

  TriggerResult apply(TriggerContext& context) const override {
    TriggerResult result;
    if (!context.drains) {
      result.error = "nodes cannot be drained here: this process runs without an eviction engine";
      return result;
    }
    const std::string owner = holder_name(context.profile);
    const std::string cordoned_by = context.entered ? owner : beginner_name(context.profile);
    result.drain = options_;
    result.retry = true;
    if (!has_cordoned(context.node.base(), cordoned_by)) {
      result.reason = "the node is cordoned first" + threat();
      return result;
    }
    const drain::Progress* const progress = context.drains->progress(context.node.base(), owner);
    if (!progress) {
      result.reason = "the drain is about to begin" + threat();
      return result;
    }
    judge(*progress, context, result);
    return result;
  }

 private:
  // Budgets are overridden where that is configured, and nobody is to learn of it only afterwards.
  std::string threat() const {
    if (!settings_.force) return {};
    return fmt::format(
        "; pods that are not evicted within {} are deleted past their disruption budgets (forceEviction)",
        io::format_duration(settings_.limits.eviction));
  }
  static std::string threat_from(io::Wall from, io::Wall now) {
    const std::string time = io::format_rfc3339(std::chrono::ceil<io::seconds>(from));
    return from <= now ? fmt::format(
                             "; since {} pods that are not evicted have been deleted past their disruption "
                             "budgets (forceEviction)",
                             time)
                       : fmt::format(
                             "; from {} on pods that are not evicted are deleted past their disruption "
                             "budgets (forceEviction)",
                             time);
  }

  void judge(const drain::Progress& progress, TriggerContext& context, TriggerResult& result) const {
    using Phase = drain::Progress::Phase;
    switch (progress.phase) {
      case Phase::drained:
        result.retry = false;
        context.node.cordon(holder_name(context.profile), context.now, false);
        context.node.release_cordon(beginner_name(context.profile));
        return;
      case Phase::refused:
      case Phase::failed:
        result.error = fmt::format("the node cannot be drained: {}", fmt::join(progress.errors, "; "));
        return;
      case Phase::draining:
        break;
    }
    result.reason = describe(progress);
    if (settings_.force) {
      const io::Wall tried_since = io::add(progress.begun, progress.paused);
      result.reason += threat_from(io::add(tried_since, settings_.limits.eviction), context.now);
      return;
    }
    Overdue late = overdue(progress, settings_.limits, context.now);
    result.overdue = std::move(late.what);
    result.changes_at = late.look_at;
  }

  DrainSettings settings_;
  drain::Options options_;
};

std::unique_ptr<Trigger> make_eviction_trigger(config::ConfigReader& config) {
  const std::string action = config.string("action", config::Required::yes);
  if (!action.empty() && std::find(kActions.begin(), kActions.end(), action) == kActions.end()) {
    config.error("action", "must be cordon, uncordon or drain" + config::did_you_mean(action, kActions));
  }
  // Only a drain heeds these; a mistake in them is told all the same.
  DrainSettings settings;
  settings.force = config.boolean("forceEviction");
  settings.limits.deletion = config.duration("deletionTimeout", config::Required::no, io::minutes{10});
  settings.limits.eviction = config.duration("evictionTimeout", config::Required::no, io::minutes{10});
  for (auto [key, limit] : {std::pair{"deletionTimeout", &settings.limits.deletion},
                            std::pair{"evictionTimeout", &settings.limits.eviction}}) {
    if (*limit >= io::Duration{0}) continue;
    config.warn(key, "is negative, which means the same as 0");
    *limit = io::Duration{0};
  }
  if (action == "drain") return std::make_unique<Drain>(settings);
  if (action == "uncordon") return std::make_unique<Uncordon>();
  return std::make_unique<Cordon>();
}

}  // namespace

Plugin<Trigger> eviction_trigger() {
  return {
      make_eviction_trigger,
      {"eviction",
       "Cordons, uncordons or drains the node",
       {
           {.name = "action",
            .type = config::KeyType::choice,
            .text = "What to do; a drain cordons first, and evicts all pods but those of DaemonSets and mirror pods",
            .required = true,
            .choices = {kActions.begin(), kActions.end()}},
           {.name = "forceEviction",
            .type = config::KeyType::boolean,
            .text = "Pods that are not evicted or do not end in time are deleted, whatever their disruption budget "
                    "says; otherwise the drain is reported as failed once, and goes on",
            .otherwise = "false"},
           {.name = "deletionTimeout",
            .type = config::KeyType::duration,
            .text = "How long after its grace period a pod may take to end",
            .otherwise = "10m"},
           {.name = "evictionTimeout",
            .type = config::KeyType::duration,
            .text = "How long the eviction of a pod may be refused",
            .otherwise = "10m"},
       },
       R"(- name: drain
  type: eviction
  config:
    action: drain
)"}};
}

}  // namespace careen::profiles
