// The fleet: facts about all nodes together that checks ask for. Each is counted once, at its first use, and kept up
// to date as nodes and pods change, so that asking costs nothing per node. Every fact has a topic, which is notified
// when the fact has changed in a way that its askers could notice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "budget/topic.h"
#include "kube/pod_store.h"

namespace careen::budget {
struct Scope;
}

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

// What an affinity pod has: it prefers nodes whose state label says operational. For the store of pods.
kube::NodePreference prefers_operational();

// The views it hands out live until the next change is told to it.
class Fleet {
 public:
  // All must outlive it. The store of pods marks those that prefers_operational().
  Fleet(const kube::Store<kube::Node>& nodes, const kube::PodStore& pods, budget::Topics& topics);
  ~Fleet();
  Fleet(const Fleet&) = delete;
  Fleet& operator=(const Fleet&) = delete;

  struct Yes {
    bool value = false;
    budget::Topic topic{};
  };
  struct Number {
    int64_t value = 0;
    budget::Topic topic{};
  };

  // How many nodes there are; the topic says when the answer to "at least `threshold`?" changes.
  Number nodes(int64_t threshold) const;
  // Does any node have the label, with that value unless it is empty?
  Yes any_label(std::string_view key, std::string_view value) const;

  struct Share {
    int64_t places = 1;
    int64_t nodes = 0;      // of which it is a share
    budget::Topic topic{};  // tells when `places` is another number
  };
  // How many places a percentage of the nodes in the scope is: rounded down, at least one.
  Share share(const budget::Scope& scope, int64_t percent) const;

  struct Newer {
    bool value = false;       // some node shows a greater version than `own`
    std::string_view newest;  // the greatest one; 0.1.0 when there is none greater
    budget::Topic topic{};    // says when `value` changes
  };
  // Among the nodes that have the label and, unless it is empty, the profile in their profile label. Nothing if `own`
  // is no semantic version; of other nodes such values do not count.
  std::optional<Newer> newer_version(std::string_view label, std::string_view profile, std::string_view own) const;

  // Nodes whose data says operational for the profile; the topic tells when "at least `threshold`?" changes.
  Number operational(std::string_view profile, int64_t threshold) const;
  struct Blocker {
    std::string_view node;  // empty: none
    budget::Topic topic{};  // tells when there is one instead of none or none instead of one
  };
  // Some node other than `asking` that is in maintenance-required for the profile and has no pod that prefers
  // operational nodes. The topic is right until the asking node's own state or pods change.
  Blocker required_without_affinity(std::string_view profile, std::string_view asking) const;
  // Has the node a pod that prefers operational nodes? Told by a change of the node's own pods, not by a topic.
  bool has_affinity_pod(std::string_view node) const;
  // Nothing can be said of pods before their first list is complete.
  Yes pods_known() const;

  // What has become another fact, once each. Called after the store changed; `before` or `after` is null for a new or
  // gone node.
  std::vector<budget::Topic> node_changed(const kube::Node* before, const kube::Node* after);
  // The pods of that node may be others, or (no node: empty) the first list of pods is complete. True when
  // has_affinity_pod() of the node has changed, which may concern itself too; `topics` gets what else has.
  bool pods_changed(std::string_view node, std::vector<budget::Topic>& topics);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace careen::profiles
