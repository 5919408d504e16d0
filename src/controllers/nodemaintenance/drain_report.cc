#include "controllers/nodemaintenance/drain_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

namespace careen::nodemaintenance {

using drain::PodProgress;
using drain::Progress;

namespace {

// A pod that has been terminating for this long is worth a word: that is how long the original waits before it
// complains.
constexpr io::Duration kPatience = io::seconds{30};
constexpr size_t kMostNamed = 10;

bool is_held_back(const PodProgress& pod) {
  return pod.stage == drain::Stage::blocked || pod.stage == drain::Stage::failed;
}

// Evicted long ago, and still there.
bool is_stuck(const PodProgress& pod, io::Wall now) {
  return pod.stage == drain::Stage::terminating && now - pod.since >= kPatience;
}

// Its reason contains the seconds, and would have the status rewritten each time somebody looks.
std::string why_stuck(const PodProgress& pod) {
  const std::string held = pod.finalizers.empty() ? "" : "; finalizers that hold it: " + pod.finalizers;
  return "still there after " + io::format_duration(kPatience) + held;
}

// The server's own words do not change while nothing happens.
const std::string& why_held_back(const PodProgress& pod) { return pod.cause.empty() ? pod.reason : pod.cause; }

std::string joined(std::vector<std::string> parts, std::string_view separator) {
  const size_t more = parts.size() > kMostNamed ? parts.size() - kMostNamed : 0;
  if (more > 0) {
    parts.resize(kMostNamed);
    parts.push_back(fmt::format("and {} more", more));
  }
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string error_of(const PodProgress& pod, io::Wall now) {
  if (is_held_back(pod)) {
    return fmt::format("error when evicting pods/\"{}\" -n \"{}\": {}", pod.name, pod.ns, why_held_back(pod));
  }
  if (!is_stuck(pod, now)) return {};
  return fmt::format("error when waiting for pod \"{}\" in namespace \"{}\" to terminate: {}", pod.name, pod.ns,
                     why_stuck(pod));
}

// Of the pods that something holds back, those of one budget together.
std::string blocked_text(const Progress& progress, io::Wall now) {
  std::map<std::string, std::vector<std::string>> by_budget;
  std::vector<std::string> out;
  for (const PodProgress& pod : progress.pods) {
    const std::string name = pod.ns + "/" + pod.name;
    if (is_stuck(pod, now)) out.push_back(fmt::format("pod {}: {}", name, why_stuck(pod)));
    if (!is_held_back(pod)) continue;
    if (pod.budget.empty()) {
      out.push_back(fmt::format("pod {}: {}", name, why_held_back(pod)));
    } else {
      by_budget[pod.budget].push_back(name);
    }
  }
  for (auto& [budget, pods] : by_budget) {
    const bool several = budget.find(',') != std::string::npos;
    const std::string names = joined(std::move(pods), ", ");
    out.push_back(several ? fmt::format("disruption budgets {} all cover {}, which the eviction API does not support",
                                        budget, names)
                          : fmt::format("disruption budget {} holds back {}", budget, names));
  }
  return joined(std::move(out), "; ");
}

void report_blocked(Status& status, const Progress& progress, io::Wall now) {
  if (progress.phase == Progress::Phase::refused || progress.phase == Progress::Phase::failed) {
    return set_condition(status, kBlocked, true, "DrainRefused", joined(progress.errors, "; "), now);
  }
  const auto by_budget = [](const PodProgress& pod) { return is_held_back(pod) && !pod.budget.empty(); };
  if (std::any_of(progress.pods.begin(), progress.pods.end(), by_budget)) {
    return set_condition(status, kBlocked, true, "DisruptionBudget", blocked_text(progress, now), now);
  }
  if (std::any_of(progress.pods.begin(), progress.pods.end(), is_held_back)) {
    return set_condition(status, kBlocked, true, "EvictionRefused", blocked_text(progress, now), now);
  }
  if (std::any_of(progress.pods.begin(), progress.pods.end(), [now](const auto& pod) { return is_stuck(pod, now); })) {
    return set_condition(status, kBlocked, true, "PodDoesNotEnd", blocked_text(progress, now), now);
  }
  set_condition(status, kBlocked, false, "NothingBlocks", "", now);
}

// Only where nobody counted before it began: the numbers stay what they were then, whoever comes since.
void take_counts(Status& status, const Progress& progress) {
  if (status.eviction_pods != 0 || status.total_pods != 0) return;
  status.eviction_pods = progress.pods_to_evict;
  status.total_pods = progress.total_pods;
}

}  // namespace

void set_condition(Status& status, std::string_view type, bool holds, std::string reason, std::string message,
                   io::Wall now) {
  const auto known = std::find_if(status.conditions.begin(), status.conditions.end(),
                                  [&](const Condition& one) { return one.type == type; });
  Condition wanted{std::string(type), holds, std::move(reason), std::move(message),
                   std::chrono::floor<io::seconds>(now)};
  if (known == status.conditions.end()) {
    status.conditions.push_back(std::move(wanted));
    return;
  }
  if (known->holds == holds) wanted.since = known->since;
  *known = std::move(wanted);
}

std::string drain_error(const Progress& progress, io::Wall now) {
  std::vector<std::string> errors = progress.errors;
  for (const PodProgress& pod : progress.pods) {
    std::string error = error_of(pod, now);
    if (!error.empty()) errors.push_back(std::move(error));
  }
  if (errors.size() == 1) return errors.front();
  return errors.empty() ? std::string() : "[" + joined(std::move(errors), ", ") + "]";
}

std::optional<io::Wall> next_complaint(const Progress& progress, io::Wall now) {
  std::optional<io::Wall> next;
  for (const PodProgress& pod : progress.pods) {
    const io::Wall when = pod.since + kPatience;
    if (pod.stage == drain::Stage::terminating && when > now && (!next || when < *next)) next = when;
  }
  return next;
}

void report_draining(Status& status, const Progress& progress, io::Wall now) {
  status.pending.clear();
  for (const PodProgress& pod : progress.pods) status.pending.push_back({pod.ns, pod.name});
  take_counts(status, progress);
  const int64_t all = status.eviction_pods, left = static_cast<int64_t>(status.pending.size());
  status.progress = all == 0 ? 0 : std::clamp<int64_t>((all - left) * 100 / all, 0, 100);
  status.last_error = drain_error(progress, now);
  set_condition(status, kDrained, false, "Draining",
                fmt::format("{} of {} pods have left", std::max<int64_t>(0, all - left), all), now);
  report_blocked(status, progress, now);
}

void report_drained(Status& status, const Progress& progress, io::Wall now) {
  take_counts(status, progress);
  status.pending.clear();
  status.progress = 100;
  status.last_error.clear();
  set_condition(status, kDrained, true, "AllPodsLeft", joined(progress.left_alone, "; "), now);
  set_condition(status, kBlocked, false, "NothingBlocks", "", now);
}

void report_obstacle(Status& status, std::string reason, const std::string& message, io::Wall now) {
  status.last_error = message;
  if (!status.condition(kDrained)) set_condition(status, kDrained, false, reason, "", now);
  set_condition(status, kBlocked, true, std::move(reason), message, now);
}

}  // namespace careen::nodemaintenance
