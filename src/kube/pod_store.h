// The cache of pods, made for hundreds of thousands of them: some 150 bytes each, names, owners and labels included.
// It keeps the rules of Store (see cache.h) about versions, own writes and relists, finds pods by name and by node,
// and counts on each node the pods that prefer a certain kind of node, if it is told which kind.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/result.h"
#include "io/subscription.h"
#include "io/time.h"
#include "kube/atoms.h"

namespace careen::kube {

class RawObject;

enum class PodPhase : uint8_t { unknown, pending, running, succeeded, failed };

struct PodFlags {
  bool mirror : 1 = false;         // a static pod's shadow: deleting it does nothing
  bool local_storage : 1 = false;  // has an emptyDir
  bool ready : 1 = false;
  bool marked : 1 = false;  // has the node preference that the store looks for
  bool daemon_kind : 1 =
      false;                    // one of its owners, controller or not, is of the kind DaemonSet, of whatever API group
  bool daemon_set : 1 = false;  // its controller is a DaemonSet of the group apps
  friend bool operator==(const PodFlags&, const PodFlags&) = default;
};

// What is known of a pod, as views into somebody else's text; see PodStore::put.
struct PodFacts {
  std::string_view ns, name, uid;
  uint64_t version = 0;
  std::string_view node;                                              // empty until it is scheduled
  std::string_view owner_kind, owner_name;                            // of its controller; empty when it has none
  std::vector<std::pair<std::string_view, std::string_view>> others;  // kinds and names of its other owners
  std::vector<std::pair<std::string_view, std::string_view>> labels;  // in any order
  std::vector<std::string_view> finalizers;
  std::optional<io::Wall> deletion;  // deletionTimestamp, in whole seconds: it is gone by then, or its node is dead
  std::optional<io::Duration> deletion_grace;  // the grace period that ends then, in whole seconds
  int32_t priority = 0;
  PodPhase phase = PodPhase::unknown;
  PodFlags flags;
};

// A wish about nodes that a pod may have: one of its preferred node affinity terms has an expression with this key and
// this operator, and with this value as its only one. The weight and other expressions do not matter.
struct NodePreference {
  std::string key;
  std::string op;  // as the API spells it: In, NotIn, Gt, Lt
  std::string value;
};

// Reads a pod. The facts live until the next object is asked for. A pod with that preference is marked.
io::Result<bool> decode_pod(RawObject& raw, PodFacts& facts, const NodePreference* marking = nullptr);

// A pod as the store shows it. The views live until the store changes.
struct Pod {
  std::string_view ns;
  std::string name;
  std::string uid;
  uint64_t version = 0;
  std::string_view node;
  std::string_view owner_kind, owner_name;
  std::string_view other_owners;  // "Kind/name", each on a line; see for_each_owner()
  std::string_view label_set;     // see label()
  std::string_view finalizers;    // separated by commas
  std::optional<io::Wall> deletion;
  std::optional<io::Duration> deletion_grace;
  int32_t priority = 0;
  PodPhase phase = PodPhase::unknown;
  PodFlags flags;

  std::optional<std::string_view> label(std::string_view key) const;
  // visit(key, value), sorted by key.
  void for_each_label(const std::function<void(std::string_view, std::string_view)>& visit) const;
  // visit(kind, name): its controller first, if it has one, then the other owners.
  void for_each_owner(const std::function<void(std::string_view, std::string_view)>& visit) const;
  bool terminating() const { return deletion.has_value(); }
  bool finished() const { return phase == PodPhase::succeeded || phase == PodPhase::failed; }
};

class PodStore {
 public:
  // Pods read from JSON are marked if they have that preference.
  explicit PodStore(AtomPool& atoms, std::optional<NodePreference> marking = std::nullopt);
  ~PodStore();
  PodStore(const PodStore&) = delete;
  PodStore& operator=(const PodStore&) = delete;

  // As Store's: null before for a new pod, null after for one that is gone; must not change the store.
  using Listener = std::function<void(const Pod* before, const Pod* after)>;
  io::Subscription subscribe(Listener listener);
  // Told, once a node and change of the store, that the node has got or lost pods or the marks of its pods are others.
  // What else happens to a pod is not told, so a node whose pods merely live is quiet.
  using NodeListener = std::function<void(std::string_view node)>;
  io::Subscription subscribe_nodes(NodeListener listener);

  std::optional<Pod> find(std::string_view ns, std::string_view name) const;
  size_t size() const;
  size_t count_on(std::string_view node) const;
  size_t marked_on(std::string_view node) const;
  void for_each(const std::function<void(const Pod&)>& visit) const;
  void for_each_on(std::string_view node, const std::function<void(const Pod&)>& visit) const;
  uint64_t newest_version() const;
  uint64_t position() const;
  // The preference that marks a pod; null: none does.
  const NodePreference* marking() const;

  // Takes the pod if it is newer than what is known of that name.
  bool put(const PodFacts& facts);
  // The same from JSON text, such as the answer to a write.
  io::Result<bool> put_json(std::string_view json);
  void remove(std::string_view ns, std::string_view name, uint64_t version);
  void progress(uint64_t version);

  void begin_list();
  void stage(const PodFacts& facts);
  void end_list(uint64_t list_version);
  void drop_list();

  // Bytes of records and indexes; the interned texts are the pool's.
  size_t bytes() const;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::kube
