// Who counts: nodes in the groups of the limits that select them, each unit once, whoever took it out.
#include <fmt/format.h>

#include <algorithm>

#include "drain/holds.h"
#include "limits/desk_core.h"

namespace careen::limits {

namespace {

// A limit by host name makes a group of each node. More than the largest clusters have nodes is a mistake.
constexpr size_t kMostGroups = 20'000;
// As profiles write it; in a cluster where they run elsewhere it is all that tells of them.
constexpr std::string_view kStateLabel = "cloud.sap/maintenance-state";
constexpr std::string_view kInMaintenance = "in-maintenance";
constexpr std::string_view kMaintenanceController = "maintenance-controller";
constexpr std::string_view kProfile = "profile/";
constexpr std::string_view kNotBack = "failure";
// The autoscaler removes the node because it is not needed.
constexpr std::string_view kScaledDown = "ToBeDeletedByClusterAutoscaler";
// So long after a node begins to leave its first eviction shows whether it waits its turn.
constexpr io::Duration kShowsItself = io::seconds{3};
constexpr io::Duration kLongestLinger = io::hours{1};
// No clocks are as far apart: what is older than that when it is first seen was there while nobody looked.
constexpr io::Duration kSeenLate = io::minutes{1};
// A group that had too much out admits again when it has had less for this long, or for settleSeconds.
constexpr io::Duration kSteadyBelow = io::seconds{30};

std::string unit_of(const kube::Node& node, const Limit& limit) {
  const kube::Atom* const value = limit.unit.empty() ? nullptr : node.label(limit.unit);
  return value && !value->empty() ? fmt::format("u/{}", value->view()) : "n/" + node.name;
}

std::vector<std::string> values_of(const kube::Node& node, const Limit& limit) {
  std::vector<std::string> values;
  for (const std::string& key : limit.group_by) {
    const kube::Atom* const value = node.label(key);
    values.emplace_back(value ? value->view() : std::string_view());
  }
  return values;
}

std::string group_name(const Limit& limit, const std::vector<std::string>& values) {
  std::string name = limit.name;
  for (const std::string& value : values) name.append("/").append(value);
  return name;
}

bool is_terminal(const Fact& fact) { return fact.actor.starts_with(drain::kTerminalPrefix); }

void sooner(std::optional<io::Steady>& due, io::Steady when) { due = due ? std::min(*due, when) : when; }

// When a foreign cordon began: as it says itself, or when it was seen, if that was earlier.
io::Wall began(const Fact& fact, const std::vector<Desk::Core::Seen>& seen) {
  io::Wall since = fact.since.value_or(io::Wall::max());
  for (const auto& one : seen) {
    if (one.actor == fact.actor) since = std::min(since, one.since);
  }
  return since;
}

// When it was seen here first; what was there from the start may have been there for ever.
io::Wall first_seen(const Fact& fact, const std::vector<Desk::Core::Seen>& seen) {
  const auto one = std::ranges::find(seen, fact.actor, &Desk::Core::Seen::actor);
  return one == seen.end() || one->from_the_start ? io::Wall{} : one->since;
}

// For people: nothing where nobody knows.
std::optional<io::Wall> shown_since(const Fact& fact, const std::vector<Desk::Core::Seen>& seen) {
  if (fact.since) return fact.since;
  for (const auto& one : seen) {
    if (one.actor == fact.actor && !one.from_the_start) return one.since;
  }
  return std::nullopt;
}

bool matches(Policy policy, const Desk::Core::NodeState& state) {
  return policy == Policy::not_ready ? state.not_ready : state.unschedulable;
}

}  // namespace

bool Desk::Core::NodeState::holds(const std::map<std::string, Place, std::less<>>& in) const {
  return std::ranges::any_of(in, [this](const auto& one) { return !present || one.second.is_of(uid); });
}

int64_t Desk::Core::Group::lost() const {
  return limit.limit.count == Count::all ? static_cast<int64_t>(missing.size()) + lacking : 0;
}

// However many a set says it lacks, they never more than double what there is.
int64_t Desk::Core::Group::whole() const {
  return total() + lost() - (lost() > 0 ? lacking - std::min(lacking, total()) : 0);
}

Desk::Core::NodeState& Desk::Core::state_of(std::string_view node) {
  auto it = states_.find(node);
  if (it == states_.end()) {
    it = states_.emplace(std::string(node), NodeState{}).first;
    it->second.name = it->first;
  }
  return it->second;
}

void Desk::Core::forget_if_empty(NodeState& state) {
  if (!state.empty()) return;
  due_.set({Due::node, state.name}, std::nullopt);
  states_.erase(states_.find(state.name));
}

std::vector<Fact> Desk::Core::facts(const kube::Node& node) const {
  std::vector<Fact> facts = limits::facts_of(node, taints_);
  if (others_) others_->add_facts(node, facts);
  return facts;
}

void Desk::Core::node_changed(const kube::Node* before, const kube::Node* after) {
  if (!after) return node_gone(*before);
  NodeState& state = state_of(after->name);
  const bool is_new = !state.present;
  state.present = true;
  state.uid = after->uid;
  std::vector<Seen> seen;
  state.facts = facts(*after);
  for (const Fact& fact : state.facts) {
    const auto known = std::ranges::find(state.seen, fact.actor, &Seen::actor);
    if (has_one(seen, fact.actor, &Seen::actor)) continue;
    seen.push_back(known != state.seen.end() ? *known : Seen{fact.actor, now(), !known_});
  }
  for (const Seen& one : state.seen) {
    // How long it was out by that actor is learned from those that were seen to begin.
    if (!one.from_the_start && !has_one(seen, one.actor, &Seen::actor))
      durations_.add(shown_actor(one.actor), now() - one.since);
  }
  state.seen = std::move(seen);
  state.not_ready = is_not_ready(*after, rules_.not_ready_only_false);
  const kube::NodeCondition* const ready = after->condition("Ready");
  state.ready_since = ready ? ready->since : io::Wall{};
  state.unschedulable = after->unschedulable;
  const kube::Atom* const label = after->label(kStateLabel);
  state.says_in_maintenance = label && *label == kInMaintenance;
  const bool down =
      std::ranges::any_of(state.facts, [](const Fact& fact) { return fact.kind == Fact::Kind::down && !fact.own; });
  const bool other_rank = std::exchange(state.down, down) != down;
  if (is_new || !before || before->labels != after->labels) rejoin(state, *after);
  if (others_) belong(state, others_->set_of(*after));
  recount(state);
  recall(state);
  if (is_new) found(after->uid);
  if (is_new || other_rank) {
    for (auto& [who, entry] : state.entries) requeue(entry);
  }
}

void Desk::Core::node_gone(const kube::Node& node) {
  const auto it = states_.find(node.name);
  if (it == states_.end()) return;
  NodeState& state = it->second;
  const bool lost = state.has_place() || state.down ||
                    std::ranges::any_of(state.facts, [](const Fact& fact) { return fact.own && fact.counts(); });
  const bool not_needed =
      std::ranges::any_of(node.taints, [](const kube::Taint& taint) { return taint.key == kScaledDown; });
  // A set that says how many it should have tells of the missing ones itself.
  const bool counted_by_set = state.set && state.set->is_sized();
  const bool surplus = others_ && others_->is_surplus(node);
  if (lost && !not_needed && !counted_by_set && !surplus) lose(node, state);
  if (state.set) {
    --state.set->present;
    resize(*state.set);
  }
  for (auto& [who, entry] : state.entries) {
    withdraw(entry);
    unlink(entry);
    stand_in(entry, nullptr);
  }
  while (!state.members.empty()) part(state, state.members.size() - 1);
  if (NodeSet* const set = std::exchange(state.set, nullptr)) forget_if_unused(*set);
  state.present = false;
  state.facts.clear();
  state.seen.clear();
  state.down = state.says_in_maintenance = state.not_ready = state.unschedulable = false;
  due_.set({Due::node, state.name}, std::nullopt);
  recall(state);
  forget_if_empty(state);
}

void Desk::Core::rejoin(NodeState& state, const kube::Node& node) {
  for (auto& [name, limit] : limits_) rejoin(state, node, limit);
}

void Desk::Core::rejoin(NodeState& state, const kube::Node& node, LimitState& limit) {
  if (!limit.about_nodes()) return;
  const auto member = std::ranges::find_if(state.members, [&](const auto& one) { return &one->limit == &limit; });
  const bool is_in = member != state.members.end();
  const bool belongs = limit.limit.selects(node);
  if (!is_in && !belongs) return;
  std::vector<std::string> values = belongs ? values_of(node, limit.limit) : std::vector<std::string>{};
  std::string unit = belongs ? unit_of(node, limit.limit) : std::string();
  if (is_in && belongs && (*member)->group.values == values && (*member)->unit.key == unit) return;
  if (is_in) part(state, static_cast<size_t>(member - state.members.begin()));
  if (!belongs) return;
  join(state, limit, values, std::move(unit));
  replace_in(group_of(limit, values), node);
}

Desk::Core::Group& Desk::Core::group_of(LimitState& limit, const std::vector<std::string>& values) {
  auto& slot = limit.groups[values];
  if (!slot) {
    slot = std::make_unique<Group>(limit);
    slot->values = values;
    slot->name = group_name(limit.limit, values);
    slot->beyond = limit.groups.size() > kMostGroups;
    slot->reserve_used.resize(limit.limit.reserve.size());
    slot->rows.resize(reserved + limit.limit.reserve.size());
  }
  return *slot;
}

// It counts once recount() has looked at it.
void Desk::Core::join(NodeState& state, LimitState& limit, std::vector<std::string> values, std::string key) {
  Group& group = group_of(limit, values);
  Unit& unit = group.units.try_emplace(key).first->second;
  unit.key = std::move(key);
  const auto at =
      std::ranges::lower_bound(state.members, limit.limit.name, {},
                               [](const auto& member) -> const std::string& { return member->limit.limit.name; });
  for (auto& [who, entry] : state.entries) unlink(entry);
  Member& member = **state.members.insert(at, std::make_unique<Member>(Member{state, limit, group, unit}));
  change(group, unit, [&] {
    unit.members.insert(&member);
    for (auto& [who, entry] : state.entries) {
      if (entry.offered) unit.offers.push_back(&entry);
    }
  });
  for (auto& [who, entry] : state.entries) {
    if (entry.offered && who.starts_with(kRequest)) ++limit.request_offers;
    if (!entry.offered) link(entry);
    reconsider(entry);
  }
  if (state.set) enter(*state.set, group);
  recap(group);
}

void Desk::Core::part(NodeState& state, size_t index) {
  Member& member = *state.members[index];
  Group& group = member.group;
  Unit& unit = member.unit;
  apply(member, {});
  change(group, unit, [&] { std::erase_if(unit.offers, [&](const Entry* entry) { return &entry->node == &state; }); });
  unit.members.erase(&member);
  for (auto& [who, entry] : state.entries) {
    unlink(entry);
    stand_in(entry, nullptr);
    if (entry.offered && who.starts_with(kRequest)) {
      --member.limit.request_offers;
      limits_eased_.insert(&member.limit);
    }
  }
  if (unit.members.empty()) group.units.erase(group.units.find(unit.key));
  state.members.erase(state.members.begin() + static_cast<std::ptrdiff_t>(index));
  for (auto& [who, entry] : state.entries) {
    if (!entry.offered) link(entry);
    reconsider(entry);
  }
  if (state.set) leave(*state.set, group);
  recap(group);
  drop_if_empty(group);
}

void Desk::Core::drop_if_empty(Group& group) {
  if (!group.empty()) return;
  dirty_.erase(&group);
  recounted_.erase(&group);
  exceeded_.erase(&group);
  due_.set({Due::latch, group.name}, std::nullopt);
  group.limit.groups.erase(std::vector<std::string>(group.values));
}

void Desk::Core::recap(Group& group) {
  const Limit& limit = group.limit.limit;
  const int64_t all = group.whole();
  const int64_t cap = limit.nominal(all), parallel = limit.parallel(all);
  group.listed.reset();
  changed_ = true;
  soon();
  if (cap == group.cap && parallel == group.parallel) return;
  const bool more = cap > group.cap || parallel > group.parallel;
  group.cap = cap;
  group.parallel = parallel;
  recounted_.insert(&group);
  if (more) eased(group);
}

void Desk::Core::recount(NodeState& state) {
  std::optional<io::Steady> due;
  for (const auto& member : state.members) {
    const Tally says = tally(state, member->limit.limit, due);
    if (member->limit.limit.settle > io::Duration{} && says.counted)
      member->last_holders = holders_of(state, member->limit.limit);
    apply(*member, settled(*member, says, due));
    member->group.listed.reset();
    // Who uses a reserve may be another one now, though the node counts as before.
    if (!member->limit.limit.reserve.empty()) change(member->group, member->unit, [] {});
  }
  due_.set({Due::node, state.name}, due);
  // The alarm has to know.
  if (due) soon();
}

bool Desk::Core::NodeState::has_foreign_entry() const {
  return std::ranges::any_of(entries, [](const auto& one) { return one.first.starts_with(kForeignPrefix); });
}

Desk::Core::Tally Desk::Core::tally(const NodeState& state, const Limit& limit, std::optional<io::Steady>& due) const {
  Tally tally;
  if (state.present && state.has_place()) tally = {.counted = true, .working = true};
  for (const Fact& fact : state.facts) {
    if (!fact.own || !fact.counts()) continue;
    tally.counted = true;
    tally.working |= fact.kind == Fact::Kind::working || is_terminal(fact);
  }
  if (limit.count == Count::policies) {
    tally.down = std::ranges::any_of(limit.policies, [&](Policy policy) { return matches(policy, state); });
    tally.counted |= tally.down;
    return tally;
  }
  // Who waits its turn serves on.
  const bool makes_wait = limit.mode != Mode::observe && !state.has_place();
  const bool stands_in_line = state.has_foreign_entry();
  for (const Fact& fact : state.facts) {
    if (fact.own || !fact.counts()) continue;
    const auto look_again = [&](io::Wall when) { sooner(due, io::steady_at(loop_, when)); };
    if (fact.until) {
      if (*fact.until <= now()) continue;
      look_again(*fact.until);
    }
    if (makes_wait && fact.kind != Fact::Kind::down) {
      const io::Wall first = first_seen(fact, state.seen);
      const bool was_there = first <= leads_from_ || (fact.since && io::add(*fact.since, kSeenLate) < first);
      const io::Wall shows_itself = was_there ? io::Wall{} : io::add(first, kShowsItself);
      if (shows_itself > now()) look_again(shows_itself);
      tally.waits = stands_in_line || shows_itself > now();
      if (tally.waits) continue;
    }
    if (fact.cordon && limit.foreign_cordon_after > io::Duration{}) {
      const io::Wall from = io::add(began(fact, state.seen), limit.foreign_cordon_after);
      if (from > now()) {
        look_again(from);
        continue;
      }
    }
    tally.counted = true;
    tally.working |= fact.kind == Fact::Kind::working;
    tally.down |= fact.kind == Fact::Kind::down;
  }
  const auto is_profile = [](std::string_view actor) { return actor.starts_with(kProfile); };
  if (state.says_in_maintenance &&
      !std::ranges::any_of(state.places, is_profile, [](const auto& p) { return std::string_view(p.first); })) {
    tally.counted = tally.working = true;
  }
  return tally;
}

// What others do not end in so long does not count for ever: people who may write such an object need not be people who
// may take nodes out.
bool Desk::Core::lingers(Member& member, const Tally& says, std::optional<io::Steady>& due) const {
  const bool holds = !says.counted && !says.waits && member.tally.counted && member.limit.limit.count == Count::all &&
                     std::ranges::any_of(member.node.facts, &Fact::lingers);
  if (!holds) {
    member.lingers_from.reset();
    return false;
  }
  if (!member.lingers_from) member.lingers_from = loop_.now();
  const io::Steady until = *member.lingers_from + kLongestLinger;
  if (loop_.now() >= until) return false;
  sooner(due, until);
  return true;
}

// It counts on until it has been back for long enough.
Desk::Core::Tally Desk::Core::settled(Member& member, Tally says, std::optional<io::Steady>& due) {
  const io::Duration settle = member.limit.limit.settle;
  // One that is seen for the first time has been back for as long as it says.
  if (!std::exchange(member.looked_at, true) && !says.counted && io::add(member.node.ready_since, settle) > now()) {
    member.back_at = loop_.now() - std::clamp(now() - member.node.ready_since, io::Duration{}, settle);
    member.last_holders = {{std::string(kNotBack), member.node.name, "was not ready", std::nullopt}};
    apply(member, {.counted = true});
  }
  if (lingers(member, says, due)) says = {.counted = true, .working = true};
  if (says.counted || says.waits || !member.tally.counted || settle == io::Duration{}) {
    member.back_at.reset();
    return says;
  }
  if (!member.back_at) member.back_at = loop_.now();
  const io::Steady until = *member.back_at + settle;
  if (loop_.now() >= until) {
    member.back_at.reset();
    return says;
  }
  sooner(due, until);
  return {.counted = true, .working = member.tally.working};
}

void Desk::Core::apply(Member& member, Tally tally) {
  if (member.tally == tally) return;
  const Tally before = member.tally;
  change(member.group, member.unit, [&] {
    member.tally = tally;
    member.unit.counted += tally.counted - before.counted;
    member.unit.working += tally.working - before.working;
  });
  if (tally.counted && !before.counted) member.counted_as = ++counted_;
  if (!tally.counted) member.last_holders.clear();
  if (tally.down != before.down) reconsider(member.node);
}

std::vector<Holder> Desk::Core::holders_of(const NodeState& state, const Limit& limit) const {
  std::vector<Holder> holders;
  const auto add = [&](std::string_view actor, std::string what, std::optional<io::Wall> since, bool own) {
    if (has_one(holders, shown_actor(actor), &Holder::actor)) return;
    holders.push_back({std::string(shown_actor(actor)), state.name, std::move(what), since, own});
  };
  for (const auto* const places : {&state.places, &state.ledgered}) {
    for (const auto& [who, place] : *places) {
      if (place.is_of(state.uid)) add(place.actor, "has a place", place.since, true);
    }
  }
  for (const Fact& fact : state.facts) {
    if (!fact.counts() && !fact.lingers) continue;
    const bool by_policy = limit.count == Count::policies && !fact.own;
    if (by_policy) continue;
    if (fact.own && (state.places.contains(fact.actor) || state.ledgered.contains(fact.actor))) continue;
    add(fact.actor, fact.what, shown_since(fact, state.seen), fact.own);
  }
  if (limit.count == Count::policies) {
    for (const Policy policy : limit.policies) {
      if (!matches(policy, state)) continue;
      add(name_of(policy), "matches the policy", std::nullopt, false);
      break;
    }
  } else if (state.says_in_maintenance && !std::ranges::any_of(holders, [](const Holder& one) {
               return one.own && one.actor.starts_with(kProfile);
             })) {
    add(kMaintenanceController, "in maintenance", std::nullopt, false);
  }
  sort_by_time(holders);
  return holders;
}

int Desk::Core::reserve_of(const Group& group, const Unit& unit) const {
  std::optional<io::Wall> first;
  std::string actor;
  for (const Member* const member : unit.members) {
    if (!member->tally.counted) continue;
    std::vector<Holder> holders = holders_of(member->node, group.limit.limit);
    if (holders.empty()) holders = member->last_holders;
    if (holders.empty()) continue;
    const io::Wall since = holders.front().since.value_or(io::Wall::min());
    if (!first || since < *first) {
      first = since;
      actor = holders.front().actor;
    }
  }
  if (!first && !unit.offers.empty()) actor = shown_actor(unit.offers.front()->asking.actor);
  const auto& reserves = group.limit.limit.reserve;
  const auto it = std::ranges::find(reserves, actor, [](const Reserve& one) { return shown_actor(one.actor); });
  return it == reserves.end() || actor.empty() ? -1 : static_cast<int>(it - reserves.begin());
}

// Too many were out: that has to be over for a while before anything voluntary begins, since what fails together often
// comes back one by one.
void Desk::Core::check_latch(Group& group) {
  const Limit& limit = group.limit.limit;
  const int64_t used = group.used + group.lost();
  if (used > group.cap) {
    exceeded_.insert(&group);
  } else {
    exceeded_.erase(&group);
  }
  if (limit.count == Count::all && used > group.cap) group.over = true;
  if (!group.over) return;
  const Due due{Due::latch, group.name};
  if (used >= group.cap) {
    group.below_since.reset();
    due_.set(due, std::nullopt);
    return;
  }
  if (!group.below_since) group.below_since = loop_.now();
  const io::Steady until = *group.below_since + std::max(kSteadyBelow, limit.settle);
  if (loop_.now() < until) return due_.set(due, until);
  group.over = false;
  group.below_since.reset();
  eased(group);
}

}  // namespace careen::limits
