#include "controllers/profiles/limit_places.h"

#include <algorithm>
#include <set>
#include <utility>

#include "budget/claim.h"
#include "budget/ledger.h"
#include "budget/occupancy.h"
#include "controllers/profiles/claims.h"
#include "controllers/profiles/drains.h"
#include "io/loop.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "limits/desk.h"

namespace careen::profiles {

namespace {

template <class List>
bool has_who(const List& list, std::string_view who) {
  return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.who == who; });
}

bool has_place(const std::vector<limits::Place>& list, const limits::Place& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const limits::Place& one) { return one.who == wanted.who && one.uid == wanted.uid; });
}

}  // namespace

LimitPlaces::LimitPlaces(io::Loop& loop, limits::Desk* desk, World world,
                         std::function<void(const std::string& node)> wake)
    : loop_(loop), desk_(desk), world_(world) {
  if (!desk_) return;
  turns_ = desk_->on_turn([wake = std::move(wake)](const std::string& node, const std::string& who) {
    if (who.starts_with(kHoldPrefix)) wake(node);
  });
}

bool LimitPlaces::concern(std::string_view node) const { return desk_ && desk_->limited(node); }

limits::Asking LimitPlaces::asking(std::string_view node, std::string_view profile, io::Wall now) const {
  const std::string who = holder_name(profile);
  limits::Asking asking{.node = std::string(node), .who = who, .actor = who, .since = now};
  const auto known = waiting_.find(node);
  if (known == waiting_.end()) return asking;
  for (const limits::Asking& one : known->second) {
    if (one.who == who) asking.since = std::min(asking.since, one.since);
  }
  return asking;
}

void LimitPlaces::wait(const std::string& node, std::vector<limits::Asking> asking) {
  if (!desk_) return;
  const auto known = waiting_.find(node);
  if (known != waiting_.end()) {
    for (const limits::Asking& before : known->second) {
      if (!has_who(asking, before.who)) desk_->leave(node, before.who);
    }
    if (asking.empty()) waiting_.erase(known);
  }
  if (asking.empty()) return;
  for (const limits::Asking& one : asking) desk_->wait(one);
  waiting_.insert_or_assign(node, std::move(asking));
}

// What it has from now on comes before what it has no more: in between, nobody is given its place.
void LimitPlaces::update(std::string_view name) {
  if (!desk_) return;
  const auto known = taken_.find(name);
  if (known == taken_.end() && !world_.occupancy.contains(name)) return;
  std::vector<limits::Place> now = places_of(name);
  const std::vector<limits::Place> before =
      known == taken_.end() ? std::vector<limits::Place>() : std::move(known->second);
  for (const limits::Place& place : now) {
    if (!has_place(before, place)) desk_->take(place);
  }
  for (const limits::Place& place : before) {
    if (!has_who(now, place.who)) desk_->release(place.node, place.who);
  }
  if (!now.empty()) {
    taken_.insert_or_assign(std::string(name), std::move(now));
  } else if (known != taken_.end()) {
    taken_.erase(known);
  }
}

void LimitPlaces::rebuild(const Config* config) {
  config_ = config;
  if (!desk_) return;
  std::set<std::string> nodes;
  for (const auto& [node, places] : taken_) nodes.insert(node);
  for (const auto& [node, member] : world_.occupancy.members({})) nodes.insert(node);
  for (const std::string& node : nodes) update(node);
}

std::vector<limits::Place> LimitPlaces::places_of(std::string_view name) const {
  std::vector<limits::Place> places;
  const auto add = [&](const budget::Claim& claim) {
    if (has_who(places, claim.who)) return;
    places.push_back({std::string(name), claim.uid, claim.who, claim.who, claim.since.value_or(loop_.wall_now())});
  };
  const budget::Occupancy::Member* const member = world_.occupancy.find(name);
  if (!member) return places;
  const kube::Node* const node = world_.nodes.find(name);
  if (node && member->in_state) {
    for (const budget::Claim& claim : claims_of_node(*node, config_)) add(claim);
  }
  const auto add_admitted = [&](const budget::Admission& admission) {
    if (world_.reader.counts(admission)) add(budget::claim_of(admission));
  };
  const auto& entries = world_.ledger.entries();
  if (node) {
    const auto entry = entries.find(world_.reader.key_of(node->uid));
    if (entry != entries.end()) add_admitted(entry->second.admission);
    return places;
  }
  for (const auto& [key, entry] : entries) {
    if (entry.admission.node == name) add_admitted(entry.admission);
  }
  return places;
}

size_t LimitPlaces::nodes_if(const std::function<bool(const std::string&)>& fits) const {
  return static_cast<size_t>(
      std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& entry) { return fits(entry.first); }));
}

}  // namespace careen::profiles
