#include <algorithm>
#include <charconv>
#include <map>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

constexpr std::string_view kStatefulSets = "/apis/apps/v1/statefulsets";

// name-3 of the set name: 3. Nothing for names that are none of its pods.
std::optional<int64_t> ordinal_of(const json::value& pod, const json::value& set) {
  const std::string prefix = std::string(name_of(set)) + "-";
  const std::string_view name = name_of(pod);
  if (!name.starts_with(prefix)) return std::nullopt;
  int64_t number = 0;
  const auto parsed = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return parsed.ec == std::errc() && parsed.ptr == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

// A StatefulSet and its pods at one look.
class Series {
 public:
  Series(WorkloadWorld& world, const json::value& set)
      : world_(world),
        set_(set),
        revision_(std::string(name_of(set)) + "-" + template_hash(set.at("spec").at("template"))),
        first_(integer_at(set, {"spec", "ordinals", "start"}).value_or(0)),
        end_(first_ + spec_number(set, "replicas", 1)),
        in_order_(text_at(set, {"spec", "podManagementPolicy"}) != "Parallel") {
    for (json::value& pod : world.dependents(kPodsPath, uid_of(set))) {
      if (const auto ordinal = ordinal_of(pod, set)) pods_.emplace(*ordinal, std::move(pod));
    }
  }

  void tend() {
    if (is_terminating(set_) || !fill() || !shrink()) return;
    renew();
  }
  Again write_status();

 private:
  void make(int64_t ordinal);
  bool fill();
  bool shrink();
  void renew();
  bool is_current(const json::value& pod) const { return text_at(labels_of(pod), kRevisionHashLabel) == revision_; }
  void remove(const json::value& pod) { world_.remove(path_of(kPodsPath, pod), uid_of(pod)); }

  WorkloadWorld& world_;
  const json::value& set_;
  const std::string revision_;  // of the template of today
  const int64_t first_, end_;
  const bool in_order_;
  std::map<int64_t, json::value> pods_;
};

void Series::make(int64_t ordinal) {
  json::value pod = pod_from_template(set_, "apps/v1", "StatefulSet");
  const std::string name = std::string(name_of(set_)) + "-" + std::to_string(ordinal);
  json::object& meta = pod.at("metadata").get_object();
  meta["name"] = name;
  json::object& labels = object_at(meta, "labels");
  labels["apps.kubernetes.io/pod-index"] = std::to_string(ordinal);
  labels[kRevisionHashLabel] = revision_;
  labels["statefulset.kubernetes.io/pod-name"] = name;
  json::object& spec = pod.at("spec").get_object();
  spec["hostname"] = name;
  if (const std::string_view service = text_at(set_, {"spec", "serviceName"}); !service.empty()) {
    spec["subdomain"] = service;
  }
  world_.create(collection_in(kPodsPath, namespace_of(set_)), pod);
}

// Whether all pods that should exist do and are ready; in order means one after the other.
bool Series::fill() {
  bool whole = true;
  int64_t made = 0;
  // The pods that are made lead to the next look.
  for (int64_t ordinal = first_; ordinal < end_ && made < kMostPodsAtOnce; ++ordinal) {
    const auto known = pods_.find(ordinal);
    const bool there = known != pods_.end();
    if (there && is_ready(known->second) && is_active(known->second)) continue;
    whole = false;
    // A name is free again when the old pod is gone, not before.
    if (!there) {
      make(ordinal);
      ++made;
    }
    if (there && has_ended(known->second) && !is_terminating(known->second)) remove(known->second);
    if (in_order_) return false;
  }
  return whole;
}

// Whether nothing is too much; the last goes first.
bool Series::shrink() {
  bool done = true;
  for (auto at = pods_.rbegin(); at != pods_.rend(); ++at) {
    if (at->first >= first_ && at->first < end_) continue;
    done = false;
    if (!is_terminating(at->second)) remove(at->second);
    if (in_order_) return false;
  }
  return done;
}

// One pod of an older template at a time, from the last on.
void Series::renew() {
  if (text_at(set_, {"spec", "updateStrategy", "type"}) == "OnDelete") return;
  const int64_t partition = integer_at(set_, {"spec", "updateStrategy", "rollingUpdate", "partition"}).value_or(0);
  for (auto at = pods_.rbegin(); at != pods_.rend() && at->first >= partition; ++at) {
    if (is_current(at->second)) continue;
    if (!is_terminating(at->second)) remove(at->second);
    return;
  }
}

Again Series::write_status() {
  Again again;
  int64_t replicas = 0, ready = 0, available = 0, updated = 0;
  for (const json::value& pod : world_.dependents(kPodsPath, uid_of(set_))) {
    ++replicas;
    if (is_terminating(pod)) continue;
    updated += is_current(pod) ? 1 : 0;
    ready += is_ready(pod) ? 1 : 0;
    available += is_available(pod, spec_number(set_, "minReadySeconds", 0), world_.now(), again) ? 1 : 0;
  }
  std::string current(text_at(set_, {"status", "currentRevision"}));
  const bool complete = updated == replicas && ready == replicas && replicas == end_ - first_;
  if (current.empty() || complete) current = revision_;
  const int64_t of_current = current == revision_ ? updated : replicas - updated;
  json::object status{{"observedGeneration", generation_of(set_)}, {"replicas", replicas}};
  if (ready > 0) status["readyReplicas"] = ready;
  if (of_current > 0) status["currentReplicas"] = of_current;
  if (updated > 0) status["updatedReplicas"] = updated;
  status["currentRevision"] = current;
  status["updateRevision"] = revision_;
  status["collisionCount"] = 0;
  status["availableReplicas"] = available;
  world_.write_status(path_of(kStatefulSets, set_), set_, status);
  return again;
}

}  // namespace

Again tend_stateful_set(WorkloadWorld& world, const json::value& set) {
  Series series(world, set);
  series.tend();
  return series.write_status();
}

}  // namespace careen::sim
