#include "kube/pod_owner.h"

#include <optional>

#include "kube/pod_store.h"

namespace careen::kube {

namespace {

std::optional<PodOwner> workload_of(const Pod& pod, std::string_view kind, std::string_view name) {
  if (kind == "DaemonSet") return PodOwner{PodOwner::Kind::daemon_set, name};
  if (kind == "StatefulSet") return PodOwner{PodOwner::Kind::stateful_set, name};
  if (kind != "ReplicaSet") return std::nullopt;
  const std::string_view hash = pod.label("pod-template-hash").value_or(std::string_view());
  if (hash.empty() || name.size() < hash.size() + 2 || !name.ends_with(hash) ||
      name[name.size() - hash.size() - 1] != '-') {
    return PodOwner{PodOwner::Kind::replica_set, name};
  }
  name.remove_suffix(hash.size() + 1);
  return PodOwner{PodOwner::Kind::deployment, name};
}

}  // namespace

std::vector<PodOwner> owners_of(const Pod& pod) {
  std::vector<PodOwner> owners;
  pod.for_each_owner([&](std::string_view kind, std::string_view name) {
    if (const auto owner = workload_of(pod, kind, name)) owners.push_back(*owner);
  });
  return owners;
}

}  // namespace careen::kube
