#include "kube/node.h"

#include <algorithm>

#include "kube/sorted.h"

namespace careen::kube {

namespace {

bool same_but_time(const NodeCondition& a, const NodeCondition& b) {
  return a.type == b.type && a.status == b.status && a.reason == b.reason;
}

}  // namespace

const Atom* Node::label(std::string_view key) const { return find_sorted(labels, key); }

const std::string* Node::annotation(std::string_view key) const { return find_sorted(annotations, key); }

const std::string* Node::section(std::string_view pointer) const { return find_sorted(sections, pointer); }

const NodeCondition* Node::condition(std::string_view type) const {
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const NodeCondition& one) { return one.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

std::string_view Node::condition_manager(std::string_view type) const {
  for (const auto& [of, manager] : condition_managers) {
    if (of == type) return manager.view();
  }
  return {};
}

bool Node::same_facts(const Node& other) const {
  return name == other.name && uid == other.uid && unschedulable == other.unschedulable && deleting == other.deleting &&
         created == other.created && kubelet_version == other.kubelet_version && labels == other.labels &&
         annotations == other.annotations && finalizers == other.finalizers && taints == other.taints &&
         cordoned_by == other.cordoned_by && condition_managers == other.condition_managers &&
         std::equal(conditions.begin(), conditions.end(), other.conditions.begin(), other.conditions.end(),
                    same_but_time) &&
         sections == other.sections;
}

}  // namespace careen::kube
