#include "limits/evictions.h"

#include <algorithm>

#include "io/printable.h"
#include "kube/pod_store.h"

namespace careen::limits {

namespace {

constexpr std::string_view kForeign = "foreign/";
constexpr size_t kLongestActor = 63;

bool takes_out(const Fact& fact) {
  return fact.cordon || fact.kind == Fact::Kind::working || (fact.own && fact.counts());
}

bool counts_now(const Fact& fact, io::Wall now) { return fact.counts() && (!fact.until || *fact.until > now); }

}  // namespace

EvictedPod evicted_pod(const kube::Pod* pod) {
  if (!pod) return {};
  return {.known = true,
          .node = std::string(pod->node),
          .finished = pod->finished(),
          .mirror = pod->flags.mirror,
          .daemon_set = pod->flags.daemon_set};
}

EvictionRow row_of(const EvictedPod& pod, const EvictedNode& node) {
  if (!pod.known || pod.finished || pod.node.empty() || pod.mirror || pod.daemon_set) return EvictionRow::unconcerned;
  if (!node.makes_wait) return EvictionRow::unconcerned;
  if (!node.leaving) return node.fresh ? EvictionRow::staying : EvictionRow::look;
  return node.placed ? EvictionRow::placed : EvictionRow::ask;
}

const Fact* leaving_by(const std::vector<Fact>& facts) {
  const auto found = std::ranges::find_if(facts, takes_out);
  return found == facts.end() ? nullptr : &*found;
}

bool is_down(const std::vector<Fact>& facts, io::Wall now) {
  return std::ranges::any_of(facts,
                             [&](const Fact& fact) { return fact.kind == Fact::Kind::down && counts_now(fact, now); });
}

std::optional<io::Wall> out_until(const std::vector<Fact>& facts, io::Wall now) {
  std::optional<io::Wall> latest;
  for (const Fact& fact : facts) {
    if (counts_now(fact, now)) latest = std::max(latest.value_or(now), fact.until.value_or(io::Wall::max()));
  }
  return latest;
}

bool is_person(std::string_view user) { return !user.empty() && !user.starts_with("system:serviceaccount:"); }

Rank rank_of_eviction(std::string_view user, bool down) {
  if (down) return Rank::repair;
  return is_person(user) ? Rank::person : Rank::campaign;
}

std::string foreign_actor(const std::vector<Fact>& facts, std::string_view otherwise) {
  const Fact* by = leaving_by(facts);
  std::string actor = io::printable(by && !by->actor.empty() ? by->actor : otherwise);
  if (actor.empty()) return "unknown";
  if (actor.size() <= kLongestActor) return actor;
  actor.resize(kLongestActor);
  // Not half a character.
  while (!actor.empty() && static_cast<unsigned char>(actor.back()) >= 0x80) actor.pop_back();
  return actor;
}

std::string foreign_who(std::string_view actor) { return std::string(kForeign).append(actor); }

bool is_foreign_who(std::string_view who) { return who.starts_with(kForeign); }

std::optional<io::Wall> place_ends_at(const SeenOfPlace& seen) {
  if (!seen.back_since) return std::nullopt;
  if (seen.was_out) return *seen.back_since + seen.settle;
  return std::max({seen.since, seen.last_eviction, *seen.back_since}) + kUnusedPlace;
}

}  // namespace careen::limits
