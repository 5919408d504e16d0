// Whose turn it is. A place that becomes free goes to the first in order whose limits all allow it, and is kept for it.
// Nobody looks through the whole queue for that: whoever waits stands in the row of what keeps it from its place.
#include <algorithm>
#include <queue>

#include "limits/desk_core.h"

namespace careen::limits {

namespace {

// Far more than nodes of the largest clusters, each wanted by several.
constexpr size_t kMostWaiting = 50'000;
constexpr size_t kMostLimits = 2'000;
constexpr io::Duration kAgeing = io::hours{4};
constexpr io::Duration kPassedOver = io::hours{1};
// Who did not take what it was offered is not offered it again at once: whatever kept it from it may last.
constexpr io::Duration kDeclined = io::seconds{5};

Rank one_up(Rank rank) {
  if (rank == Rank::campaign) return Rank::person;
  if (rank == Rank::person) return Rank::repair;
  return rank;
}

bool ages(Rank rank) { return one_up(rank) != rank; }

}  // namespace

std::string_view name_of(Rank rank) {
  switch (rank) {
    case Rank::deadline:
      return "deadline";
    case Rank::repair:
      return "repair";
    case Rank::person:
      return "person";
    case Rank::campaign:
      return "campaign";
  }
  return "";
}

Desk::Core::Turn Desk::Core::turn_of(const Asking& asking, const NodeState* state) const {
  Rank rank = asking.rank;
  if (io::add(asking.since, kAgeing) <= now()) rank = one_up(rank);
  if (state && state->down) rank = std::min(rank, Rank::repair);
  return {rank, asking.since, asking.who, asking.node};
}

void Desk::Core::take(Place place) {
  NodeState& state = state_of(place.node);
  const std::string who = place.who;
  const bool had_one = state.present && state.has_place();
  const std::string key = budget::claim_key(who, place.uid);
  std::erase_if(state.ledgered, [&](const auto& one) { return budget::claim_key(one.first, one.second.uid) == key; });
  if (who.starts_with(kRequest) && !state.places.contains(who)) {
    for (const auto& member : state.members) {
      std::optional<io::Wall>& last = member->limit.last;
      last = std::max(last.value_or(io::Wall::min()), place.since);
    }
  }
  Turn turn{Rank::campaign, io::Wall::max(), who, state.name};
  // The place is there before what was offered goes: nobody gets in between.
  state.places.insert_or_assign(who, std::move(place));
  recount(state);
  if (const auto entry = state.entries.find(who); entry != state.entries.end()) {
    turn = entry->second.turn;
    drop(entry->second);
  }
  recall(state);
  if (!had_one) pass_over(state, turn);
  reconsider(state);
  soon();
}

void Desk::Core::release(std::string_view node, std::string_view who) {
  const auto it = states_.find(node);
  if (it == states_.end()) return;
  NodeState& state = it->second;
  const auto place = state.places.find(who);
  if (place == state.places.end()) return;
  durations_.add(shown_actor(place->second.actor), now() - place->second.since);
  if (who.starts_with(kRequest)) {
    for (const auto& member : state.members) {
      std::optional<io::Wall>& last = member->limit.last;
      last = std::max(last.value_or(io::Wall::min()), now());
    }
  }
  state.places.erase(place);
  recount(state);
  recall(state);
  forget_if_empty(state);
}

void Desk::Core::wait(Asking asking) {
  NodeState& state = state_of(asking.node);
  // Nobody gets in front by a time that is yet to come, and the turn of one that waits again stays what it was.
  asking.since = std::min(asking.since, now());
  auto it = state.entries.find(asking.who);
  if (it == state.entries.end()) {
    if (entries_ >= kMostWaiting) return forget_if_empty(state);
    std::string who = asking.who;
    Turn turn = turn_of(asking, &state);
    it = state.entries.try_emplace(std::move(who), Entry{std::move(asking), state, std::move(turn)}).first;
    ++entries_;
  } else {
    Entry& entry = it->second;
    if (entry.offered) {
      withdraw(entry);
      entry.declined_until = loop_.now() + kDeclined;
      declined_.emplace(*entry.declined_until, &entry);
    }
    const bool same = entry.asking.rank == asking.rank && entry.asking.since == asking.since &&
                      entry.asking.actor == asking.actor && entry.linked;
    if (same && entry.row) return;
    ageing_.erase({io::add(entry.asking.since, kAgeing), &entry});
    unlink(entry);
    stand_in(entry, nullptr);
    entry.asking = std::move(asking);
  }
  if (ages(it->second.asking.rank)) ageing_.emplace(io::add(it->second.asking.since, kAgeing), &it->second);
  if (it->first.starts_with(kForeignPrefix)) recount(state);
  requeue(it->second);
  changed_ = true;
}

void Desk::Core::leave(std::string_view node, std::string_view who) {
  const auto it = states_.find(node);
  if (it == states_.end()) return;
  const auto entry = it->second.entries.find(who);
  if (entry == it->second.entries.end()) return;
  drop(entry->second);
  forget_if_empty(it->second);
}

void Desk::Core::drop(Entry& entry) {
  NodeState& state = entry.node;
  withdraw(entry);
  unlink(entry);
  stand_in(entry, nullptr);
  ageing_.erase({io::add(entry.asking.since, kAgeing), &entry});
  if (entry.passed) passed_.erase({*entry.passed, &entry});
  if (entry.declined_until) declined_.erase({*entry.declined_until, &entry});
  const bool foreign = entry.asking.who.starts_with(kForeignPrefix);
  state.entries.erase(state.entries.find(entry.asking.who));
  --entries_;
  if (foreign) recount(state);
  changed_ = true;
  soon();
}

// Into the lists of its groups, by its turn.
void Desk::Core::link(Entry& entry) {
  for (const auto& member : entry.node.members) {
    if (!tested(member->limit.limit, entry.asking.who)) continue;
    Group& group = member->group;
    group.waiting.insert(&entry);
    if (!entry.passed) group.unpassed.insert(&entry);
    if (entry.stops) group.stoppers.insert(&entry);
  }
  entry.linked = true;
}

void Desk::Core::unlink(Entry& entry) {
  if (!entry.linked) return;
  for (const auto& member : entry.node.members) {
    Group& group = member->group;
    group.waiting.erase(&entry);
    group.unpassed.erase(&entry);
    if (group.stoppers.erase(&entry) > 0) eased(group);
  }
  entry.linked = false;
}

void Desk::Core::stand_in(Entry& entry, Row* row) {
  if (entry.row == row) return;
  if (entry.row) entry.row->erase(&entry);
  entry.row = row;
  if (row) row->insert(&entry);
}

void Desk::Core::reconsider(Entry& entry) {
  if (entry.offered) return;
  stand_in(entry, &fresh_);
  soon();
}

void Desk::Core::reconsider(NodeState& state) {
  for (auto& [who, entry] : state.entries) reconsider(entry);
}

// Its turn may be another one now.
void Desk::Core::requeue(Entry& entry) {
  if (entry.offered) return;
  unlink(entry);
  stand_in(entry, nullptr);
  entry.turn = turn_of(entry.asking, &entry.node);
  link(entry);
  reconsider(entry);
}

void Desk::Core::offer(Entry& entry) {
  unlink(entry);
  stand_in(entry, nullptr);
  entry.offered = true;
  for (const auto& member : entry.node.members) {
    change(member->group, member->unit, [&] { member->unit.offers.push_back(&entry); });
    if (entry.asking.who.starts_with(kRequest)) ++member->limit.request_offers;
  }
  turns_.emplace_back(entry.asking.node, entry.asking.who);
}

void Desk::Core::withdraw(Entry& entry) {
  if (!entry.offered) return;
  entry.offered = false;
  for (const auto& member : entry.node.members) {
    change(member->group, member->unit, [&] { std::erase(member->unit.offers, &entry); });
    if (!entry.asking.who.starts_with(kRequest)) continue;
    --member->limit.request_offers;
    limits_eased_.insert(&member->limit);
  }
  link(entry);
  soon();
}

// Somebody has been given a place: those before it in one of its groups have been passed over. Each is marked once.
void Desk::Core::pass_over(NodeState& state, const Turn& turn) {
  for (const auto& member : state.members) {
    Row& row = member->group.unpassed;
    while (!row.empty() && (*row.begin())->turn < turn) {
      Entry& entry = **row.begin();
      for (const auto& other : entry.node.members) other->group.unpassed.erase(&entry);
      entry.passed = loop_.now();
      passed_.emplace(*entry.passed, &entry);
    }
  }
}

void Desk::Core::passed_long_enough() {
  while (!passed_.empty() && passed_.begin()->first + kPassedOver <= loop_.now()) {
    Entry& entry = *passed_.begin()->second;
    passed_.erase(passed_.begin());
    entry.stops = true;
    if (!entry.linked) continue;
    for (const auto& member : entry.node.members) {
      if (tested(member->limit.limit, entry.asking.who)) member->group.stoppers.insert(&entry);
    }
  }
}

Desk::Core::Need Desk::Core::need_of(const Entry& entry, const Member& member) const {
  if (member.unit.is_busy()) return nothing;
  if (member.tally.down) return slot_of_down;
  if (member.unit.is_claimed()) return slot_of_counted;
  const auto& reserves = member.limit.limit.reserve;
  const auto own = std::ranges::find(reserves, shown_actor(entry.asking.actor),
                                     [](const Reserve& one) { return shown_actor(one.actor); });
  if (own == reserves.end()) return place;
  return static_cast<Need>(reserved + (own - reserves.begin()));
}

int64_t Desk::Core::kept_for_others(const Group& group, std::string_view actor) const {
  int64_t kept = 0;
  const auto& reserves = group.limit.limit.reserve;
  for (size_t i = 0; i < reserves.size(); ++i) {
    if (shown_actor(reserves[i].actor) == shown_actor(actor)) continue;
    kept += std::max<int64_t>(0, reserves[i].nodes - group.reserve_used[i]);
  }
  return kept;
}

// Whether somebody with that need may have a place there, as far as its numbers say.
bool Desk::Core::eligible(const Group& group, size_t need) const {
  if (need == nothing) return true;
  if (group.busy >= group.parallel) return false;
  if (need == slot_of_down) return true;
  if (group.over) return false;
  if (need == slot_of_counted) return true;
  const auto& reserves = group.limit.limit.reserve;
  const std::string_view actor = need == place ? std::string_view() : reserves[need - reserved].actor;
  return group.claimed + group.lost() < group.cap - kept_for_others(group, actor);
}

std::optional<Desk::Core::Refusal> Desk::Core::refusal_of(const Member& member, const Asker& asker) const {
  Group& group = member.group;
  const auto no = [&](Refused why) { return Refusal{why, &member.limit, &group, std::nullopt, nullptr}; };
  if (group.beyond) return no(Refused::beyond);
  const Unit& unit = member.unit;
  if (!member.tally.down) {
    if (group.over) return no(Refused::over);
    const int64_t others = group.claimed - unit.is_claimed() + group.lost();
    if (others + 1 > group.cap - kept_for_others(group, asker.actor)) return no(Refused::full);
  }
  if (group.busy - unit.is_busy() + 1 > group.parallel) return no(Refused::parallel);
  const auto first = group.stoppers.lower_bound(Turn{asker.turn.rank, io::Wall::min()});
  if (first == group.stoppers.end() || (*first)->turn.rank != asker.turn.rank) return std::nullopt;
  if (*first == asker.entry || &(*first)->node == &member.node) return std::nullopt;
  if (asker.entry && asker.turn < (*first)->turn) return std::nullopt;
  Refusal stopped = no(Refused::stopped);
  stopped.by = *first;
  return stopped;
}

std::optional<Desk::Core::Refusal> Desk::Core::interval_of(LimitState& state, const Asker& asker) const {
  const Limit& limit = state.limit;
  if (limit.interval <= io::Duration{} || !asker.request()) return std::nullopt;
  io::Wall last = state.last.value_or(io::Wall::min());
  for (const auto& time : {limit.last_approval, limit.last_finish}) {
    if (time) last = std::max(last, *time);
  }
  const io::Wall until = last == io::Wall::min() ? last : io::add(last, limit.interval);
  if (until > now()) return Refusal{Refused::interval, &state, nullptr, until, nullptr};
  const int others = state.request_offers - (asker.entry && asker.entry->offered ? 1 : 0);
  if (others > 0) return Refusal{Refused::interval, &state, nullptr, std::nullopt, nullptr};
  return std::nullopt;
}

void Desk::Core::refusals(const NodeState* state, const Asker& asker,
                          const std::function<bool(const Refusal&)>& visit) const {
  if (state && state->present && state->has_place()) return;
  if (!known_) {
    visit({Refused::unknown});
    return;
  }
  if (node_limits_ == 0 && about_workloads_.empty()) return;
  if (node_limits_ + about_workloads_.size() > kMostLimits) {
    visit({Refused::crowded});
    return;
  }
  if (!state || !state->present) {
    visit({Refused::absent});
    return;
  }
  for (const auto& member : state->members) {
    const Limit& limit = member->limit.limit;
    if (!tested(limit, asker.who)) continue;
    if (!limit.mistake.empty()) {
      if (!visit({Refused::mistake, &member->limit})) return;
      continue;
    }
    if (const auto early = interval_of(member->limit, asker); early && !visit(*early)) return;
    if (const auto no = refusal_of(*member, asker); no && !visit(*no)) return;
  }
  if (!about_workloads_.empty()) (void)refused_by_workloads(*state, asker, visit);
}

// Gives it what it waits for, or lets it stand where it has to. What a group refuses to it, if it is that group.
std::optional<Desk::Core::Refused> Desk::Core::consider(Entry& entry, const Group* group) {
  if (entry.declined_until) {
    if (loop_.now() < *entry.declined_until) {
      stand_in(entry, nullptr);
      return std::nullopt;
    }
    declined_.erase({*entry.declined_until, &entry});
    entry.declined_until.reset();
  }
  std::optional<Refusal> first;
  refusals(&entry.node, {entry.asking.who, entry.asking.actor, entry.turn, &entry}, [&](const Refusal& refusal) {
    first = refusal;
    return false;
  });
  if (!first) {
    offer(entry);
    return std::nullopt;
  }
  if (first->group) {
    for (const auto& member : entry.node.members) {
      if (&member->group == first->group) stand_in(entry, &first->group->rows[need_of(entry, *member)]);
    }
    if (first->group == group) return first->why;
  } else if (first->limit) {
    stand_in(entry, &first->limit->row);
    if (first->why == Refused::interval && first->until)
      due_.set({Due::interval, first->limit->limit.name}, io::steady_at(loop_, *first->until));
  } else {
    stand_in(entry, first->why == Refused::absent ? nullptr : &everywhere_);
  }
  return std::nullopt;
}

void Desk::Core::settle() {
  if (serving_) return;
  serving_ = true;
  while (!recounted_.empty() || !dirty_.empty() || !fresh_.empty() || !limits_eased_.empty() || all_eased_) {
    for (Group* const group : std::exchange(recounted_, {})) check_latch(*group);
    serve();
  }
  serving_ = false;
  rearm();
}

// One walk through the rows of whatever allows more than before, all of them together in the order of turns.
void Desk::Core::serve() {
  struct Cursor {
    Entry* next = nullptr;
    Row* row = nullptr;
    const Group* group = nullptr;
    size_t need = 0;
    bool operator<(const Cursor& other) const { return other.next->turn < next->turn; }
  };
  std::priority_queue<Cursor> rows;
  const auto begin = [&](Row& row, const Group* group = nullptr, size_t need = 0) {
    if (!row.empty()) rows.push({*row.begin(), &row, group, need});
  };
  for (const Group* const group : std::exchange(dirty_, {})) {
    for (size_t need = 0; need < group->rows.size(); ++need) begin(const_cast<Group*>(group)->rows[need], group, need);
  }
  for (LimitState* const limit : std::exchange(limits_eased_, {})) begin(limit->row);
  if (std::exchange(all_eased_, false)) begin(everywhere_);
  begin(fresh_);
  while (!rows.empty()) {
    Cursor cursor = rows.top();
    rows.pop();
    if (cursor.group && !eligible(*cursor.group, cursor.need)) continue;
    const Turn turn = cursor.next->turn;
    std::optional<Refused> why;
    // An offer to its node may have called it away.
    if (cursor.next->row == cursor.row) why = consider(*cursor.next, cursor.group);
    // Whoever stops it stops the rest of its class too.
    const auto following =
        why == Refused::stopped && turn.rank != Rank::campaign
            ? cursor.row->lower_bound(Turn{static_cast<Rank>(static_cast<int>(turn.rank) + 1), io::Wall::min()})
        : why == Refused::stopped ? cursor.row->end()
                                  : cursor.row->upper_bound(turn);
    if (following == cursor.row->end()) continue;
    cursor.next = *following;
    rows.push(cursor);
  }
}

}  // namespace careen::limits
