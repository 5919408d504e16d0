#include "limits/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "drain/holds.h"
#include "io/printable.h"
#include "kube/node.h"

namespace careen::limits {

namespace {

using Kind = Fact::Kind;

constexpr std::string_view kFailure = "failure";
constexpr std::string_view kNobodyKnown = "unknown";
constexpr std::string_view kKuredAnnotation = "weave.works/kured-reboot-in-progress";
constexpr std::string_view kUnreachable = "node.kubernetes.io/unreachable";
constexpr std::string_view kReadinessPrefix = "readiness.k8s.io/";
constexpr std::string_view kToBeDeleted = "ToBeDeletedByClusterAutoscaler";
// Of conditions that careen's own NodeMaintenances write.
constexpr std::string_view kOwnReason = "NodeMaintenance";
constexpr std::string_view kOwnPrefix = "nodemaintenance/";
constexpr std::string_view kProfileOwner = "profile/";
constexpr std::string_view kBegunSuffix = "/begun";
// Taints by which a node is kept from serving at its start can be forgotten; after so long they are.
constexpr io::Duration kStartsWithin = io::hours{1};
constexpr size_t kLongestText = 128;

struct KnownTaint {
  std::string_view key, actor;
  bool announces = false;  // whatever its effect
};
constexpr KnownTaint kTaints[] = {
    {"karpenter.sh/disrupted", "karpenter"},
    {"karpenter.sh/rebooting", "karpenter"},
    {kToBeDeleted, "cluster-autoscaler"},
    {"medik8s.io/drain", "medik8s"},
    {"node.kubernetes.io/out-of-service", "out-of-service"},
    {"remediator.kubernetes.azure.com/unschedulable", "aks"},
    {"DeletionCandidateOfClusterAutoscaler", "cluster-autoscaler", true},
    {"node.cluster.x-k8s.io/outdated-revision", "cluster-api", true},
};

constexpr std::string_view kWorkConditions[] = {"DrainInProgress", "Drained", "MaintenanceInProgress",
                                                "GracefulNodeShutdownInProgress"};

std::optional<io::Wall> known_time(io::Wall time) { return time == io::Wall{} ? std::nullopt : std::optional(time); }

bool has_status(const kube::NodeCondition* condition, std::string_view status) {
  return condition && condition->status == status;
}

bool keeps_pods_away(const kube::Taint& taint) {
  return taint.effect == std::string_view("NoSchedule") || taint.effect == std::string_view("NoExecute");
}

// The autoscaler writes the second at which it was put there as its value.
std::optional<io::Wall> time_of(const kube::Taint& taint) {
  if (const auto added = io::parse_rfc3339(taint.time_added.view())) return added;
  if (taint.key != kToBeDeleted) return std::nullopt;
  const std::string_view text = taint.value.view();
  uint32_t second = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), second);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return io::Wall{io::seconds{second}};
}

std::vector<Fact> in_order(std::vector<Fact> facts) {
  std::vector<Fact> out;
  out.reserve(facts.size());
  for (Fact& fact : facts) add_in_order(out, std::move(fact));
  return out;
}

class Survey {
 public:
  Survey(const kube::Node& node, const std::vector<CountedTaint>& taints)
      : node_(node), more_taints_(taints), holds_(drain::holds_of(node)) {}

  std::vector<Fact> facts() && {
    add_holds();
    add_cordon();
    add_taints();
    add_readiness();
    add_conditions();
    return in_order(std::move(facts_));
  }

 private:
  void add(Kind kind, std::string_view actor, std::string what, std::optional<io::Wall> since) {
    Fact fact;
    fact.kind = kind;
    fact.actor = actor;
    fact.what = std::move(what);
    fact.since = since;
    facts_.push_back(std::move(fact));
  }

  // Of owners that hold a label only, nothing is out. A profile may keep a node cordoned that it does not work on.
  void add_holds() {
    for (const auto& [owner, hold] : holds_.by_owner) {
      if (!hold.items.cordon && hold.items.taints.empty()) continue;
      std::string_view actor = owner;
      const bool profile = actor.starts_with(kProfileOwner);
      if (profile && actor.ends_with(kBegunSuffix)) actor.remove_suffix(kBegunSuffix.size());
      add(profile ? Kind::out : Kind::working, actor, hold.items.cordon && node_.unschedulable ? "cordoned" : "held",
          known_time(hold.since));
      facts_.back().own = true;
    }
  }

  bool is_held_cordon() const {
    return std::any_of(holds_.by_owner.begin(), holds_.by_owner.end(),
                       [](const auto& entry) { return entry.second.items.cordon; });
  }
  // What was there before the first hold, or has a value, is somebody else's.
  bool is_held(const kube::Taint& taint) const {
    const drain::BareTaint bare{std::string(taint.key.view()), std::string(taint.effect.view())};
    const auto has = [&](const drain::Items& items) {
      return std::find(items.taints.begin(), items.taints.end(), bare) != items.taints.end();
    };
    return taint.value.empty() && !has(holds_.before) &&
           std::any_of(holds_.by_owner.begin(), holds_.by_owner.end(),
                       [&](const auto& entry) { return has(entry.second.items); });
  }

