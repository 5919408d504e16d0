// How often maintenance moves the pods of each workload: counters by owner and profile. A series is there, with zero,
// as soon as a pod of the owner is on a node with the profile, so that a rate can be taken of its first step.
//
//   maintenance_controller_pod_shuffle_count           one for each pod on a node that enters maintenance
//   maintenance_controller_pod_shuffles_per_replica    the same, divided by the replicas of the pod's owner
//
// and both once more under the names that the original's documentation uses. What is not watched is as large as it
// has pods: ReplicaSets without a Deployment, and workloads that are gone while their pods are not. Nothing is smaller
// than one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace careen::io {
class Loop;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::kube {
class PodStore;
class Workloads;
struct Node;
struct PodOwner;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

// deployment_web, daemon_set_proxy …: the label's value.
std::string label_of(const kube::PodOwner& owner);

struct ShuffleParts {
  io::Loop& loop;
  io::Metrics& metrics;
  io::Problems& problems;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  const kube::Workloads& workloads;
  // The lists of all three kinds of workload are complete.
  std::function<bool()> workloads_known;
  // The profiles that are processed for a node.
  std::function<std::vector<std::string>(const kube::Node&)> profiles_of;
};

class Shuffles {
 public:
  // Everything, and the metrics' scrapes too, must end before this object does.
  explicit Shuffles(ShuffleParts parts);
  ~Shuffles();
  Shuffles(const Shuffles&) = delete;
  Shuffles& operator=(const Shuffles&) = delete;

  // From now on there are series: this replica decides. Before, another one has them.
  void begin();
  // profiles_of() may answer differently for any node.
  void profiles_changed();
  // Once for each transition into in-maintenance, when it is written and before anything is drained.
  void entered_maintenance(std::string_view node, std::string_view profile);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace careen::profiles
