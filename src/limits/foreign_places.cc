#include "limits/foreign_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "budget/ledger.h"
#include "io/steady_at.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "limits/desk.h"
#include "limits/limit.h"

namespace careen::limits {

using io::Task;

namespace {

constexpr std::string_view kMarker = "queue/";

bool is_marker(std::string_view by) { return by.starts_with(kMarker); }

budget::Admission marker_of(const Limit& limit, io::Wall now) {
  return {.uid = limit.uid, .node = limit.name, .by = std::string(kMarker) + limit.name, .since = now, .counts = false};
}

bool is_leaving_by_others(std::vector<Fact> facts) {
  std::erase_if(facts, [](const Fact& fact) { return fact.own; });
  return leaving_by(facts) != nullptr;
}

}  // namespace

bool makes_wait(const Limit& limit) {
  return limit.subject == Subject::node && !limit.deleting && limit.mode != Mode::observe;
}

bool makes_wait(const Desk& desk, std::string_view node) {
  return std::ranges::any_of(desk.limits_of(node), [](const Limit* limit) { return makes_wait(*limit); });
}

ForeignPlaces::ForeignPlaces(Parts parts)
    : p_(std::move(parts)), changed_(p_.loop), timer_(p_.loop, [this] { changed_.notify(); }) {
  node_changes_ = p_.nodes.subscribe([this](const kube::Node* before, const kube::Node* after) {
    if (entries_.contains(after ? after->name : before->name)) changed_.notify();
  });
  limit_changes_ = p_.desk.on_change([this] { changed_.notify(); });
}

void ForeignPlaces::take_over() {
  for (const auto& [key, entry] : p_.ledger.entries()) {
    const budget::Admission& admission = entry.admission;
    if (is_marker(admission.by)) {
      p_.ledger.settled(key);
      continue;
    }
    if (!is_foreign_who(admission.by)) continue;
    p_.ledger.settled(key);
    const std::string actor = admission.by.substr(foreign_who("").size());
    const auto [known, added] = entries_.try_emplace(admission.node, Entry{.uid = admission.uid,
                                                                           .who = admission.by,
                                                                           .actor = actor,
                                                                           .since = admission.since,
                                                                           .last_attempt = admission.since,
                                                                           .placed = true,
                                                                           .recorded = true,
                                                                           .was_out = true});
    if (!added) continue;
    p_.desk.take({admission.node, admission.uid, admission.by, actor, admission.since});
  }
  changed_.notify();
}

Task<void> ForeignPlaces::run() {
  for (;;) {
    look_again();
    co_await changed_.wait();
  }
}

size_t ForeignPlaces::placed() const {
  return static_cast<size_t>(std::ranges::count_if(entries_, [](const auto& one) { return one.second.placed; }));
}

size_t ForeignPlaces::waiting() const { return entries_.size() - placed(); }

Asking ForeignPlaces::asking_of(const std::string& node, const Entry& entry) const {
  return {.node = node, .who = entry.who, .actor = entry.actor, .rank = entry.rank, .since = entry.since};
}

std::string ForeignPlaces::key_of(const Entry& entry) const { return budget::claim_key(entry.who, entry.uid); }

Task<ForeignPlaces::Answer> ForeignPlaces::evict(Attempt attempt) {
  const io::Wall now = p_.loop.wall_now();
  auto known = entries_.find(attempt.node);
  if (known != entries_.end() && known->second.uid != attempt.uid) {
    drop(known->first, known->second);
    entries_.erase(known);
    known = entries_.end();
  }
  if (known != entries_.end() && !attempt.dry_run) known->second.last_attempt = now;
  if (known != entries_.end() && known->second.placed) {
    co_return co_await record(attempt.node, Outcome::placed, attempt.patience);
  }
  // Careen has the node out. Whoever empties it beside that is not through when careen is.
  const bool shared = p_.desk.placed(attempt.node);
  if (shared && (attempt.dry_run || !is_leaving_by_others(attempt.facts))) co_return Answer{Outcome::placed};

  const std::string actor = foreign_actor(attempt.facts, attempt.actor);
  Entry entry = known != entries_.end()
                    ? known->second
                    : Entry{.uid = attempt.uid, .who = foreign_who(actor), .actor = actor, .since = now};
  entry.last_attempt = now;
  if (leaving_by(attempt.facts)) entry.left_in = attempt.version;
  entry.rank = std::min(entry.rank, rank_of_eviction(attempt.user, is_down(attempt.facts, now)));
  const Desk::Answer answer = p_.desk.ask(asking_of(attempt.node, entry), Desk::Detail::text);
  if (attempt.dry_run) co_return Answer{answer.allowed ? Outcome::admitted : Outcome::waits, answer.text};
  if (!answer.allowed && !attempt.joins_line) co_return Answer{Outcome::waits, answer.text};
  if (!answer.allowed) {
    entry.in_line = true;
    p_.desk.wait(asking_of(attempt.node, entry));
    const std::string node = attempt.node;
    entries_.insert_or_assign(node, std::move(entry));
    changed_.notify();
    co_return Answer{Outcome::waits, answer.text};
  }
  if (!give_place(attempt.node, entry)) {
    if (shared) co_return Answer{Outcome::placed};
    co_return Answer{Outcome::full, "the ledger has no room for another place; what it holds has to end first"};
  }
  entries_.insert_or_assign(attempt.node, std::move(entry));
  changed_.notify();
  co_return co_await record(attempt.node, Outcome::admitted, attempt.patience);
}

// It is on record before anybody is told of it.
Task<ForeignPlaces::Answer> ForeignPlaces::record(std::string node, Outcome outcome, io::Duration patience) {
  auto entry = entries_.find(node);
  if (entry != entries_.end() && entry->second.recorded) co_return Answer{outcome};
  if (entry != entries_.end()) {
    const std::string key = key_of(entry->second);
    const auto recorded = co_await io::with_timeout(p_.loop, patience, p_.ledger.recorded(key));
    entry = entries_.find(node);
    if (entry != entries_.end() && entry->second.placed && key_of(entry->second) == key && recorded.value_or(false)) {
      entry->second.recorded = true;
      co_return Answer{outcome};
    }
  }
  co_return Answer{Outcome::late, fmt::format("the place of node {} is being recorded; it is there in a moment", node)};
}

// False, with nothing done, when the record has no room.
bool ForeignPlaces::give_place(const std::string& node, Entry& entry) {
  const std::string key = key_of(entry);
  if (!p_.ledger.fits(key)) return false;
  entry.since = p_.loop.wall_now();
  entry.in_line = false;
  entry.placed = true;
  p_.desk.take({node, entry.uid, entry.who, entry.actor, entry.since});
  p_.ledger.reserve({.uid = entry.uid, .node = node, .by = entry.who, .since = entry.since});
  p_.log.info("a node has a place", "node", node, "actor", entry.actor);
  return true;
}

void ForeignPlaces::look_again() {
  begin_and_end_limits();
  const io::Wall now = p_.loop.wall_now();
  std::optional<io::Wall> next;
  for (auto it = entries_.begin(); it != entries_.end();) {
    const auto again = look_at(it->first, it->second);
    if (!again) {
      drop(it->first, it->second);
      it = entries_.erase(it);
      continue;
    }
    if (!next || *again < *next) next = *again;
    ++it;
  }
  timer_.cancel();
  if (next && *next != io::Wall::max()) timer_.set(io::steady_at(p_.loop, std::max(*next, now)));
}

// A limit begins to make nodes wait: what is leaving already goes on.
void ForeignPlaces::begin_and_end_limits() {
  if (!p_.desk.is_known()) return;
  std::set<std::string> wanted;
  std::vector<const Limit*> new_ones;
  p_.desk.for_each_limit([&](const Limit& limit) {
    if (!makes_wait(limit)) return;
    const std::string marker = marker_of(limit, {}).key();
    wanted.insert(marker);
    if (!p_.ledger.has(marker)) new_ones.push_back(&limit);
  });
  for (const Limit* limit : new_ones) begin(*limit);
  std::vector<std::string> over;
  for (const auto& [key, entry] : p_.ledger.entries()) {
    if (is_marker(entry.admission.by) && !wanted.contains(key)) over.push_back(key);
  }
  for (const std::string& key : over) p_.ledger.finish(key);
}

void ForeignPlaces::begin(const Limit& limit) {
  if (!p_.ledger.fits(marker_of(limit, {}).key())) return;  // tried again with the next change
  p_.nodes.for_each([&](const kube::Node& node) {
    if (!limit.selects(node) || p_.desk.placed(node.name)) return;
    std::vector<Fact> facts = p_.desk.facts_of(node);
    // Who is of careen takes its place by itself.
    if (!is_leaving_by_others(facts)) return;
    std::erase_if(facts, [](const Fact& fact) { return fact.own; });
    const std::string actor = foreign_actor(facts);
    Entry entry{.uid = node.uid,
                .who = foreign_who(actor),
                .actor = actor,
                .since = p_.loop.wall_now(),
                .last_attempt = p_.loop.wall_now(),
                .was_out = true};
    const auto known = entries_.find(node.name);
    if (known != entries_.end()) drop(known->first, known->second);
    if (give_place(node.name, entry)) entries_.insert_or_assign(node.name, std::move(entry));
  });
  p_.ledger.reserve(marker_of(limit, p_.loop.wall_now()));
  p_.log.info("nodes of a limit wait their turn from now on", "limit", limit.name);
}

std::optional<io::Wall> ForeignPlaces::look_at(const std::string& node, Entry& entry) {
  const kube::Node* const now = p_.nodes.find(node);
  if (!now || now->uid != entry.uid) return std::nullopt;
  if (p_.desk.is_known() && !makes_wait(p_.desk, node)) return std::nullopt;
  return entry.placed ? look_at_place(node, entry) : look_at_turn(node, entry);
}

std::optional<io::Wall> ForeignPlaces::look_at_place(const std::string& node, Entry& entry) {
  const io::Wall now = p_.loop.wall_now();
  // It may be back by the time it is heard of.
  if (entry.left_in > 0 && p_.nodes.find(node)->version >= entry.left_in) entry.was_out = true;
  if (const auto until = out_until(p_.desk.facts_of(*p_.nodes.find(node)), now)) {
    entry.was_out = true;
    entry.back_since.reset();
    return until;
  }
  if (!entry.back_since) entry.back_since = now;
  const auto ends = place_ends_at({.since = entry.since,
                                   .last_eviction = std::max(entry.since, entry.last_attempt),
                                   .was_out = entry.was_out,
                                   .back_since = entry.back_since,
                                   .settle = settle_of(node)});
  if (ends && *ends <= now) return std::nullopt;
  return ends.value_or(io::Wall::max());
}

// While it is not leaving it is passed over, and comes back to where it was.
std::optional<io::Wall> ForeignPlaces::look_at_turn(const std::string& node, Entry& entry) {
  const io::Wall over = entry.last_attempt + kKeepsItsTurn;
  if (over <= p_.loop.wall_now()) return std::nullopt;
  const bool leaving = leaving_by(p_.desk.facts_of(*p_.nodes.find(node))) != nullptr;
  if (leaving && !entry.in_line) p_.desk.wait(asking_of(node, entry));
  if (!leaving && entry.in_line) p_.desk.leave(node, entry.who);
  entry.in_line = leaving;
  return over;
}

void ForeignPlaces::drop(const std::string& node, const Entry& entry) {
  if (entry.in_line) p_.desk.leave(node, entry.who);
  if (!entry.placed) return;
  p_.desk.release(node, entry.who);
  p_.ledger.finish(key_of(entry));
  p_.log.info("a node's place has ended", "node", node, "actor", entry.actor);
}

io::Duration ForeignPlaces::settle_of(const std::string& node) const {
  io::Duration longest{};
  for (const Limit* limit : p_.desk.limits_of(node)) longest = std::max(longest, limit->settle);
  return longest;
}

}  // namespace careen::limits
