// Parts of a Node that are kept as JSON beside the fields careen always reads: what message templates ask for. Each
// is named by a JSON pointer such as /status/nodeInfo.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace careen::kube {

class NodeSections {
 public:
  NodeSections() = default;
  // A pointer of more than three keys stands for the part that its first three name, the empty one for the whole
  // node. Left out is what lies inside another wanted part, and what Node holds in full anyway.
  explicit NodeSections(const std::set<std::string>& pointers);

  bool empty() const { return pointers_.empty(); }
  // In order, none inside another.
  const std::vector<std::string>& pointers() const { return pointers_; }
  friend bool operator==(const NodeSections& a, const NodeSections& b) { return a.pointers_ == b.pointers_; }

  // The same as a tree, for reading a document once from front to back.
  struct Branch {
    std::string key;
    std::optional<size_t> pointer;  // the part ends here: its place among the pointers
    std::vector<Branch> below;
  };
  const std::vector<Branch>& branches() const { return branches_; }

 private:
  void add_branch(size_t pointer);

  std::vector<std::string> pointers_;
  std::vector<Branch> branches_;
};

// The keys of a JSON pointer: /metadata/labels/a~1b has "a/b" as its third.
std::vector<std::string> pointer_keys(std::string_view pointer);

}  // namespace careen::kube
