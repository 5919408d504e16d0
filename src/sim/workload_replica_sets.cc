#include <algorithm>
#include <map>
#include <tuple>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

// As long as the real one waits at first before it tries again to make what was refused.
constexpr io::Duration kRetry = io::seconds{5};
// So many pods are made at one look.
constexpr int64_t kBurst = 500;

// Those that are missed least come first: not placed, not started, not ready, crowded, young.
std::vector<const json::value*> by_cost(const std::vector<json::value>& pods) {
  std::map<std::string_view, int> crowd;
  for (const json::value& pod : pods) ++crowd[text_at(pod, {"spec", "nodeName"})];
  const auto rank = [&](const json::value& pod) {
    const std::string_view node = text_at(pod, {"spec", "nodeName"});
    const std::string_view phase = text_at(pod, {"status", "phase"});
    const json::value* cost = find(pod, {"metadata", "annotations", "controller.kubernetes.io/pod-deletion-cost"});
    const int64_t price = cost && cost->is_string() ? std::atoll(cost->get_string().c_str()) : 0;
    return std::tuple(!node.empty(),
                      phase == "Pending"   ? 0
                      : phase == "Unknown" ? 1
                                           : 2,
                      is_ready(pod), price, -crowd[node]);
  };
  std::vector<const json::value*> order;
  for (const json::value& pod : pods) {
    if (is_active(pod)) order.push_back(&pod);
  }
  std::sort(order.begin(), order.end(), [&](const json::value* a, const json::value* b) {
    const auto left = rank(*a), right = rank(*b);
    if (left != right) return left < right;
    const auto made = text_at(*a, {"metadata", "creationTimestamp"});
    const auto made_other = text_at(*b, {"metadata", "creationTimestamp"});
    return made != made_other ? made > made_other : name_of(*a) < name_of(*b);
  });
  return order;
}

bool has_template_labels(const json::value& pod, const json::value& set) {
  const json::value* wanted = find(set, {"spec", "template", "metadata", "labels"});
  if (!wanted || !wanted->is_object()) return true;
  const json::object labels = labels_of(pod);
  return std::all_of(wanted->get_object().begin(), wanted->get_object().end(), [&](const auto& one) {
    const json::value* has = labels.if_contains(one.key());
    return has && *has == one.value();
  });
}

void write_replica_set_status(WorkloadWorld& world, const json::value& set, Again& again) {
  int64_t replicas = 0, labelled = 0, ready = 0, available = 0, terminating = 0;
  for (const json::value& pod : world.dependents(kPodsPath, uid_of(set))) {
    if (is_terminating(pod) && !has_ended(pod)) ++terminating;
    if (!is_active(pod)) continue;
    ++replicas;
    labelled += has_template_labels(pod, set) ? 1 : 0;
    ready += is_ready(pod) ? 1 : 0;
    available += is_available(pod, spec_number(set, "minReadySeconds", 0), world.now(), again) ? 1 : 0;
  }
  json::object status{{"replicas", replicas}};
  if (labelled > 0) status["fullyLabeledReplicas"] = labelled;
  if (ready > 0) status["readyReplicas"] = ready;
  if (available > 0) status["availableReplicas"] = available;
  status["terminatingReplicas"] = terminating;
  status["observedGeneration"] = generation_of(set);
  world.write_status(path_of(kReplicaSetsPath, set), set, status);
}

}  // namespace

Again tend_replica_set(WorkloadWorld& world, const json::value& set) {
  Again again;
  if (!is_terminating(set)) {
    const std::vector<json::value> pods = world.dependents(kPodsPath, uid_of(set));
    const std::vector<const json::value*> active = by_cost(pods);
    const int64_t missing = spec_number(set, "replicas", 1) - static_cast<int64_t>(active.size());
    if (missing > kBurst) sooner(again, io::Duration{0});
    for (int64_t i = 0; i < std::min(missing, kBurst); ++i) {
      const json::value pod = pod_from_template(set, "apps/v1", "ReplicaSet");
      if (world.create(collection_in(kPodsPath, namespace_of(set)), pod)) continue;
      sooner(again, kRetry);
      break;
    }
    for (int64_t i = 0; i < -missing; ++i) {
      const json::value& pod = *active[static_cast<size_t>(i)];
      world.remove(path_of(kPodsPath, pod), uid_of(pod));
    }
  }
  write_replica_set_status(world, set, again);
  return again;
}

}  // namespace careen::sim
