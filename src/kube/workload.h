// Deployments, StatefulSets and DaemonSets, of which careen wants to know no more than how large they are, whether all
// of it serves, and their labels. ReplicaSets are none of them: each Deployment keeps about ten old ones, which would
// be most of the memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/objects.h"

namespace careen::kube {

class RawObject;
class Sink;
struct Resource;

enum class WorkloadKind : uint8_t { deployment, stateful_set, daemon_set };

inline constexpr std::array kWorkloadKinds{WorkloadKind::deployment, WorkloadKind::stateful_set,
                                           WorkloadKind::daemon_set};

struct Workload {
  WorkloadKind kind = WorkloadKind::deployment;
  Atom ns;
  std::string name;
  std::string uid;
  uint64_t version = 0;
  // spec.replicas, 1 where it is not set; of a DaemonSet status.numberReady. Never negative.
  int64_t replicas = 0;
  // The pods that there should be: spec.replicas, of a DaemonSet status.desiredNumberScheduled. Never negative.
  int64_t wanted = 0;
  bool degraded = false;                      // fewer of them serve, or it says itself that it is not available
  std::vector<std::pair<Atom, Atom>> labels;  // sorted by key

  // nullptr when absent; the value may be empty.
  const Atom* label(std::string_view key) const;
  std::string key() const { return object_key(ns.view(), name); }
  bool same_facts(const Workload& other) const {
    return kind == other.kind && ns == other.ns && name == other.name && uid == other.uid &&
           replicas == other.replicas && wanted == other.wanted && degraded == other.degraded && labels == other.labels;
  }
};

// The kind is told because the elements of a list do not say it.
io::Result<Workload> decode_workload(RawObject& raw, WorkloadKind kind, AtomPool& atoms);
io::Result<Workload> decode_workload(std::string_view json, WorkloadKind kind, AtomPool& atoms);

const Resource& resource_of(WorkloadKind kind);

// One cache a kind: names repeat between kinds, and each is watched for itself.
class Workloads {
 public:
  Store<Workload>& of(WorkloadKind kind) { return stores_[static_cast<size_t>(kind)]; }
  const Store<Workload>& of(WorkloadKind kind) const { return stores_[static_cast<size_t>(kind)]; }
  // Null when there is none, or none is known.
  const Workload* find(WorkloadKind kind, std::string_view ns, std::string_view name) const {
    return of(kind).find(object_key(ns, name));
  }

 private:
  std::array<Store<Workload>, kWorkloadKinds.size()> stores_;
};

// For a Reflector of resource_of(kind). All must outlive the sink.
std::unique_ptr<Sink> make_sink(Workloads& workloads, WorkloadKind kind, AtomPool& atoms);

}  // namespace careen::kube
