#include "controllers/profiles/drains.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "controllers/profiles/sooner.h"
#include "drain/holds.h"
#include "drain/progress.h"
#include "kube/node.h"

namespace careen::profiles {

namespace {
// More pods than this are only counted.
constexpr size_t kMostPods = 4;

bool is_leaving(const drain::PodProgress& pod) {
  return pod.stage == drain::Stage::terminating || pod.stage == drain::Stage::completing;
}

bool is_held(const drain::PodProgress& pod) {
  return pod.stage == drain::Stage::blocked || pod.stage == drain::Stage::failed;
}

// The pods that hold a drain back come first.
std::string list(const std::vector<const drain::PodProgress*>& pods) {
  std::string text;
  size_t listed = 0;
  for (const bool held : {true, false}) {
    for (const drain::PodProgress* const pod : pods) {
      if (is_held(*pod) != held || listed == kMostPods) continue;
      const std::string_view reason = pod->reason.empty() ? name_of(pod->stage) : std::string_view(pod->reason);
      text += fmt::format("{}{}/{}: {}", listed++ == 0 ? "" : "; ", pod->ns, pod->name, reason);
    }
  }
  if (pods.size() > listed) text += fmt::format("; and {} more", pods.size() - listed);
  return text;
}
}  // namespace

std::string holder_name(std::string_view profile) { return std::string(kHoldPrefix).append(profile); }
std::string beginner_name(std::string_view profile) { return holder_name(profile).append("/begun"); }

bool has_cordoned(const kube::Node& node, std::string_view owner) {
  if (!node.unschedulable || !node.annotation(drain::kHoldsAnnotation)) return false;
  const drain::Holds holds = drain::holds_of(node);
  const auto hold = holds.by_owner.find(owner);
  return hold != holds.by_owner.end() && hold->second.items.cordon;
}

bool has_begun(const kube::Node& node) {
  if (!node.annotation(drain::kHoldsAnnotation)) return false;
  const drain::Holds holds = drain::holds_of(node);
  return std::any_of(holds.by_owner.begin(), holds.by_owner.end(), is_begun);
}

bool is_begun(const std::pair<const std::string, drain::Hold>& hold) {
  return hold.second.begun && hold.first.starts_with(kHoldPrefix);
}

std::string describe(const drain::Progress& progress) {
  std::vector<const drain::PodProgress*> pods;
  for (const drain::PodProgress& pod : progress.pods) pods.push_back(&pod);
  if (pods.empty()) return "no pod is left; a fresh list has to show it";
  std::string text = fmt::format("{} of {} pods left: {}", pods.size(),
                                 std::max<size_t>(progress.pods_to_evict, pods.size()), list(pods));
  for (const std::string& line : progress.left_alone) text += "; " + line;
  return text;
}

Overdue overdue(const drain::Progress& progress, const DrainLimits& limits, io::Wall now) {
  std::vector<const drain::PodProgress*> staying, ending;
  Overdue result;
  const auto is_over = [&](io::Wall since, io::Duration limit) {
    const io::Wall end = io::add(since, limit);
    if (end <= now) return true;
    sooner(result.look_at, end);
    return false;
  };
  for (const drain::PodProgress& pod : progress.pods) {
    const io::Wall tried_since = io::add(progress.begun, progress.paused);
    if (!is_leaving(pod) && is_over(tried_since, limits.eviction)) staying.push_back(&pod);
    if (is_leaving(pod) && is_over(pod.since, limits.deletion)) ending.push_back(&pod);
  }
  // A pod that is evicted later is looked at in time.
  if (limits.deletion > io::Duration{0}) sooner(result.look_at, io::add(now, limits.deletion));
  if (!staying.empty()) {
    result.what = fmt::format("{} pods could not be evicted within {}: {}", staying.size(),
                              io::format_duration(limits.eviction), list(staying));
  }
  if (!ending.empty()) {
    result.what += fmt::format("{}{} pods did not end within {}: {}", result.what.empty() ? "" : "; ", ending.size(),
                               io::format_duration(limits.deletion), list(ending));
  }
  return result;
}

}  // namespace careen::profiles
