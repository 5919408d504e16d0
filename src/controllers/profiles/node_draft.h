// A node as it will be: the cached object plus the changes that triggers and the state machine want. The changes
// become one merge patch that carries the version they were computed from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drain/holds.h"
#include "kube/json.h"
#include "kube/node.h"

namespace careen::profiles {

class NodeDraft {
 public:
  explicit NodeDraft(const kube::Node& base) : base_(base) {}

  const kube::Node& base() const { return base_; }
  // nullopt when absent.
  std::optional<std::string_view> label(std::string_view key) const;
  std::optional<std::string_view> annotation(std::string_view key) const;
  bool has_finalizer(std::string_view key) const;
  bool unschedulable() const { return unschedulable_.value_or(base_.unschedulable); }

  void set_label(std::string_view key, std::string_view value);
  void remove_label(std::string_view key);
  void set_annotation(std::string_view key, std::string_view value);
  void remove_annotation(std::string_view key);
  void add_finalizer(std::string_view key);
  void remove_finalizer(std::string_view key);
  void set_unschedulable(bool value);

  // Cordons as counted holds; the record of them rides in the same patch.
  drain::Holds holds() const;
  void cordon(const std::string& owner, io::Wall since, bool begun);
  void release_cordon(const std::string& owner);
  void uncordon(std::string_view owner_prefix);

  bool changed() const { return !labels_.empty() || !annotations_.empty() || finalizers_ || unschedulable_; }
  // application/merge-patch+json with the base's resourceVersion as precondition: only what differs.
  std::string merge_patch() const;
  // The node as it will be, as the API server would send it.
  kube::Json document() const;
  // The same on top of a document that has more of the node than is cached.
  kube::Json document(kube::Json document) const;

  // Taken before a chain runs, given back if it fails.
  struct Changes;
  Changes changes() const;
  void restore(Changes changes);

 private:
  using Map = std::map<std::string, std::optional<std::string>, std::less<>>;
  using Finalizers = std::vector<std::string>;
  const Finalizers& finalizers() const { return finalizers_ ? *finalizers_ : base_.finalizers; }
  void set_finalizers(Finalizers wanted);
  void put_changes(kube::Json& into) const;
  kube::Node as_held(kube::AtomPool& atoms) const;
  void apply(const drain::NodeChange& change);

  const kube::Node& base_;
  Map labels_;
  Map annotations_;
  std::optional<Finalizers> finalizers_;  // nullopt: as they are
  std::optional<bool> unschedulable_;     // the same
};

struct NodeDraft::Changes {
  Map labels;
  Map annotations;
  std::optional<Finalizers> finalizers;
  std::optional<bool> unschedulable;
};

}  // namespace careen::profiles
