#include "budget/occupancy.h"

#include <algorithm>

#include "budget/ledger.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/name_order.h"
#include "kube/node.h"

namespace careen::budget {

namespace {
bool has_label(const kube::Node& node, const std::pair<std::string, std::string>& wanted) {
  const kube::Atom* const value = node.label(wanted.first);
  return value && value->view() == wanted.second;
}
}  // namespace

bool Occupancy::matches(const Scope& scope, std::string_view name) const {
  const kube::Node* node = nodes_.find(name);
  // Admitted, but not known (any more): it counts everywhere until its admission has ended.
  if (!node) return true;
  if (!scope.subset.empty() && !reader_.belongs(*node, scope.subset)) return false;
  return std::all_of(scope.labels.begin(), scope.labels.end(),
                     [&](const auto& wanted) { return has_label(*node, wanted); });
}

Occupancy::Changes Occupancy::update(std::string_view name) {
  const kube::Node* node = nodes_.find(name);
  std::optional<Member> member;
  if (node) {
    const auto entry = ledger_.entries().find(reader_.key_of(node->uid));
    const bool admitted = entry != ledger_.entries().end() && reader_.counts(entry->second.admission);
    auto in_state = reader_.state_of(*node);
    if (admitted || in_state) member.emplace(Member{std::move(in_state), admitted});
  } else {
    for (const auto& [uid, entry] : ledger_.entries()) {
      if (entry.admission.node == name && reader_.counts(entry.admission)) member.emplace();
    }
  }

  if (member) {
    all_.insert_or_assign(std::string(name), *member);
  } else if (const auto it = all_.find(name); it != all_.end()) {
    all_.erase(it);
  }
  Changes changes;
  for (auto& [scope, members] : scopes_) {
    const auto it = members.find(name);
    if (member && matches(scope, name)) {
      if (it == members.end()) {
        changes.joined.push_back(scope);
      } else if (it->second != *member) {
        changes.altered.push_back(scope);
      }
      members.insert_or_assign(std::string(name), *member);
    } else if (it != members.end()) {
      members.erase(it);
      changes.left.push_back(scope);
    }
  }
  return changes;
}

void Occupancy::rebuild() {
  all_.clear();
  scopes_.clear();
  nodes_.for_each([&](const kube::Node& node) { update(node.name); });
  for (const auto& [uid, entry] : ledger_.entries()) update(entry.admission.node);
}

const Occupancy::Members& Occupancy::members(const Scope& scope) const {
  const auto known = scopes_.find(scope);
  if (known != scopes_.end()) return known->second;
  Members& members = scopes_[scope];
  for (const auto& [name, member] : all_) {
    if (matches(scope, name)) members.emplace(name, member);
  }
  return members;
}

namespace {

bool forgets(const NodePlaces& places) { return places.skip_after > io::Duration{0}; }

// When the maintenance grows too old to count. For one that is yet to begin, or whose data nobody can read, that is not
// known, and it never does: no node's nonsense decides about others.
io::Wall leaves_at(const NodePlaces& places, const Occupancy::Member& member) {
  if (!member.in_state || member.admitted || !member.in_state->changed) return io::Wall::max();
  io::Wall newest = io::Wall::min();
  for (const auto& [subset, time] : *member.in_state->changed) {
    if (places.scope.subset.empty() || subset == places.scope.subset) newest = std::max(newest, time);
  }
  return io::add(newest, places.skip_after);
}

bool kept_for(std::string_view asking, const std::string& name, const Occupancy::Member& member) {
  return name == asking && !member.in_state;
}

}  // namespace

Use measure(const Occupancy& occupancy, const NodePlaces& places, io::Wall now, std::string_view asking) {
  Use use{.used = 0, .max = places.max};
  const Occupancy::Members& members = occupancy.members(places.scope);
  if (!forgets(places)) {
    const auto own = members.find(asking);
    use.used =
        static_cast<int64_t>(members.size()) - (own != members.end() && kept_for(asking, own->first, own->second));
    return use;
  }
  std::vector<io::Wall> leaving;
  for (const auto& [name, member] : members) {
    if (kept_for(asking, name, member)) continue;
    const io::Wall leaves = leaves_at(places, member);
    if (leaves <= now) continue;
    if (leaves != io::Wall::max()) leaving.push_back(leaves);
    ++use.used;
  }
  if (!use.full() || use.max <= 0) return use;
  // So many have to grow old before one place is free.
  const auto surplus = static_cast<size_t>(use.used - use.max);
  if (surplus < leaving.size()) {
    std::nth_element(leaving.begin(), leaving.begin() + static_cast<std::ptrdiff_t>(surplus), leaving.end());
    use.free_at = leaving[surplus];
  }
  return use;
}

void for_each_holder(const Occupancy& occupancy, const NodePlaces& places, io::Wall now, std::string_view asking,
                     const std::function<void(const std::string&)>& visit) {
  for (const auto& [name, member] : occupancy.members(places.scope)) {
    if (kept_for(asking, name, member)) continue;
    if (forgets(places) && leaves_at(places, member) <= now) continue;
    visit(name);
  }
}

std::vector<std::string> holders(const Occupancy& occupancy, const NodePlaces& places, io::Wall now,
                                 std::string_view asking, size_t most) {
  std::vector<std::string_view> names;
  for_each_holder(occupancy, places, now, asking, [&](const std::string& name) { names.push_back(name); });
  const size_t shown = std::min(most, names.size());
  std::partial_sort(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), names.end(), kube::NameOrder());
  return {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)};
}

}  // namespace careen::budget
