#include "sim/workloads.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/workload_kinds.h"

namespace careen::sim {

namespace {

constexpr io::Duration kReaction = io::milliseconds{3};

// The server takes workloads that its controllers can make nothing of.
bool is_sound(const json::value& workload, bool needs_selector) {
  const json::value* pod = find(workload, {"spec", "template", "spec"});
  const json::value* selector = find(workload, {"spec", "selector"});
  return pod && pod->is_object() && (!needs_selector || (selector && selector->is_object()));
}

}  // namespace

struct Workloads::KindTraits {
  Kind kind;
  std::string_view collection, api_version, name;
  Again (*tend)(WorkloadWorld& world, const json::value& object);
};

namespace {

// In the order of Kind.
template <class Traits, class Kind>
const std::array<Traits, 5>& all_kinds() {
  static const std::array<Traits, 5> kinds = {{
      {Kind::deployment, "/apis/apps/v1/deployments", "apps/v1", "Deployment", tend_deployment},
      {Kind::replica_set, kReplicaSetsPath, "apps/v1", "ReplicaSet", tend_replica_set},
      {Kind::stateful_set, "/apis/apps/v1/statefulsets", "apps/v1", "StatefulSet", tend_stateful_set},
      {Kind::daemon_set, "/apis/apps/v1/daemonsets", "apps/v1", "DaemonSet", tend_daemon_set},
      {Kind::job, "/apis/batch/v1/jobs", "batch/v1", "Job", tend_job},
  }};
  return kinds;
}

}  // namespace

const Workloads::KindTraits* Workloads::traits(Kind kind) {
  return &all_kinds<KindTraits, Kind>().at(static_cast<size_t>(kind));
}

Workloads::Workloads(io::Loop& loop, ApiServer& api)
    : loop_(loop), api_(api), world_(loop, api), next_(loop, [this] { run(); }), next_nodes_(loop, [this] {
        read_nodes();
      }) {
  api_.observe([this](const Change& change) { note(change); });
}

// Only remembers whom to look at: the change is still being made.
void Workloads::note(const Change& change) {
  if (change.collection == kNodesPath) {
    if (daemon_sets_.empty()) return;
    changed_nodes_.insert(change.name);
    if (!next_nodes_.pending()) next_nodes_.set(loop_.now() + kReaction);
    return;
  }
  if (change.collection == kPodsPath) return note_dependent(change, object_in(kPodsPath, change.ns, change.name));
  for (const KindTraits& one : all_kinds<KindTraits, Kind>()) {
    if (change.collection != one.collection) continue;
    const Key key{one.kind, object_in(one.collection, change.ns, change.name)};
    if (one.kind == Kind::replica_set) note_dependent(change, key.path);
    const bool gone = change.type == Change::Type::deleted;
    if (one.kind == Kind::daemon_set) gone ? (void)daemon_sets_.erase(key) : (void)daemon_sets_.insert(key);
    if (gone && one.kind == Kind::job) world_.forget_failures(std::string(uid_of(*api_.parsed(change.object))));
    if (!gone) wake(key, kReaction);
    return;
  }
}

void Workloads::note_dependent(const Change& change, const std::string& path) {
  const bool gone = change.type == Change::Type::deleted;
  const auto before = owners_.find(path);
  if (before != owners_.end() && change.type == Change::Type::modified && same_owners(change)) {
    world_.follow(before->second.uid, path, change.object);
    return wake(before->second.key, kReaction);
  }
  auto now = gone ? std::nullopt : owner_of(change.object);
  if (before != owners_.end()) {
    if (!now || now->uid != before->second.uid) world_.unfollow(before->second.uid, path);
    wake(before->second.key, kReaction);
    if (!now) owners_.erase(before);
  }
  if (!now) return;
  world_.follow(now->uid, path, change.object);
  wake(now->key, kReaction);
  owners_.insert_or_assign(path, std::move(*now));
}

bool Workloads::same_owners(const Change& change) const {
  const Parsed before = api_.parsed(change.before), now = api_.parsed(change.object);
  const json::value* had = find(*before, {"metadata", "ownerReferences"});
  const json::value* has = find(*now, {"metadata", "ownerReferences"});
  return had && has && same(*had, *has);
}

std::optional<Workloads::Owner> Workloads::owner_of(const Text& text) const {
  if (find_text(*text, "\"ownerReferences\"") == std::string::npos) return std::nullopt;
  const Parsed object = api_.parsed(text);
  const json::value* owners = object ? find(*object, {"metadata", "ownerReferences"}) : nullptr;
  if (!owners || !owners->is_array()) return std::nullopt;
  for (const json::value& one : owners->get_array()) {
    if (!is_true(one, "controller")) continue;
    for (const KindTraits& kind : all_kinds<KindTraits, Kind>()) {
      if (text_at(one, "kind") != kind.name || text_at(one, "apiVersion") != kind.api_version) continue;
      return Owner{std::string(text_at(one, "uid")),
                   {kind.kind, object_in(kind.collection, namespace_of(*object), text_at(one, "name"))}};
    }
  }
  return std::nullopt;
}

void Workloads::wake(const Key& key, io::Duration in) {
  const io::Steady when = loop_.now() + in;
  const auto [known, added] = due_.try_emplace(key, when);
  if (!added) {
    if (known->second <= when) return;
    by_time_.erase({known->second, key});
    known->second = when;
  }
  by_time_.emplace(when, key);
  if (!next_.pending() || by_time_.begin()->first == when) next_.set(by_time_.begin()->first);
}

void Workloads::run() {
  read_nodes();
  std::vector<Key> ready;
  while (!by_time_.empty() && by_time_.begin()->first <= loop_.now()) {
    ready.push_back(by_time_.begin()->second);
    due_.erase(ready.back());
    by_time_.erase(by_time_.begin());
  }
  for (const Key& key : ready) tend(key);
  if (!by_time_.empty()) next_.set(by_time_.begin()->first);
}

void Workloads::read_nodes() {
  if (daemon_sets_.empty()) {
    following_nodes_ = false;
    changed_nodes_.clear();
    world_.forget_nodes();
    return;
  }
  if (!following_nodes_) {
    following_nodes_ = true;
    api_.for_each(kNodesPath, [&](const std::string& path, const Text&) {
      changed_nodes_.insert(path.substr(path.rfind('/') + 1));
    });
  }
  bool different = false;
  for (const std::string& name : std::exchange(changed_nodes_, {})) different |= world_.read_node(name);
  if (!different) return;
  for (const Key& key : daemon_sets_) wake(key, io::Duration{0});
}

void Workloads::tend(const Key& key) {
  const Parsed object = world_.read(key.path);
  if (!object || !is_sound(*object, key.kind != Kind::job)) return;
  if (const Again again = traits(key.kind)->tend(world_, *object)) wake(key, std::max(*again, kReaction));
}

}  // namespace careen::sim
