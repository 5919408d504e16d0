// The one way nodes enter the world, from lists and watches as well as from the answers to own writes: with the same
// sections, so that a node from one source equals the same node from another.
#pragma once

#include <string_view>

#include "io/result.h"
#include "kube/decode.h"
#include "kube/node.h"
#include "kube/node_sections.h"

namespace careen::kube {

class NodeDecoder {
 public:
  // The pool must outlive the decoder.
  explicit NodeDecoder(AtomPool& atoms) : atoms_(atoms) {}

  // Sections of nodes that are decoded from now on. True when they are others than before: then what is known of
  // nodes is to be listed again.
  bool want(NodeSections sections) {
    if (sections == sections_) return false;
    sections_ = std::move(sections);
    return true;
  }
  const NodeSections& wanted() const { return sections_; }

  io::Result<Node> decode(RawObject& raw) const { return decode_node(raw, atoms_, sections_); }
  io::Result<Node> decode(std::string_view json) const { return decode_node(json, atoms_, sections_); }

 private:
  AtomPool& atoms_;
  NodeSections sections_;
};

}  // namespace careen::kube
