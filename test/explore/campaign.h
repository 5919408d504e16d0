// A maintenance campaign, all of it drawn from a seed: the cluster, careen's configuration and replicas, and what
// people do with the nodes meanwhile. People's edits come in such an order that the end is the same however long
// anything takes: what they take away they give back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "guest.h"
#include "io/time.h"
#include "kube/json.h"
#include "settings.h"

namespace careen::explore {

struct MachinesPlan;

using Labels = std::map<std::string, std::string>;

struct NodePlan {
  std::string name;
  Labels labels;
  bool affinity_pod = false;  // runs a pod that prefers operational nodes
  bool cordoned = false;      // by people, before anything begins
  bool drain_taint = false;   // has the taint of NodeMaintenance objects for reasons of its own
};

// Something that runs on the nodes.
struct Workload {
  // Pods that are pinned tolerate everything and are made again on their node at once.
  enum class Kind { deployment, stateful_set, daemon_set, bare_pod, pinned };
  Kind kind = Kind::deployment;
  std::string name;
  int replicas = 1;
  std::optional<int> max_unavailable = {};  // of its disruption budget
  int ends_in = 1;                          // seconds that its pods take to end
  std::string node = {};                    // of a bare or pinned pod
  // A webhook moves each of its pods so long after it heard of the eviction, which its budget never allows; and it
  // denies the request with 429 itself, or leaves that to the budget.
  std::optional<io::Duration> moved_after = {};
  bool mover_denies = false;
};

// Something a person does to a node.
struct Edit {
  enum class Kind {
    label,     // set or removed (null)
    annotate,  // the same for an annotation
    remove,    // the node is deleted
    make,      // and made again, with the labels that people want on it
    pod,       // its pod goes, or comes
    load,      // what Prometheus says from now on, of no node in particular
    maintain,  // a NodeMaintenance of that name is made for it
    release,   // and deleted
    cordon,
    uncordon,
    budget,  // this many pods of the workload may be unavailable from now on
    create,  // the object is made, in the collection of that path
    erase,   // the object of that path is deleted
    change,  // the object of that path is changed, if it is there
  };
  io::Duration at{};
  std::string node;
  Kind kind = Kind::label;
  std::string key = {};
  kube::Json value = {};
};

struct Campaign {
  uint64_t seed = 0;
  std::vector<NodePlan> nodes;
  Settings settings;
  std::vector<io::Duration> skews;  // one a replica
  bool cache_pods = false;          // by the replicas, whether they need them or not
  std::vector<Edit> edits;          // in order of time
  bool drains = false;              // nodes have kubelets, pods live on them, and there are NodeMaintenance objects
  std::vector<Workload> workloads;
  bool asks = false;  // the API server asks careen about evictions
  std::vector<std::shared_ptr<const Guest>> guests;
  // It is about Machines and nothing else, on a stage of its own; `nodes` are their slots then. Null: it is not.
  std::shared_ptr<const MachinesPlan> machines;

  // How careen is set up, for people.
  std::string text() const;
  // Nothing of people, and no time of the day, comes after this.
  io::Duration last_event() const;
  // Nothing may happen for so long while there is still something to do.
  io::Duration longest_pause() const;
};

Campaign draw_campaign(uint64_t seed);
// Three nodes one after the other, for crashes at every single write.
Campaign small_campaign(int replicas, bool marks);

// So many nodes at once, `limit` of them at a time, after a notice.
Campaign crowd_campaign(int nodes, int limit, io::Duration notice);

// By time; what comes at the same time stays in its order.
std::vector<Edit> in_order(std::vector<Edit> edits);

inline std::string node_path(std::string_view name) { return "/api/v1/nodes/" + std::string(name); }
inline std::string pod_path(std::string_view node) { return "/api/v1/namespaces/default/pods/on-" + std::string(node); }
inline std::string lease_path(std::string_view name) {
  return "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/" + std::string(name);
}

}  // namespace careen::explore
