#include "drain/reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace careen::drain {

namespace {

std::string pods_text(int count) { return fmt::format("{} pod{}", count, count == 1 ? "" : "s"); }

std::string joined(const std::vector<std::string>& parts) {
  std::string out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " and " : ", ";
    out += parts[i];
  }
  return out;
}

std::string finalizers_text(std::string_view names) {
  std::string spaced;
  for (const char c : names) spaced += c == ',' ? std::string(", ") : std::string(1, c);
  const bool several = names.find(',') != std::string_view::npos;
  return (several ? "finalizers " : "finalizer ") + spaced + (several ? " hold it" : " holds it");
}

}  // namespace

std::string span_text(io::Duration span) {
  const int64_t seconds = std::max<int64_t>(std::chrono::floor<io::seconds>(span).count(), 0);
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 2 * 3600) return fmt::format("{} min", seconds / 60);
  if (seconds < 48 * 3600) return fmt::format("{} h", seconds / 3600);
  return fmt::format("{} d", seconds / (24 * 3600));
}

std::string go_duration_text(io::Duration span) {
  const int64_t seconds = std::chrono::floor<io::seconds>(span).count();
  // Fractions are the same in both spellings.
  if (io::seconds{seconds} != span || seconds < 60) return io::format_duration(span);
  if (seconds < 3600) return fmt::format("{}m{}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{}m{}s", seconds / 3600, seconds / 60 % 60, seconds % 60);
}

std::string terminating_text(const kube::Pod& pod, io::Wall now) {
  if (!pod.deletion) return "evicted; its end has not been seen yet";
  const io::Duration grace = pod.deletion_grace.value_or(io::Duration::zero());
  const io::Wall begun = *pod.deletion - grace;
  std::string out = "terminating since " + span_text(now - begun);
  if (now < *pod.deletion + io::seconds{1}) {
    if (grace > io::Duration::zero()) out += " of its grace of " + span_text(grace);
    return out;
  }
  out += fmt::format(", {} beyond its grace of {}", span_text(now - *pod.deletion), span_text(grace));
  if (!pod.finalizers.empty()) out += "; " + finalizers_text(pod.finalizers);
  return out;
}

std::string budget_text(const kube::DisruptionBudget& budget, Lane::State state) {
  const std::string key = budget.key();
  switch (state) {
    case Lane::State::open:
    case Lane::State::busy:
      return "waits for its turn under budget " + key;
    case Lane::State::exhausted:
      return fmt::format("waiting for budget {}, which allows {} of {} disruptions ({} of {} healthy, {} needed)", key,
                         std::max(budget.allowed, 0), budget.expected_pods, budget.current_healthy,
                         budget.expected_pods, budget.desired_healthy);
    case Lane::State::unseen:
      return "waiting for budget " + key + " to show the evictions before it";
    case Lane::State::outdated:
      return "waiting for budget " + key + ", whose status is older than its specification";
    case Lane::State::refused:
      return "budget " + key + " has refused it; tried again when the budget changes";
    case Lane::State::missing:
      return "budget " + key + " is gone";
  }
  std::abort();
}

std::string several_text(const std::vector<const kube::DisruptionBudget*>& budgets) {
  std::vector<std::string> keys;
  for (const kube::DisruptionBudget* budget : budgets) keys.push_back(budget->key());
  if (keys.size() < 2) return "more than one budget covers it, which the eviction API does not support";
  return fmt::format("budgets {} {} cover it, which the eviction API does not support", joined(keys),
                     keys.size() == 2 ? "both" : "all");
}

std::string turn_text(size_t tier, size_t tiers, int pods) {
  if (tier > tiers) return "waits for the pods of no tier: " + pods_text(pods);
  return fmt::format("waits for tier {}: {}", tier, pods_text(pods));
}

std::string priority_turn_text(int32_t priority, int pods) {
  return fmt::format("waits for priority {}: {}", priority, pods_text(pods));
}

std::string order_turn_text(int32_t order, int pods, const std::string& by) {
  const std::string why = by.empty() ? "which a MachineDrainRule lets leave earlier" : "by " + by;
  return fmt::format("waits for order {}: {}, {}", order, pods_text(pods), why);
}

std::string setback_text(const Setback& setback, io::Steady now) {
  const std::string again = setback.retry_at > now ? "; tried again in " + span_text(setback.retry_at - now) : "";
  const std::string& cause = setback.answer.cause;
  switch (setback.answer.kind) {
    case Answer::Kind::over_budget:
      return "a disruption budget forbids it at the moment: " + cause + again;
    case Answer::Kind::several:
      return cause + "; tried again when the budgets change";
    case Answer::Kind::refused:
      return "not yet: " + cause + again;
    case Answer::Kind::not_leader:
      return cause;
    case Answer::Kind::unsure:
      return "it is not known whether the last request was carried out: " + cause + again;
    case Answer::Kind::unsupported:
    case Answer::Kind::failed:
      return "failed: " + cause + again;
    case Answer::Kind::accepted:
    case Answer::Kind::gone:
      break;
  }
  return {};
}

std::string failure_text(const kube::Pod& pod, bool deleted, const std::string& cause) {
  return fmt::format("error when {} pods/\"{}\" -n \"{}\": {}", deleted ? "deleting" : "evicting", pod.name, pod.ns,
                     cause);
}

std::string timeout_text(const kube::Pod& pod, bool evicted, io::Duration timeout) {
  if (evicted) {
    return fmt::format("error when waiting for pod \"{}\" in namespace \"{}\" to terminate: context deadline exceeded",
                       pod.name, pod.ns);
  }
  return fmt::format("error when evicting pods/\"{}\" -n \"{}\": global timeout reached: {}", pod.name, pod.ns,
                     go_duration_text(timeout));
}

}  // namespace careen::drain
