#include "drain/lane.h"

#include <algorithm>

namespace careen::drain {

namespace {

bool passes_unhealthy(const kube::Pod& pod, const kube::DisruptionBudget& budget) {
  if (pod.flags.ready) return false;
  if (budget.evict_unhealthy_always) return true;
  return budget.desired_healthy > 0 && budget.current_healthy >= budget.desired_healthy;
}

}  // namespace

Passage passage_of(const kube::Pod& pod, const std::vector<const kube::DisruptionBudget*>& budgets) {
  if (pod.phase == kube::PodPhase::pending || pod.finished() || pod.terminating()) return Passage::free;
  if (budgets.empty()) return Passage::free;
  if (budgets.size() > 1) return Passage::several;
  return passes_unhealthy(pod, *budgets.front()) ? Passage::free : Passage::lane;
}

Lane::State Lane::state(io::Steady now) const { return in_flight_ ? State::busy : standing(now); }

Lane::State Lane::standing(io::Steady now) const {
  if (!budget_) return State::missing;
  if (refused_until_ && now < *refused_until_) return State::refused;
  if (!budget_->current()) return State::outdated;
  if (budget_->allowed <= 0) return State::exhausted;
  if (budget_->allowed <= unseen(now)) return State::unseen;
  return State::open;
}

std::optional<io::Steady> Lane::wake(io::Steady now) const {
  std::optional<io::Steady> out;
  const auto at = [&](io::Steady when) {
    if (when > now) out = std::min(out.value_or(when), when);
  };
  if (refused_until_) at(*refused_until_);
  for (const auto& [pod, entry] : unseen_) at(entry.until);
  return out;
}

bool Lane::names(std::string_view pod) const {
  return budget_ && std::binary_search(budget_->disrupted_pods.begin(), budget_->disrupted_pods.end(), pod);
}

int Lane::unseen(io::Steady now) const {
  return static_cast<int>(
      std::count_if(unseen_.begin(), unseen_.end(), [&](const auto& entry) { return now < entry.second.until; }));
}

void Lane::budget_is(const kube::DisruptionBudget* budget) {
  budget_ = budget ? std::optional(*budget) : std::nullopt;
  refused_until_.reset();
  // A status of after the pod began to leave has counted it, also if the one that named it was never heard of. The
  // server counts first and deletes then, so a status that is older than that says nothing about it.
  std::erase_if(unseen_, [&](const auto& entry) {
    return names(entry.first) || (budget_ && entry.second.left && budget_->version > *entry.second.left);
  });
  if (!in_flight_) return;
  in_flight_->budget_changed = true;
  in_flight_->shown = in_flight_->shown || names(in_flight_->pod);
}

void Lane::leaves(std::string_view pod, uint64_t version) {
  // The first time counts: a pod that takes long to end changes until it does.
  if (const auto it = unseen_.find(pod); it != unseen_.end() && !it->second.left) it->second.left = version;
  if (in_flight_ && in_flight_->pod == pod && !in_flight_->left) in_flight_->left = version;
}

void Lane::sent(std::string pod) {
  // It is the only one on its way, so a status that names it already names an earlier pod of that name.
  in_flight_ = Flight{std::move(pod), false, false, std::nullopt};
}

void Lane::counted(io::Steady now) {
  std::erase_if(unseen_, [now](const auto& entry) { return entry.second.until <= now; });
  spent_ = now;
  if (in_flight_ && !in_flight_->shown) unseen_[in_flight_->pod] = {now + kUnseenFor, in_flight_->left};
  answered();
}

void Lane::refused(io::Steady now, std::optional<io::Duration> retry_after) {
  // What changed while it was on its way may be what the server had not seen.
  const bool changed = in_flight_ && in_flight_->budget_changed;
  answered();
  const State standing_now = standing(now);
  // The cache shows the reason, and will show its end.
  if (changed || standing_now == State::exhausted || standing_now == State::outdated) return;
  const io::Duration pause = retry_after.value_or(io::Duration::zero());
  refused_until_ = now + (pause > io::Duration::zero() ? pause : kRefusedFor);
}

void Lane::answered() { in_flight_.reset(); }

}  // namespace careen::drain
