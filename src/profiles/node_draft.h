// A node as it will be: the cached object plus the changes that triggers and the state machine want. The changes
// become one merge patch that carries the version they were computed from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "kube/node.h"

namespace careen::profiles {

class NodeDraft {
 public:
  explicit NodeDraft(const kube::Node& base) : base_(base) {}

  const kube::Node& base() const { return base_; }
  // nullopt when absent.
  std::optional<std::string_view> label(std::string_view key) const;
  std::optional<std::string_view> annotation(std::string_view key) const;

  void set_label(std::string_view key, std::string_view value);
  void remove_label(std::string_view key);
  void set_annotation(std::string_view key, std::string_view value);
  void remove_annotation(std::string_view key);

  bool changed() const { return !labels_.empty() || !annotations_.empty(); }
  // application/merge-patch+json with the base's resourceVersion as precondition: only what differs.
  std::string merge_patch() const;

  // Taken before a chain runs, given back if it fails.
  struct Changes;
  Changes changes() const;
  void restore(Changes changes);

 private:
  using Map = std::map<std::string, std::optional<std::string>, std::less<>>;
  const kube::Node& base_;
  Map labels_;
  Map annotations_;
};

struct NodeDraft::Changes {
  Map labels;
  Map annotations;
};

}  // namespace careen::profiles
