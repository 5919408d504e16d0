#include "turnstile/levers.h"

#include <utility>

#include "limits/facts.h"

namespace careen::turnstile {

using kube::Json;
using kube::JsonView;

namespace {

struct Lever {
  Governor governor;
  Governed what;
  const char* key;
  const char* value;
};

constexpr Lever kLevers[] = {
    {Governor::karpenter, Governed::node, "karpenter.sh/do-not-disrupt", "true"},
    {Governor::karpenter, Governed::node, "karpenter.sh/do-not-repair", "true"},
    {Governor::cluster_autoscaler, Governed::node, "cluster-autoscaler.kubernetes.io/scale-down-disabled", "true"},
    // As kured writes it itself: a lock that does not run out, of a node that nobody has.
    {Governor::kured, Governed::daemon_set, limits::kKuredLock,
     R"({"nodeID":"careen.dev","metadata":{"unschedulable":false},"created":"2000-01-01T00:00:00Z","TTL":0})"},
    {Governor::cluster_api, Governed::machine, "pre-drain.delete.hook.machine.cluster.x-k8s.io/careen", "careen"},
    {Governor::cluster_api, Governed::machine, "cluster.x-k8s.io/skip-remediation", "careen"},
    {Governor::cluster_api, Governed::cluster, "before-upgrade.hook.cluster.cluster.x-k8s.io/careen", "careen"}};

constexpr std::pair<std::string_view, Governor> kNames[] = {{"karpenter", Governor::karpenter},
                                                            {"karpenterNodePool", Governor::karpenter_node_pool},
                                                            {"clusterAutoscaler", Governor::cluster_autoscaler},
                                                            {"kured", Governor::kured},
                                                            {"clusterAPI", Governor::cluster_api}};

constexpr std::string_view kBudgets = "spec.disruption.budgets";

// What was pulled. One that is no record was not written by careen, and says nothing.
Json record_in(const Annotations& annotations) {
  const auto text = annotations.find(kGovernedKey);
  auto record = text == annotations.end() ? io::fail(io::ErrorKind::invalid, "") : Json::parse(text->second);
  return record && record->view().is_object() ? std::move(*record) : Json::object();
}

bool has(JsonView object, std::string_view key) {
  bool found = false;
  object.for_each_member([&](std::string_view name, JsonView) { found = found || name == key; });
  return found;
}

Json text_of(const Json& record) {
  bool empty = true;
  record.view().for_each_member([&](std::string_view, JsonView) { empty = false; });
  return empty ? Json() : Json(record.dump());
}

}  // namespace

std::optional<Governor> governor_of(std::string_view name) {
  for (const auto& [known, governor] : kNames) {
    if (known == name) return governor;
  }
  return std::nullopt;
}

std::string_view name_of(Governor governor) {
  for (const auto& [name, known] : kNames) {
    if (known == governor) return name;
  }
  return "";
}

std::map<std::string, std::string> levers_of(const std::set<Governor>& governors, Governed what) {
  std::map<std::string, std::string> levers;
  for (const Lever& lever : kLevers) {
    if (lever.what == what && governors.contains(lever.governor)) levers[lever.key] = lever.value;
  }
  return levers;
}

std::optional<Json> pull(const Annotations& annotations, const std::map<std::string, std::string>& wanted,
                         Governed what) {
  Json record = record_in(annotations);
  Json change = Json::object();
  bool changed = false;
  for (const Lever& lever : kLevers) {
    if (lever.what != what) continue;
    const auto there = annotations.find(lever.key);
    const bool pulled = has(record.view(), lever.key);
    if (wanted.contains(lever.key)) {
      if (there != annotations.end()) continue;
      change.set({lever.key}, lever.value);
      record.set({lever.key}, Json());
      changed = true;
    } else if (pulled) {
      if (there != annotations.end() && there->second == lever.value) change.set({lever.key}, Json());
      record.remove({lever.key});
      changed = true;
    }
  }
  if (!changed) return std::nullopt;
  change.set({kGovernedKey}, text_of(record));
  return change;
}

std::optional<Json> pull_node_pool(JsonView pool, bool hold) {
  Annotations annotations;
  pool["metadata"]["annotations"].for_each_member(
      [&](std::string_view key, JsonView value) { annotations[std::string(key)] = value.text().value_or(""); });
  Json record = record_in(annotations);
  const bool held = has(record.view(), kBudgets);
  if (held == hold) return std::nullopt;
  const Json entry = Json::object({{"nodes", "0"}});
  Json budgets = Json::array();
  bool there = false;
  pool["spec"]["disruption"]["budgets"].for_each_element([&](JsonView one) {
    const bool ours = !there && one == entry.view();
    there = there || ours;
    if (hold || !ours) budgets.push_back(Json(one));
  });
  // The user's own entry that allows nothing stays the user's.
  if (hold && there) return std::nullopt;
  if (hold) {
    budgets.push_back(entry);
    record.set({kBudgets}, entry);
  } else {
    record.remove({kBudgets});
  }
  return Json::object({{"metadata", Json::object({{"annotations", Json::object({{kGovernedKey, text_of(record)}})}})},
                       {"spec", Json::object({{"disruption", Json::object({{"budgets", std::move(budgets)}})}})}});
}

}  // namespace careen::turnstile
