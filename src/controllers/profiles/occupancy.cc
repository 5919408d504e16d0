#include "controllers/profiles/occupancy.h"

#include <algorithm>

#include "budget/ledger.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/name_order.h"
#include "kube/node.h"

namespace careen::profiles {

std::vector<std::string> profiles_of(std::optional<std::string_view> label) {
  if (!label || label->empty()) return {std::string(kDefaultProfile)};
  std::vector<std::string> names;
  std::string_view rest = *label;
  for (;;) {
    const size_t end = rest.find("--");
    std::string name(rest.substr(0, end));
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    if (end == std::string_view::npos) return names;
    rest.remove_prefix(end + 2);
  }
}

namespace {

std::optional<std::string_view> label_of(const kube::Node& node, std::string_view key) {
  const kube::Atom* value = node.label(key);
  if (!value) return std::nullopt;
  return value->view();
}

}  // namespace

std::string Scope::text() const {
  if (labels.empty()) return "all nodes in the cluster";
  std::string out = "nodes matching the ";
  for (size_t i = 0; i < labels.size(); ++i) {
    if (i > 0) out += ',';
    out += labels[i].first + "=" + labels[i].second;
  }
  return out + " label selector";
}

bool Occupancy::matches(const Scope& scope, std::string_view name) const {
  const kube::Node* node = nodes_.find(name);
  // Admitted, but not known (any more): it counts everywhere until its admission has ended.
  if (!node) return true;
  if (!scope.profile.empty()) {
    const auto label = label_of(*node, kProfileLabel);
    if (!label || label->empty()) return false;  // by default it has one that its label does not name
    const auto names = profiles_of(label);
    if (std::find(names.begin(), names.end(), scope.profile) == names.end()) return false;
  }
  return std::all_of(scope.labels.begin(), scope.labels.end(),
                     [&](const auto& want) { return label_of(*node, want.first) == want.second; });
}

Occupancy::Changes Occupancy::update(std::string_view name, const Config& config) {
  const kube::Node* node = nodes_.find(name);
  std::optional<Member> member;
  if (node) {
    const auto entry = ledger_.entries().find(node->uid);
    const bool admitted = entry != ledger_.entries().end() && entry->second.admission.counts;
    const bool labelled = label_of(*node, kStateLabel) == name_of(State::in_maintenance);
    const std::string* text = node->annotation(kDataAnnotation);
    const auto data = parse_node_data(text ? std::string_view(*text) : std::string_view{});
    // The annotation is what counts; the label may have been edited by somebody and is about to be put right.
    bool recorded = false;
    if (data) {
      for (const std::string& profile : profiles_of(label_of(*node, kProfileLabel))) {
        const auto it = data->profiles.find(profile);
        recorded |= config.find_profile(profile) && it != data->profiles.end() &&
                    it->second.current.known() == State::in_maintenance;
      }
    }
    if (admitted || labelled || recorded) {
      member.emplace();
      member->in_state = labelled || recorded;
      member->admitted = admitted;
      if (data) {
        member->transitions.emplace();
        for (const auto& [profile, known] : data->profiles) member->transitions->emplace(profile, known.transition);
      }
    }
  } else {
    for (const auto& [uid, entry] : ledger_.entries()) {
      if (entry.admission.node == name && entry.admission.counts) member.emplace();
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

void Occupancy::rebuild(const Config& config) {
  all_.clear();
  scopes_.clear();
  nodes_.for_each([&](const kube::Node& node) { update(node.name, config); });
  for (const auto& [uid, entry] : ledger_.entries()) update(entry.admission.node, config);
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

bool forgets(const BudgetKey& key) { return key.skip_after > io::Duration{0}; }

// When the maintenance grows too old to count. Of one that is yet to begin, or whose data nobody can read, it is not
// known, and it never does: no node's nonsense decides about others.
io::Wall leaves_at(const BudgetKey& key, const Occupancy::Member& member) {
  if (!member.in_state || member.admitted || !member.transitions) return io::Wall::max();
  io::Wall newest = kZeroTime;
  for (const auto& [profile, time] : *member.transitions) {
    if (key.scope.profile.empty() || profile == key.scope.profile) newest = std::max(newest, time);
  }
  return io::add(newest, key.skip_after);
}

bool kept_for(std::string_view asking, const std::string& name, const Occupancy::Member& member) {
  return name == asking && !member.in_state;
}

}  // namespace

BudgetUse measure(const Occupancy& occupancy, const BudgetKey& key, io::Wall now, std::string_view asking) {
  BudgetUse use;
  const Occupancy::Members& members = occupancy.members(key.scope);
  if (!forgets(key)) {
    const auto own = members.find(asking);
    use.used =
        static_cast<int64_t>(members.size()) - (own != members.end() && kept_for(asking, own->first, own->second));
    return use;
  }
  std::vector<io::Wall> leaving;
  for (const auto& [name, member] : members) {
    if (kept_for(asking, name, member)) continue;
    const io::Wall leaves = leaves_at(key, member);
    if (leaves <= now) continue;
    if (leaves != io::Wall::max()) leaving.push_back(leaves);
    ++use.used;
  }
  // So many have to grow old before one place is free.
  const int64_t surplus = use.used - key.max;
  if (surplus >= 0 && surplus < static_cast<int64_t>(leaving.size())) {
    std::nth_element(leaving.begin(), leaving.begin() + surplus, leaving.end());
    use.free_at = leaving[static_cast<size_t>(surplus)];
  }
  return use;
}

std::vector<std::string> holders(const Occupancy& occupancy, const BudgetKey& key, io::Wall now,
                                 std::string_view asking, size_t most) {
  std::vector<std::string_view> names;
  for (const auto& [name, member] : occupancy.members(key.scope)) {
    if (kept_for(asking, name, member)) continue;
    if (forgets(key) && leaves_at(key, member) <= now) continue;
    names.push_back(name);
  }
  const size_t shown = std::min(most, names.size());
  std::partial_sort(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), names.end(), kube::NameOrder());
  return {names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown)};
}

}  // namespace careen::profiles