  void add_cordon() {
    const bool foreign = node_.unschedulable && (!is_held_cordon() || holds_.before.cordon);
    const std::string* const kured = node_.annotation(kKuredAnnotation);
    if (kured && foreign) {
      add(Kind::working, kKuredActor, "reboots", io::parse_rfc3339(*kured));
    } else if (kured) {
      // Nodes that wait for kured's lock have the annotation too.
      add(Kind::plan, kKuredActor, "wants to reboot", io::parse_rfc3339(*kured));
    }
    const std::string_view by = node_.cordoned_by.view();
    if (!foreign || (kured && (by.empty() || by == kKuredActor))) return;
    add(Kind::out, by.empty() ? std::string(kNobodyKnown) : shown_stranger(by), "cordoned", known_time(node_.cordoned));
    facts_.back().cordon = true;
  }

  void add_taints() {
    for (const KnownTaint& known : kTaints) add_taint(known);
    for (const CountedTaint& known : more_taints_) add_taint({known.key, known.actor});
  }
  void add_taint(const KnownTaint& known) {
    std::optional<Fact> fact;
    for (const kube::Taint& taint : node_.taints) {
      if (taint.key != known.key || is_held(taint)) continue;
      const bool works = keeps_pods_away(taint) && !known.announces;
      // Once a key, whatever its effects.
      if (fact && (!works || fact->kind == Kind::working)) continue;
      fact.emplace();
      fact->kind = works ? Kind::working : Kind::plan;
      fact->actor = known.actor;
      fact->what = fmt::format("taint {}", known.key);
      fact->since = time_of(taint);
    }
    if (fact) facts_.push_back(std::move(*fact));
  }

  void add_readiness() {
    const kube::NodeCondition* const ready = node_.condition("Ready");
    if (!has_status(ready, "True")) {
      const std::string_view what = !ready                                         ? "no condition Ready"
                                    : ready->status == std::string_view("Unknown") ? "not heard of"
                                                                                   : "not ready";
      return add(Kind::down, kFailure, std::string(what), ready ? known_time(ready->since) : std::nullopt);
    }
    for (const kube::Taint& taint : node_.taints) {
      if (!keeps_pods_away(taint)) continue;
      const bool starts = taint.key.view().starts_with(kReadinessPrefix);
      if (!starts && taint.key != kUnreachable) continue;
      add(Kind::down, kFailure, "taint " + shown_stranger(taint.key.view()), time_of(taint));
      if (!starts) return;
      const io::Wall ready_since = ready->since == io::Wall{} ? node_.created : ready->since;
      facts_.back().until = io::add(ready_since, kStartsWithin);
      return;
    }
  }

  bool is_in_own_maintenance() const {
    const auto first = holds_.by_owner.lower_bound(kOwnPrefix);
    return first != holds_.by_owner.end() && first->first.starts_with(kOwnPrefix);
  }
  void add_condition(const kube::NodeCondition& condition, Kind kind) {
    if (condition.status != std::string_view("True")) return;
    if (condition.reason == kOwnReason && is_in_own_maintenance()) return;
    const std::string_view by =
        condition.reason.empty() ? node_.condition_manager(condition.type.view()) : condition.reason.view();
    const std::string actor = by.empty() ? std::string(kNobodyKnown) : shown_stranger(by);
    // Several of them tell of the same work.
    const auto same = [&](const Fact& fact) { return fact.kind == kind && fact.actor == actor && !fact.own; };
    if (std::any_of(facts_.begin(), facts_.end(), same)) return;
    add(kind, actor, fmt::format("condition {}", condition.type.view()), known_time(condition.since));
  }
  void add_conditions() {
    for (const std::string_view type : kWorkConditions) {
      if (const auto* const condition = node_.condition(type)) add_condition(*condition, Kind::working);
    }
    if (const auto* const planned = node_.condition("MaintenancePlanned")) add_condition(*planned, Kind::plan);
  }

  const kube::Node& node_;
  const std::vector<CountedTaint>& more_taints_;
  const drain::Holds holds_;
  std::vector<Fact> facts_;
};

}  // namespace

// Without half a character at its end.
std::string shown_stranger(std::string_view text) {
  if (text.size() > kLongestText) {
    text = text.substr(0, kLongestText);
    while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.remove_suffix(1);
    if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0x80) text.remove_suffix(1);
  }
  return io::printable(text);
}

// Whoever came first, first; those of whom it is not known, last.
void add_in_order(std::vector<Fact>& facts, Fact fact) {
  const auto began = [](const Fact& one) { return one.since.value_or(io::Wall::max()); };
  const auto earlier = [&](const Fact& a, const Fact& b) { return began(a) < began(b); };
  facts.insert(std::upper_bound(facts.begin(), facts.end(), fact, earlier), std::move(fact));
}

std::optional<CountedTaint> parse_counted_taint(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) return std::nullopt;
  CountedTaint taint{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
  if (shown_stranger(taint.actor) != taint.actor || taint.actor.find('=') != std::string::npos) return std::nullopt;
  return taint;
}

std::vector<Fact> facts_of(const kube::Node& node, const std::vector<CountedTaint>& taints) {
  return Survey(node, taints).facts();
}

bool is_not_ready(const kube::Node& node, bool only_false) {
  const kube::NodeCondition* const ready = node.condition("Ready");
  return only_false ? has_status(ready, "False") : !has_status(ready, "True");
}

}  // namespace careen::limits
