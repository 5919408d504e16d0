#include <algorithm>
#include <map>
#include <tuple>

#include "sim/workload_kinds.h"
#include "sim/workload_world.h"

namespace careen::sim {

namespace {

// Those that are missed least come first: not placed, not started, not ready, crowded, young.
std::vector<const PodFacts*> by_cost(const std::vector<const PodFacts*>& pods) {
  std::map<std::string_view, int> crowd;
  for (const PodFacts* pod : pods) ++crowd[pod->node];
  const auto rank = [&](const PodFacts& pod) {
    return std::tuple(!pod.node.empty(),
                      pod.phase == "Pending"   ? 0
                      : pod.phase == "Unknown" ? 1
                                               : 2,
                      pod.ready, pod.deletion_cost, -crowd[pod.node]);
  };
  std::vector<const PodFacts*> order;
  for (const PodFacts* pod : pods) {
    if (pod->active()) order.push_back(pod);
  }
  std::sort(order.begin(), order.end(), [&](const PodFacts* a, const PodFacts* b) {
    const auto left = rank(*a), right = rank(*b);
    if (left != right) return left < right;
    return a->created != b->created ? a->created > b->created : a->name < b->name;
  });
  return order;
}

bool has_labels(const PodFacts& pod, const json::value* wanted) {
  if (!wanted || !wanted->is_object()) return true;
  return std::all_of(wanted->get_object().begin(), wanted->get_object().end(), [&](const auto& one) {
    const auto has = pod.labels.find(one.key());
    return has != pod.labels.end() && one.value().is_string() &&
           has->second == std::string_view(one.value().get_string());
  });
}

void write_replica_set_status(WorkloadWorld& world, const json::value& set, const std::vector<const PodFacts*>& pods,
                              Again& again) {
  int64_t replicas = 0, labelled = 0, ready = 0, available = 0, terminating = 0;
  const json::value* wanted = find(set, {"spec", "template", "metadata", "labels"});
  const int64_t min_ready = spec_number(set, "minReadySeconds", 0);
  for (const PodFacts* pod : pods) {
    if (pod->terminating && !pod->ended) ++terminating;
    if (!pod->active()) continue;
    ++replicas;
    labelled += has_labels(*pod, wanted) ? 1 : 0;
    ready += pod->ready ? 1 : 0;
    available += is_available(*pod, min_ready, world.now(), again) ? 1 : 0;
  }
  Scratch memory;
  json::object status({{"replicas", replicas}}, memory.storage());
  if (labelled > 0) status["fullyLabeledReplicas"] = labelled;
  if (ready > 0) status["readyReplicas"] = ready;
  if (available > 0) status["availableReplicas"] = available;
  status["terminatingReplicas"] = terminating;
  status["observedGeneration"] = generation_of(set);
  world.write_status(path_of(kReplicaSetsPath, set), set, json::value(std::move(status)));
}

}  // namespace

Again tend_replica_set(WorkloadWorld& world, const json::value& set) {
  Again again;
  std::vector<const PodFacts*> pods = world.pods_of(uid_of(set));
  if (!is_terminating(set)) {
    const int64_t active = std::count_if(pods.begin(), pods.end(), [](const PodFacts* pod) { return pod->active(); });
    const int64_t missing = spec_number(set, "replicas", 1) - active;
    if (missing > kMostPodsAtOnce) sooner(again, io::Duration{0});
    for (int64_t i = 0; i < std::min(missing, kMostPodsAtOnce); ++i) {
      Scratch memory;
      const json::value pod = pod_from_template(set, "apps/v1", "ReplicaSet", memory.storage());
      if (world.create(collection_in(kPodsPath, namespace_of(set)), pod)) continue;
      sooner(again, kRetryCreation);
      break;
    }
    if (missing < 0) {
      const std::vector<const PodFacts*> order = by_cost(pods);
      for (size_t i = 0; i < static_cast<size_t>(-missing); ++i) {
        // What is known of a pod goes when it changes.
        const std::string path = object_in(kPodsPath, namespace_of(set), order[i]->name), uid = order[i]->uid;
        world.remove(path, uid);
      }
    }
    if (missing != 0) pods = world.pods_of(uid_of(set));
  }
  write_replica_set_status(world, set, pods, again);
  return again;
}

}  // namespace careen::sim
