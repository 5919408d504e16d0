// What a NodeMaintenance holds of its node, and what becomes of it when the object is not what it was.
#include <algorithm>
#include <set>

#include "controllers/nodemaintenance/decide.h"
#include "controllers/nodemaintenance/roster.h"
#include "kube/sorted.h"

namespace careen::nodemaintenance {

namespace {

constexpr std::string_view kOwnerPrefix = "nodemaintenance/";

template <class Value, class MakeValue>
void apply_texts(std::vector<std::pair<kube::Atom, Value>>& to,
                 const std::map<std::string, std::optional<std::string>>& changes, kube::AtomPool& atoms,
                 MakeValue make) {
  for (const auto& [key, value] : changes) {
    std::erase_if(to, [&](const auto& item) { return item.first.view() == key; });
    if (value) to.emplace_back(atoms.intern(key), make(*value));
  }
  std::sort(to.begin(), to.end(), [](const auto& a, const auto& b) { return a.first.view() < b.first.view(); });
}

kube::Node changed(kube::Node node, const drain::NodeChange& change, kube::AtomPool& atoms) {
  if (change.unschedulable) node.unschedulable = *change.unschedulable;
  if (change.taints) node.taints = *change.taints;
  apply_texts(node.labels, change.labels, atoms, [&](const std::string& text) { return atoms.intern(text); });
  apply_texts(node.annotations, change.annotations, atoms, [](const std::string& text) { return text; });
  return node;
}

// The change that leads from one to the other, of what holds are about.
drain::NodeChange difference(const kube::Node& from, const kube::Node& to) {
  drain::NodeChange out;
  if (from.unschedulable != to.unschedulable) out.unschedulable = to.unschedulable;
  if (from.taints != to.taints) out.taints = to.taints;
  const auto compare = [](const auto& old, const auto& now, auto& into, auto text) {
    for (const auto& [key, value] : old) {
      if (!kube::find_sorted(now, key.view())) into[std::string(key.view())] = std::nullopt;
    }
    for (const auto& [key, value] : now) {
      const auto* known = kube::find_sorted(old, key.view());
      if (!known || !(*known == value)) into[std::string(key.view())] = std::string(text(value));
    }
  };
  compare(from.labels, to.labels, out.labels, [](const kube::Atom& value) { return value.view(); });
  compare(from.annotations, to.annotations, out.annotations, [](const std::string& value) { return value; });
  return out;
}

}  // namespace

std::string hold_owner(std::string_view maintenance) { return std::string(kOwnerPrefix) + std::string(maintenance); }

std::optional<std::string_view> maintenance_of(std::string_view owner) {
  if (!owner.starts_with(kOwnerPrefix)) return std::nullopt;
  return owner.substr(kOwnerPrefix.size());
}

drain::Key drain_key(const Maintenance& maintenance) { return {maintenance.node, hold_owner(maintenance.name)}; }

drain::Hold wanted_hold(const Maintenance& maintenance, io::Wall now) {
  drain::Hold hold;
  hold.id = maintenance.uid;
  hold.since = std::chrono::floor<io::seconds>(now);
  hold.items = drain::may_hold(hold_owner(maintenance.name));
  return hold;
}

drain::EarlierCordon earlier_cordon(const World& world) {
  return world.restore_cordon ? drain::EarlierCordon::stays : drain::EarlierCordon::ends;
}

drain::NodeChange undo_predecessor(const kube::Node& node, const Maintenance& maintenance, io::Wall now,
                                   kube::AtomPool& atoms) {
  const std::string owner = hold_owner(maintenance.name);
  const kube::Node held =
      changed(node, drain::hold(node, owner, wanted_hold(maintenance, now), atoms, drain::Found::own), atoms);
  return difference(node, changed(held, drain::release(held, owner, atoms), atoms));
}

std::string orphaned_hold(const World& world, const kube::Node& node) {
  if (!node.annotation(drain::kHoldsAnnotation)) return {};
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) {
    const auto name = maintenance_of(owner);
    if (!name) continue;
    const Maintenance* found = world.roster.find(*name);
    const bool is_its = found && found->uid == hold.id && found->node == node.name;
    if (!is_its || (found->deleting && !found->has_finalizer())) return owner;
  }
  return {};
}

}  // namespace careen::nodemaintenance
