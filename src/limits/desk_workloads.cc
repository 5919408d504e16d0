// Limits about workloads at the desk: what a node with a place ran is remembered as long as it has one, also in the
// ledger, and whoever waits for a workload is looked at again when something of workloads has changed.
#include <algorithm>

#include "io/steady_at.h"
#include "limits/desk_core.h"

namespace careen::limits {

namespace {

// A predecessor's record counts until whoever has the place has said so again, or for so long.
constexpr io::Duration kRecordStandsFor = io::minutes{10};

}  // namespace

void Desk::Core::follow(WorkloadSources sources, std::function<void(const WorkloadLimits&)> watch) {
  const auto moved = [this](std::string_view node) {
    if (about_workloads_.empty()) return;
    const auto it = states_.find(node);
    if (it == states_.end() || it->second.entries.empty()) return;
    reconsider(it->second);
    soon();
  };
  workloads_ = std::make_unique<WorkloadLimits>(std::move(sources),
                                                WorkloadLimits::Listener{moved, [this] { ease_workloads(); }});
  watch_workloads_ = std::move(watch);
  for (const auto& [name, limit] : about_workloads_) workloads_->put(limit->limit);
  remember_all();
  ease_workloads();
  if (!workloads_->empty() && watch_workloads_) watch_workloads_(*workloads_);
}

void Desk::Core::put_workload_limit(LimitState& limit) {
  if (limit.limit.subject == Subject::unsupported) return;
  about_workloads_[limit.limit.name] = &limit;
  // Whatever was offered was offered without it.
  all_eased_ = true;
  soon();
  if (!workloads_) return;
  workloads_->put(limit.limit);
  remember_all();
  if (watch_workloads_) watch_workloads_(*workloads_);
}

void Desk::Core::drop_workload_limit(const LimitState& limit) {
  if (about_workloads_.erase(limit.limit.name) == 0) return;
  if (workloads_) workloads_->remove(limit.limit.name);
}

// Holds count too: people at terminals have no places.
bool Desk::Core::is_taken(const NodeState& state) const {
  return state.has_place() ||
         std::ranges::any_of(state.facts, [](const Fact& fact) { return fact.own && fact.counts(); });
}

void Desk::Core::recall(NodeState& state) {
  if (is_taken(state)) return remember(state);
  if (!state.inherited) forget_workloads(state);
}

// What it runs now, besides what it ran before: it is recorded in the same write of the ledger as the place.
void Desk::Core::remember(NodeState& state) {
  if (!workloads_ || about_workloads_.empty() || !state.present) return;
  state.inherited = false;
  std::vector<std::string> record = workloads_->take(state.name);
  // A follower's would hide what the leader has on record when that is taken over.
  if (record.empty() || !leads_) return;
  budget::Admission admission{
      .uid = state.uid, .node = state.name, .by = std::string(kWorkloads), .since = now(), .counts = false};
  admission.groups = std::move(record);
  const std::string key = admission.key();
  if (!state.ran.empty() && state.ran != state.uid) ledger_.finish(budget::claim_key(kWorkloads, state.ran));
  state.ran = state.uid;
  const auto known = ledger_.entries().find(key);
  if (known != ledger_.entries().end() && known->second.admission.groups == admission.groups) return;
  if (ledger_.fits(key)) ledger_.reserve(std::move(admission));
}

void Desk::Core::remember_all() {
  if (!workloads_ || about_workloads_.empty()) return;
  for (auto& [name, state] : states_) {
    if (is_taken(state)) remember(state);
  }
}

void Desk::Core::inherit_workloads(const budget::Admission& admission) {
  NodeState& state = state_of(admission.node);
  state.ran = admission.uid;
  state.inherited = true;
  ledger_.settled(admission.key());
  due_.set({Due::workloads, state.name}, loop_.now() + kRecordStandsFor);
  if (workloads_) workloads_->take(state.name, admission.groups);
  if (is_taken(state)) remember(state);
}

void Desk::Core::forget_workloads(NodeState& state) {
  if (state.ran.empty() && !(workloads_ && workloads_->has(state.name))) return;
  due_.set({Due::workloads, state.name}, std::nullopt);
  if (!state.ran.empty()) ledger_.finish(budget::claim_key(kWorkloads, std::exchange(state.ran, {})));
  if (workloads_ && workloads_->release(state.name)) ease_workloads();
}

void Desk::Core::ease_workloads() {
  for (const auto& [name, limit] : about_workloads_) {
    if (!limit->row.empty()) limits_eased_.insert(limit);
  }
  if (!limits_eased_.empty()) soon();
}

// False: visit said no.
bool Desk::Core::refused_by_workloads(const NodeState& state, const Asker& asker,
                                      const std::function<bool(const Refusal&)>& visit) const {
  // A node that is down serves nobody, and nobody else is held back in mode Observe, the only one that they have.
  if (state.down || asker.foreign()) return true;
  const auto refuse = [&](LimitState* limit, std::string why) {
    Refusal refusal{.why = Refused::workload, .limit = limit};
    refusal.text = std::move(why);
    return visit(refusal);
  };
  if (!workloads_) {
    return std::ranges::all_of(about_workloads_,
                               [&](const auto& entry) { return refuse(entry.second, "workloads are not watched"); });
  }
  bool goes_on = true;
  workloads_->refusals(state.name, [&](const WorkloadLimits::Refusal& refusal) {
    const auto limit = about_workloads_.find(refusal.limit->name);
    goes_on = limit == about_workloads_.end() || refuse(limit->second, refusal.why);
    return goes_on;
  });
  return goes_on;
}

}  // namespace careen::limits
