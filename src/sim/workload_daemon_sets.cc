#include <algorithm>
#include <map>
#include <utility>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

constexpr std::string_view kDaemonSets = "/apis/apps/v1/daemonsets";

// What a node may suffer from without its daemons leaving.
void tolerate_trouble(json::object& spec) {
  json::value& list = spec["tolerations"];
  if (!list.is_array()) list.emplace_array();
  const auto add = [&](std::string_view key, std::string_view effect) {
    json::value toleration = {{"key", key}, {"operator", "Exists"}, {"effect", effect}};
    json::array& known = list.get_array();
    if (std::find(known.begin(), known.end(), toleration) == known.end()) known.push_back(std::move(toleration));
  };
  add("node.kubernetes.io/not-ready", "NoExecute");
  add("node.kubernetes.io/unreachable", "NoExecute");
  add("node.kubernetes.io/disk-pressure", "NoSchedule");
  add("node.kubernetes.io/memory-pressure", "NoSchedule");
  add("node.kubernetes.io/pid-pressure", "NoSchedule");
  add("node.kubernetes.io/unschedulable", "NoSchedule");
  if (const json::value* host = spec.if_contains("hostNetwork"); host && *host == json::value(true)) {
    add("node.kubernetes.io/network-unavailable", "NoSchedule");
  }
}

// It is for that node and no other, whatever its own affinity asks.
void aim_at(json::object& spec, const std::string& node) {
  const json::value term = {
      {"matchFields", {{{"key", "metadata.name"}, {"operator", "In"}, {"values", json::array{json::value(node)}}}}}};
  json::object& affinity = object_at(object_at(spec, "affinity"), "nodeAffinity");
  affinity["requiredDuringSchedulingIgnoredDuringExecution"] = {{"nodeSelectorTerms", json::array{term}}};
}

std::string target_of(const json::value& pod) {
  const std::string_view bound = text_at(pod, {"spec", "nodeName"});
  if (!bound.empty()) return std::string(bound);
  const json::value* affinity = member(pod.at("spec"), "affinity");
  if (!affinity) return "";
  json::error_code failed;
  const json::value* name = affinity->find_pointer(
      "/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0",
      failed);
  return name && name->is_string() ? std::string(name->get_string()) : "";
}

// A DaemonSet and its pods at one look.
class Daemons {
 public:
  Daemons(WorkloadWorld& world, const json::value& set)
      : world_(world), set_(set), hash_(template_hash(set.at("spec").at("template"))), spec_(pod_spec()) {
    read();
  }
  Again tend();

 private:
  json::value pod_spec() const;
  void read();
  void make(const std::string& node, Again& again);
  void settle(const std::string& node, const NodeFacts& facts, Again& again);
  void renew(Again& again);
  void write_status(Again& again);
  bool shall_run(const NodeFacts& node) const {
    return selects(spec_, node) && !untolerated(spec_, node, {"NoSchedule", "NoExecute"});
  }
  bool may_stay(const NodeFacts& node) const {
    return selects(spec_, node) && !untolerated(spec_, node, {"NoExecute"});
  }
  bool is_current(const json::value& pod) const { return text_at(labels_of(pod), kRevisionHashLabel) == hash_; }
  bool available(const json::value& pod, Again& again) const {
    return is_active(pod) && is_available(pod, spec_number(set_, "minReadySeconds", 0), world_.now(), again);
  }
  void remove(const json::value& pod) {
    if (is_terminating(pod)) return;
    world_.remove(path_of(kPodsPath, pod), uid_of(pod));
    outdated_ = true;
  }

  WorkloadWorld& world_;
  const json::value& set_;
  const std::string hash_;                                // of the template of today
  const json::value spec_;                                // of its pods, but for the node
  std::map<std::string, std::vector<json::value>> pods_;  // by node
  bool outdated_ = true;                                  // what is known of the pods
};

json::value Daemons::pod_spec() const {
  json::value spec = set_.at("spec").at("template").at("spec");
  tolerate_trouble(spec.get_object());
  return spec;
}

