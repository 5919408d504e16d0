// The workload that a pod belongs to, told from the pod alone.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace careen::kube {

struct Pod;

struct PodOwner {
  enum class Kind : uint8_t { deployment, stateful_set, daemon_set, replica_set };
  Kind kind = Kind::replica_set;
  std::string_view name;
  friend bool operator==(const PodOwner&, const PodOwner&) = default;
};

// All of its owners, its controller or not, but for those of other kinds: Jobs, nodes, custom ones. A ReplicaSet counts
// as its Deployment's when its name ends with the pod's template hash, as the Deployment's controller names them. The
// names live as long as the pod.
std::vector<PodOwner> owners_of(const Pod& pod);

}  // namespace careen::kube
