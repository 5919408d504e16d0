#include "kube/node.h"

#include "kube/sorted.h"

namespace careen::kube {

const Atom* Node::label(std::string_view key) const { return find_sorted(labels, key); }

const std::string* Node::annotation(std::string_view key) const { return find_sorted(annotations, key); }

const std::string* Node::section(std::string_view pointer) const { return find_sorted(sections, pointer); }

bool Node::same_facts(const Node& other) const {
  return name == other.name && uid == other.uid && unschedulable == other.unschedulable && deleting == other.deleting &&
         created == other.created && kubelet_version == other.kubelet_version && labels == other.labels &&
         annotations == other.annotations && finalizers == other.finalizers && taints == other.taints &&
         conditions == other.conditions && sections == other.sections;
}

}  // namespace careen::kube
