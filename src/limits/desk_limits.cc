// Which limits there are, and which nodes are missing in their groups.
#include <fmt/format.h>

#include <algorithm>

#include "io/whole_seconds.h"
#include "limits/desk_core.h"

namespace careen::limits {

namespace {

// A node that nobody has replaced by then is not going to be.
constexpr io::Duration kMissingFor = io::hours{1};
constexpr size_t kMostMissing = 5'000;
// The ledger is one small object: what a missing node takes of it is bounded.
constexpr size_t kMostGroupsRecorded = 32;
// However many vanish at once, those that are to be admitted find room there; more are known to this process alone.
constexpr int64_t kRoomForAdmissions = 96;

std::string missing_key(std::string_view uid) { return budget::claim_key(kMissing, uid); }

// A status that changes, as it does with each decision, changes nothing of what the limit asks for.
bool same_spec(const kube::Object& a, const kube::Object& b) {
  return a.uid == b.uid && a.document["spec"] == b.document["spec"];
}

}  // namespace

void Desk::Core::limit_changed(const kube::Object* before, const kube::Object* after) {
  const std::string& name = after ? after->name : before->name;
  const auto known = limits_.find(name);
  if (after && before && known != limits_.end() && same_spec(*before, *after)) {
    LimitState& state = known->second;
    state.limit = parse_limit(*after, {.floor_of_one = rules_.floor_of_one});
    // A time that is taken back lets somebody begin earlier.
    limits_eased_.insert(&state);
    return soon();
  }
  if (!after) return remove_limit(name);
  add_limit(parse_limit(*after, {.floor_of_one = rules_.floor_of_one}));
}

void Desk::Core::remove_limit(std::string_view name) {
  const auto it = limits_.find(name);
  if (it == limits_.end()) return;
  LimitState& state = it->second;
  if (state.about_nodes()) --node_limits_;
  drop_workload_limit(state);
  std::vector<NodeState*> in;
  for (const auto& [values, group] : state.groups) {
    for (const auto& [key, unit] : group->units) {
      for (const Member* const member : unit.members) in.push_back(&member->node);
    }
  }
  for (NodeState* const node : in) {
    const auto member = std::ranges::find_if(node->members, [&](const auto& each) { return &each->limit == &state; });
    part(*node, static_cast<size_t>(member - node->members.begin()));
  }
  while (!state.groups.empty()) {
    Group& group = *state.groups.begin()->second;
    group.missing.clear();
    while (!group.sets.empty()) {
      NodeSet& set = **group.sets.begin();
      detach(set, group);
      forget_if_unused(set);
    }
    drop_if_empty(group);
  }
  while (!state.row.empty()) reconsider(**state.row.begin());
  limits_eased_.erase(&state);
  due_.set({Due::interval, state.limit.name}, std::nullopt);
  limits_.erase(it);
  changed_ = true;
  soon();
}

// What is known of the old one beyond its numbers stays: nodes that settle, groups that had too much out, the time of
// the last request.
void Desk::Core::add_limit(Limit limit) {
  const std::string name = limit.name;
  struct Settling {
    Tally tally;
    std::optional<io::Steady> back_at;
    std::vector<Holder> holders;
  };
  std::map<std::string, Settling> settling;
  std::map<std::string, std::optional<io::Steady>> over;
  std::vector<std::pair<std::vector<std::string>, SetId>> lacking;
  std::optional<io::Wall> last;
  if (const auto old = limits_.find(name); old != limits_.end()) {
    last = old->second.last;
    for (const auto& [values, group] : old->second.groups) {
      if (group->over) over.emplace(group->name, group->below_since);
      for (const NodeSet* const set : group->sets) {
        if (old->second.limit.group_by == limit.group_by && old->second.limit.selector == limit.selector)
          lacking.emplace_back(values, set->id);
      }
      for (const auto& [key, unit] : group->units) {
        for (const Member* const member : unit.members) {
          if (member->tally.counted)
            settling.emplace(member->node.name, Settling{member->tally, member->back_at, member->last_holders});
        }
      }
    }
    remove_limit(name);
  }
  LimitState& state = limits_[name];
  state.limit = std::move(limit);
  state.last = last;
  changed_ = true;
  soon();
  if (!state.about_nodes()) return put_workload_limit(state);
  ++node_limits_;
  all_eased_ = true;  // there may have been too many
  nodes_.for_each([&](const kube::Node& node) {
    const auto at = states_.find(node.name);
    if (at == states_.end() || !at->second.present) return;
    NodeState& one = at->second;
    rejoin(one, node, state);
    const auto member = std::ranges::find_if(one.members, [&](const auto& each) { return &each->limit == &state; });
    if (member == one.members.end()) return;
    if (const auto was = settling.find(node.name); was != settling.end()) {
      apply(**member, was->second.tally);
      (*member)->looked_at = true;
      (*member)->back_at = was->second.back_at;
      (*member)->last_holders = std::move(was->second.holders);
    }
    recount(one);
  });
  for (const auto& [uid, missing] : missing_) attach_missing(missing, &state);
  for (const auto& [values, id] : lacking) {
    Group& group = group_of(state, values);
    lack_again(id, group);
    drop_if_empty(group);
  }
  for (const auto& [values, group] : state.groups) {
    const auto was = over.find(group->name);
    if (was == over.end() || state.limit.count != Count::all) continue;
    group->over = true;
    group->below_since = was->second;
    recounted_.insert(group.get());
  }
}

void Desk::Core::read_anew() {
  objects_.for_each(
      [this](const kube::Object& object) { add_limit(parse_limit(object, {.floor_of_one = rules_.floor_of_one})); });
  nodes_.for_each([this](const kube::Node& node) { node_changed(&node, &node); });
}

// The node was out when it went: its group lacks it until another one has come.
void Desk::Core::lose(const kube::Node& node, const NodeState& state) {
  if (missing_.size() >= kMostMissing) return;
  budget::Admission admission{.uid = node.uid, .node = node.name, .by = std::string(kMissing), .since = now()};
  for (const auto& member : state.members) {
    if (admission.groups.size() < kMostGroupsRecorded) admission.groups.push_back(member->group.name);
  }
  if (admission.groups.empty()) return;
  if (ledger_.room() > kRoomForAdmissions) ledger_.reserve(admission);
  add_missing(std::move(admission));
}

void Desk::Core::add_missing(budget::Admission admission) {
  const std::string uid = admission.uid;
  const io::Steady until = io::steady_at(loop_, io::add(std::min(admission.since, now()), kMissingFor));
  const auto [it, added] = missing_.try_emplace(uid, Missing{std::move(admission), until});
  if (!added) return;
  due_.set({Due::missing, uid}, until);
  attach_missing(it->second, nullptr);
}

void Desk::Core::attach_missing(const Missing& missing, LimitState* only) {
  for (const std::string& name : missing.admission.groups) {
    std::vector<std::string> parts;
    for (size_t from = 0;;) {
      const size_t slash = name.find('/', from);
      parts.push_back(name.substr(from, slash == std::string::npos ? slash : slash - from));
      if (slash == std::string::npos) break;
      from = slash + 1;
    }
    const auto limit = limits_.find(parts.front());
    if (limit == limits_.end() || !limit->second.about_nodes() || (only && &limit->second != only)) continue;
    // Since then it may have got other groups.
    if (parts.size() - 1 != limit->second.limit.group_by.size()) continue;
    Group& group = group_of(limit->second, {parts.begin() + 1, parts.end()});
    group.missing.emplace(missing.admission.since, missing.admission.uid);
    recounted_.insert(&group);
    recap(group);
  }
}

// It is missing no more.
void Desk::Core::found(std::string_view uid) {
  const auto it = missing_.find(uid);
  if (it == missing_.end()) return;
  const budget::Admission admission = std::move(it->second.admission);
  missing_.erase(it);
  due_.set({Due::missing, admission.uid}, std::nullopt);
  for (auto& [name, limit] : limits_) {
    for (auto next = limit.groups.begin(); next != limit.groups.end();) {
      Group& group = *(next++)->second;
      if (group.missing.erase({admission.since, admission.uid}) == 0) continue;
      recounted_.insert(&group);
      eased(group);
      recap(group);
      drop_if_empty(group);
    }
  }
  ledger_.finish(missing_key(admission.uid));
}

// A node that is newer than the deletion takes the place of the one that has been missing longest.
void Desk::Core::replace_in(Group& group, const kube::Node& node) {
  if (group.missing.empty()) return;
  // Made anew under its name it is back, whatever our clock says.
  for (const auto& [since, uid] : group.missing) {
    const auto it = missing_.find(uid);
    if (it != missing_.end() && it->second.admission.node == node.name) return replaced(std::string(uid), group);
  }
  const auto [since, uid] = *group.missing.begin();
  // The server tells whole seconds.
  if (node.created < io::whole_seconds(since)) return;
  replaced(std::string(uid), group);
}

void Desk::Core::replaced(const std::string& uid, Group& group) {
  const auto it = missing_.find(uid);
  if (it == missing_.end()) return;
  budget::Admission& admission = it->second.admission;
  std::erase(admission.groups, group.name);
  if (admission.groups.empty()) return found(uid);
  group.missing.erase({admission.since, uid});
  recounted_.insert(&group);
  eased(group);
  recap(group);
  if (ledger_.has(admission.key())) ledger_.reserve(admission);
}

// What is in the ledger and nobody here has taken yet counts all the same: whoever it is of may not lead yet.
void Desk::Core::inherit() {
  std::vector<budget::Admission> gone, ran;
  for (const auto& [key, entry] : ledger_.entries()) {
    const budget::Admission& admission = entry.admission;
    if (admission.by == kMissing) {
      if (nodes_.find(admission.node)) {
        gone.push_back(admission);
      } else {
        add_missing(admission);
      }
      continue;
    }
    if (admission.by == kWorkloads) {
      ran.push_back(admission);
      continue;
    }
    if (!entry.inherited || !admission.counts) continue;
    NodeState& state = state_of(admission.node);
    if (state.places.contains(admission.by)) continue;
    state.ledgered[admission.by] = {admission.node, admission.uid, admission.by, admission.by, admission.since};
    recount(state);
  }
  for (const budget::Admission& admission : gone) {
    ledger_.finish(admission.key());
    found(admission.uid);
  }
  leads_ = true;
  leads_from_ = now();
  for (auto& [name, state] : states_) recount(state);
  for (const budget::Admission& admission : ran) inherit_workloads(admission);
  remember_all();
}

void Desk::Core::ledger_ended(const budget::Admission& admission) {
  const auto it = states_.find(admission.node);
  if (it == states_.end()) return;
  const std::string key = admission.key();
  const auto ended = std::erase_if(
      it->second.ledgered, [&](const auto& one) { return budget::claim_key(one.first, one.second.uid) == key; });
  if (ended == 0) return;
  recount(it->second);
  recall(it->second);
  forget_if_empty(it->second);
}

}  // namespace careen::limits
