// How many nodes there should be: what MachineSets and NodePools lack of the nodes that they want is missing in the
// groups of those they have.
#include <algorithm>
#include <vector>

#include "limits/desk_core.h"

namespace careen::limits {

void Desk::Core::follow(OtherObjects& others) {
  others_ = &others;
  follows_.push_back(others.on_node([this](const std::string& name) {
    if (const kube::Node* const node = nodes_.find(name)) node_changed(node, node);
  }));
  follows_.push_back(others.on_set([this](const SetId& id) {
    const auto it = sets_.find(id);
    if (it == sets_.end()) return;
    resize(it->second);
    forget_if_unused(it->second);
  }));
  nodes_.for_each([this](const kube::Node& node) { node_changed(&node, &node); });
}

void Desk::Core::belong(NodeState& state, std::optional<SetId> id) {
  if (id ? state.set && state.set->id == *id : !state.set) return;
  if (NodeSet* const old = std::exchange(state.set, nullptr)) {
    --old->present;
    resize(*old);  // first: what lacks nodes stays in the groups that it had them in
    for (const auto& member : state.members) leave(*old, member->group);
    forget_if_unused(*old);
  }
  if (!id) return;
  const auto [it, added] = sets_.try_emplace(*id);
  NodeSet& set = it->second;
  set.id = *id;
  state.set = &set;
  ++set.present;
  for (const auto& member : state.members) enter(set, member->group);
  resize(set);
}

// It wants another number, or has got or lost a node.
void Desk::Core::resize(NodeSet& set) {
  set.wanted = others_->wanted_of(set.id);
  const int64_t lacking = std::max<int64_t>(set.wanted.value_or(0) - set.present, 0);
  const int64_t more = lacking - std::exchange(set.lacking, lacking);
  std::vector<Group*> left;
  for (const auto& [group, nodes] : set.in) {
    charge(*group, more);
    if (nodes == 0 && lacking == 0) left.push_back(group);
  }
  for (Group* const group : left) {
    detach(set, *group);
    drop_if_empty(*group);
  }
}

void Desk::Core::charge(Group& group, int64_t more) {
  group.listed.reset();
  changed_ = true;
  soon();
  if (more == 0) return;
  group.lacking += more;
  recounted_.insert(&group);
  if (more < 0) eased(group);
  recap(group);
}

void Desk::Core::enter(NodeSet& set, Group& group) {
  if (set.in[&group]++ > 0) return;
  if (group.sets.insert(&set).second) charge(group, set.lacking);
}

// A group that has lost its last node of the set lacks it as long as the set lacks any.
void Desk::Core::leave(NodeSet& set, Group& group) {
  const auto it = set.in.find(&group);
  if (it == set.in.end() || --it->second > 0 || set.lacking > 0) return;
  detach(set, group);
}

void Desk::Core::detach(NodeSet& set, Group& group) {
  charge(group, -set.lacking);
  set.in.erase(&group);
  group.sets.erase(&set);
}

// As before its limit was read anew: nodes that are not there any more tell of no group.
void Desk::Core::lack_again(const SetId& id, Group& group) {
  NodeSet& set = sets_.try_emplace(id).first->second;
  set.id = id;
  resize(set);
  if (set.lacking > 0 && set.in.try_emplace(&group, 0).second) {
    group.sets.insert(&set);
    charge(group, set.lacking);
  }
  forget_if_unused(set);
}

void Desk::Core::forget_if_unused(NodeSet& set) {
  if (set.present > 0 || !set.in.empty()) return;
  sets_.erase(SetId(set.id));
}

}  // namespace careen::limits
