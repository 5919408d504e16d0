#include <fmt/format.h>

#include "config/reader.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/needs.h"
#include "controllers/profiles/node_draft.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/profiles/state.h"

namespace careen::profiles {

namespace {
// Nodes without a pod that prefers operational nodes go first, so that such pods move as seldom as can be.
class Affinity final : public Check {
 public:
  explicit Affinity(int64_t min_operational) : min_operational_(min_operational) {}
  std::string_view type() const override { return "affinity"; }
  void add_needs(Needs& needs) const override { needs.pods = true; }

  // The topics are those that could turn this very answer: who passes because of one fact need not hear of the others.
  CheckResult run(const CheckContext& context) const override {
    if (context.data.current != State::maintenance_required) return wrong_state(context);
    const Fleet& fleet = context.facts.fleet;
    CheckResult result;
    if (min_operational_ > 0) {
      const Fleet::Number operational = fleet.operational(context.profile, min_operational_);
      result.topics.push_back(operational.topic);
      if (operational.value >= min_operational_) {
        result.passed = true;
        if (!context.explain) return result;
        result.info.emplace_back("reason", "minOperational exceeded");
        result.reason =
            fmt::format("{} nodes are operational, at least {} are wanted", operational.value, min_operational_);
        return result;
      }
    }
    if (const Fleet::Yes known = fleet.pods_known(); !known.value) {
      result.pending = true;
      result.topics.push_back(known.topic);
      if (context.explain) result.reason = "the pods of the cluster are not known yet";
      return result;
    }
    if (!fleet.has_affinity_pod(context.node.base().name)) return without_affinity_pod(context);
    return behind_others(context, std::move(result));
  }

 private:
  static CheckResult wrong_state(const CheckContext& context) {
    CheckResult result;
    result.error = fmt::format("affinity can only be checked in {}, but profile {} is {}",
                               name_of(State::maintenance_required), context.profile, context.data.current.text());
    return result;
  }

  static CheckResult without_affinity_pod(const CheckContext& context) {
    CheckResult result;
    result.passed = true;
    if (!context.explain) return result;
    result.reason = "no pod of the node prefers operational nodes";
    result.info.emplace_back("reason", "no pods with affinity");
    return result;
  }

  static CheckResult behind_others(const CheckContext& context, CheckResult result) {
    const auto blocker = context.facts.fleet.required_without_affinity(context.profile, context.node.base().name);
    result.passed = blocker.node.empty();
    if (result.passed) result.topics.clear();
    result.topics.push_back(blocker.topic);
    if (!context.explain) return result;
    if (result.passed) {
      result.reason = "no other node that needs maintenance is without pods that prefer operational nodes";
      return result;
    }
    result.reason = fmt::format("node {} goes first: none of its pods prefers operational nodes", blocker.node);
    result.info.emplace_back("reason", fmt::format("pods without affinity on: {}", blocker.node));
    return result;
  }

  int64_t min_operational_;
};

std::unique_ptr<Check> make_affinity_check(config::ConfigReader& config) {
  const int64_t least = config.integer("minOperational", config::Required::no);
  if (least < 0) config.warn("minOperational", "is negative, which means the same as 0");
  return std::make_unique<Affinity>(least);
}
}  // namespace

Plugin<Check> affinity_check() {
  return {make_affinity_check,
          {"affinity",
           "Lets nodes go first that have no pod which prefers operational nodes; only for maintenance-required",
           {{.name = "minOperational",
             .type = config::KeyType::integer,
             .text = "Passes in any case while so many nodes are operational; 0: never in any case",
             .otherwise = "0"}},
           R"(- name: pods_move_once
  type: affinity
  config:
    minOperational: 2
)"}};
}

}  // namespace careen::profiles