void Daemons::read() {
  if (!std::exchange(outdated_, false)) return;
  pods_.clear();
  for (json::value& pod : world_.dependents(kPodsPath, uid_of(set_))) {
    std::string node = target_of(pod);
    pods_[std::move(node)].push_back(std::move(pod));
  }
}

void Daemons::make(const std::string& node, Again& again) {
  json::value pod = pod_from_template(set_, "apps/v1", "DaemonSet");
  pod.at("spec") = spec_;
  aim_at(pod.at("spec").get_object(), node);
  json::object& labels = object_at(pod.at("metadata").get_object(), "labels");
  labels[kRevisionHashLabel] = hash_;
  const std::string_view generation =
      text_at(set_, {"metadata", "annotations", "deprecated.daemonset.template.generation"});
  if (!generation.empty()) labels["pod-template-generation"] = generation;
  if (!world_.create(collection_in(kPodsPath, namespace_of(set_)), pod)) sooner(again, kRetryCreation);
  outdated_ = true;
}

// One pod where one should be, none where none may stay.
void Daemons::settle(const std::string& node, const NodeFacts& facts, Again& again) {
  const auto known = pods_.find(node);
  const bool wanted = shall_run(facts);
  bool has_one = false;
  if (known != pods_.end()) {
    for (const json::value& pod : known->second) {
      const bool stays = is_active(pod) && may_stay(facts) && !has_one;
      // A pod that is still going keeps the place.
      if (!stays) remove(pod);
      has_one = true;
    }
  }
  if (wanted && !has_one) make(node, again);
}

// Pods of older templates are replaced, no more at once than may be missing.
void Daemons::renew(Again& again) {
  if (text_at(set_, {"spec", "updateStrategy", "type"}) == "OnDelete") return;
  int64_t wanted = 0, missing = 0;
  std::vector<const json::value*> old;
  for (const auto& [node, facts] : world_.nodes()) {
    if (!shall_run(facts)) continue;
    ++wanted;
    const auto known = pods_.find(node);
    const json::value* pod = known == pods_.end() || known->second.empty() ? nullptr : &known->second.front();
    const bool up = pod && available(*pod, again);
    missing += up ? 0 : 1;
    if (pod && !is_current(*pod) && is_active(*pod)) old.push_back(pod);
  }
  const json::value* given = find(set_, {"spec", "updateStrategy", "rollingUpdate", "maxUnavailable"});
  const int64_t most = std::max<int64_t>(1, scaled(given, wanted, true, 1));
  for (const json::value* pod : old) {
    const bool up = available(*pod, again);
    if (up && missing >= most) continue;
    remove(*pod);
    missing += up ? 1 : 0;
  }
}

void Daemons::write_status(Again& again) {
  int64_t desired = 0, current = 0, misplaced = 0, ready = 0, updated = 0, up = 0;
  for (const auto& [node, facts] : world_.nodes()) {
    const auto known = pods_.find(node);
    const bool has = known != pods_.end() && !known->second.empty();
    if (!shall_run(facts)) {
      misplaced += has ? 1 : 0;
      continue;
    }
    ++desired;
    if (!has) continue;
    ++current;
    const json::value& pod = known->second.front();
    ready += is_ready(pod) && is_active(pod) ? 1 : 0;
    up += available(pod, again) ? 1 : 0;
    updated += is_current(pod) ? 1 : 0;
  }
  json::object status{{"currentNumberScheduled", current},
                      {"numberMisscheduled", misplaced},
                      {"desiredNumberScheduled", desired},
                      {"numberReady", ready},
                      {"observedGeneration", generation_of(set_)}};
  if (updated > 0) status["updatedNumberScheduled"] = updated;
  if (up > 0) status["numberAvailable"] = up;
  if (desired > up) status["numberUnavailable"] = desired - up;
  world_.write_status(path_of(kDaemonSets, set_), set_, status);
}

Again Daemons::tend() {
  Again again;
  if (!is_terminating(set_)) {
    for (const auto& [node, facts] : world_.nodes()) settle(node, facts, again);
    read();
    renew(again);
    read();
  }
  write_status(again);
  return again;
}

}  // namespace

Again tend_daemon_set(WorkloadWorld& world, const json::value& set) { return Daemons(world, set).tend(); }

}  // namespace careen::sim
