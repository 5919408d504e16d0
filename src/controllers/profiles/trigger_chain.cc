#include "controllers/profiles/trigger_chain.h"

#include <fmt/format.h>

#include <utility>

#include "controllers/profiles/check_context.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/decision_draft.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/trigger_context.h"

namespace careen::profiles {

ChainResult run_chain(DecisionDraft& draft, const Profile& profile, const ProfileData& data,
                      const std::vector<int>& chain, const ChainPurpose& purpose, Why& why) {
  ChainResult chain_result;
  for (const int index : chain) {
    const TriggerInstance& instance = draft.world.config.triggers[static_cast<size_t>(index)];
    TriggerContext context{
        draft.node, draft.world.facts.hypervisors, draft.decision.effects.hypervisor, profile.name, purpose.entered,
        draft.now,  draft.world.facts.drains};
    TriggerResult result = instance.trigger->apply(context);
    draft.wake(result.changes_at);
    if (!result.error.empty()) {
      draft.fail(profile, data, why, purpose.failure, fmt::format("{}: {}", instance.name, result.error));
      chain_result.end = ChainEnd::stuck;
      return chain_result;
    }
    draft.decision.unanswered |= result.pending;
    if (result.drain) {
      chain_result.drain = DrainWanted{holder_name(profile.name), std::move(*result.drain), std::nullopt};
    }
    if (!result.pending && !result.retry) continue;
    draft.hold_up(why, Why::Verdict::no, "trigger {} is not done yet{}{}", instance.name,
                  result.reason.empty() ? "" : ": ", result.reason);
    chain_result.end = result.drain ? ChainEnd::draining : ChainEnd::stuck;
    if (result.drain && !result.overdue.empty()) {
      chain_result.drain->overdue =
          Failure{profile.name, purpose.failure, fmt::format("{}: {}", instance.name, result.overdue),
                  std::string(data.current.text())};
    }
    return chain_result;
  }
  return chain_result;
}

ChainChanges::ChainChanges(const DecisionDraft& draft)
    : node(draft.node.changes()), hypervisor(draft.decision.effects.hypervisor) {}

void ChainChanges::restore(DecisionDraft& draft) const {
  draft.node.restore(node);
  draft.decision.effects.hypervisor = hypervisor;
}

}  // namespace careen::profiles
