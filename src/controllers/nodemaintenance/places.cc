#include "controllers/nodemaintenance/places.h"

#include <utility>
#include <vector>

#include "budget/admission.h"
#include "budget/ledger.h"
#include "controllers/nodemaintenance/decide.h"
#include "controllers/nodemaintenance/roster.h"
#include "drain/holds.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/object_writer.h"
#include "limits/desk.h"

namespace careen::nodemaintenance {

using io::Task;

namespace {

// What a maintenance that waits says of its limit is at most that old.
constexpr io::Duration kRefresh = io::seconds{30};

bool shows_hold(const kube::Node& node, std::string_view who) {
  return node.annotation(drain::kHoldsAnnotation) && drain::holds_of(node).by_owner.contains(who);
}

}  // namespace

Places::Places(Parts parts)
    : p_(std::move(parts)), refresh_(p_.loop, [this] {
        for (const auto& [who, node] : waiting_) p_.wake(*maintenance_of(who));
      }) {
  if (!p_.desk) return;
  turns_ = p_.desk->on_turn([this](const std::string&, const std::string& who) {
    if (const auto maintenance = maintenance_of(who)) p_.wake(*maintenance);
  });
  changes_ = p_.desk->on_change([this] {
    if (!waiting_.empty() && !refresh_.pending()) refresh_.set(p_.loop.now() + kRefresh);
  });
}

void Places::begin() {
  if (!p_.desk) return;
  inherit();
  // The ledger may have been unreadable.
  heirs_ = p_.ledger.on_inherited([this] { inherit(); });
}

// Of holds only those count that an object stands for: anybody may write the record of a node.
void Places::inherit() {
  std::vector<budget::Admission> admitted;
  for (const auto& [key, entry] : p_.ledger.entries()) {
    if (entry.inherited && maintenance_of(entry.admission.by)) admitted.push_back(entry.admission);
  }
  for (const budget::Admission& one : admitted) {
    if (find(one.node, one.by)) continue;
    Kept& kept = take({one.node, one.uid, one.by, one.by, one.since});
    kept.in_doubt = true;
    const Maintenance* const maintenance = p_.roster.find(*maintenance_of(one.by));
    kept.wanted = maintenance && maintenance->node == one.node;
    if (!kept.wanted) end(one.node, one.by);
  }
  p_.roster.for_each([&](const Maintenance& maintenance) {
    const kube::Node* const node = p_.nodes.find(maintenance.node);
    const std::string who = hold_owner(maintenance.name);
    if (!node || !node->annotation(drain::kHoldsAnnotation) || find(node->name, who)) return;
    const drain::Holds holds = drain::holds_of(*node);
    const auto hold = holds.by_owner.find(who);
    if (hold == holds.by_owner.end() || hold->second.id != maintenance.uid) return;
    take({node->name, node->uid, who, who, hold->second.since});
  });
}

void Places::follow(const std::string& name, const Maintenance* maintenance, const Decision& decision) {
  if (!p_.desk) return;
  const std::string who = hold_owner(name);
  const kube::Node* const node = maintenance ? p_.nodes.find(maintenance->node) : nullptr;
  const bool has = node && decision.place;
  const std::set<std::string> known = nodes_of_.contains(who) ? nodes_of_.find(who)->second : std::set<std::string>();
  for (const std::string& other : known) {
    if (has && other == node->name) continue;
    find(other, who)->wanted = false;
    end(other, who);
  }
  if (has) {
    Kept* kept = find(node->name, who);
    // What was to reach a node of that name before is not going to reach this one.
    if (kept && kept->place.uid != node->uid) {
      drop(node->name, who);
      kept = nullptr;
    }
    if (!kept) kept = &take({node->name, node->uid, who, who, p_.loop.wall_now()});
    kept->wanted = true;
    if (decision.held) {
      kept->in_doubt = false;
      p_.ledger.finish(budget::claim_key(who, node->uid));
    } else if (p_.desk->limited(node->name)) {
      record(*kept);
    }
  }
  wait(who, decision);
}

void Places::wait(const std::string& who, const Decision& decision) {
  const auto known = waiting_.find(who);
  if (known != waiting_.end() && (!decision.asks || decision.asks->node != known->second)) {
    p_.desk->leave(known->second, who);
    waiting_.erase(known);
  }
  if (!decision.asks) return;
  waiting_.insert_or_assign(who, decision.asks->node);
  p_.desk->wait(*decision.asks);
}

void Places::node_changed(std::string_view node) {
  const auto found = kept_.find(node);
  if (found == kept_.end()) return;
  std::vector<std::string> over;
  for (const auto& [who, kept] : found->second) {
    if (!kept.wanted) over.push_back(who);
  }
  for (const std::string& who : over) end(node, who);
}

// A place that is lost here is asked for again.
Task<bool> Places::recorded(std::string maintenance, std::string node_uid) {
  const std::string key = budget::claim_key(hold_owner(maintenance), node_uid);
  if (!p_.ledger.has(key)) co_return true;
  co_return co_await p_.ledger.recorded(key);
}

void Places::sending(const std::string& maintenance, const std::string& node) {
  if (Kept* const kept = find(node, hold_owner(maintenance))) kept->in_doubt = true;
}

void Places::sent(const std::string& maintenance, const std::string& node, const kube::WriteResult& result) {
  const std::string who = hold_owner(maintenance);
  Kept* const kept = find(node, who);
  if (!kept || result.fate == kube::WriteFate::unknown) return;
  kept->in_doubt = false;
  if (!kept->wanted) end(node, who);
}

void Places::settled(const limits::Place& place) {
  Kept* const kept = find(place.node, place.who);
  if (!kept || kept->place.uid != place.uid) return;
  kept->in_doubt = kept->settling = false;
  p_.ledger.settled(budget::claim_key(place.who, place.uid));
  if (!kept->wanted) end(place.node, place.who);
}

size_t Places::unfinished() const {
  size_t count = 0;
  for (const auto& [node, all] : kept_) {
    for (const auto& [who, kept] : all) count += !p_.roster.find(*maintenance_of(who));
  }
  return count;
}

Places::Kept* Places::find(std::string_view node, std::string_view who) {
  const auto there = kept_.find(node);
  if (there == kept_.end()) return nullptr;
  const auto kept = there->second.find(who);
  return kept == there->second.end() ? nullptr : &kept->second;
}

Places::Kept& Places::take(limits::Place place) {
  p_.desk->take(place);
  nodes_of_[place.who].insert(place.node);
  return kept_[place.node].insert_or_assign(place.who, Kept{place}).first->second;
}

void Places::record(const Kept& kept) {
  const limits::Place& place = kept.place;
  const auto entry = p_.ledger.entries().find(budget::claim_key(place.who, place.uid));
  if (entry != p_.ledger.entries().end() && !entry->second.inherited) return;
  p_.ledger.reserve({.uid = place.uid, .node = place.node, .by = place.who, .since = place.since});
}

// Once nothing of it is on its way, and the node shows nothing of it.
void Places::end(std::string_view node_name, std::string_view who) {
  Kept& kept = *find(node_name, who);
  const kube::Node* const node = p_.nodes.find(node_name);
  const bool there = node && node->uid == kept.place.uid;
  const bool counts = p_.desk->limited(node_name) || p_.ledger.has(budget::claim_key(who, kept.place.uid));
  if (there && kept.in_doubt && counts) {
    if (!std::exchange(kept.settling, true)) p_.settle(kept.place);
    return;
  }
  if (there && shows_hold(*node, who)) return;
  drop(std::string(node_name), std::string(who));
}

void Places::drop(const std::string& node, const std::string& who) {
  const auto there = kept_.find(node);
  p_.ledger.finish(budget::claim_key(who, there->second.at(who).place.uid));
  p_.desk->release(node, who);
  there->second.erase(who);
  if (there->second.empty()) kept_.erase(there);
  const auto nodes = nodes_of_.find(who);
  nodes->second.erase(node);
  if (nodes->second.empty()) nodes_of_.erase(nodes);
}

}  // namespace careen::nodemaintenance
