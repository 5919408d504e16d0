#include "controllers/profiles/shuffles.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "controllers/profiles/names.h"
#include "io/loop.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/time.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/pod_owner.h"
#include "kube/pod_store.h"
#include "kube/workload.h"

namespace careen::profiles {

using kube::PodOwner;

namespace {

constexpr io::Duration kRefreshEvery = io::seconds{10};
// A series without a value is dropped when its owner has had no pod under the profile for this long.
constexpr io::Duration kForgetAfter = io::hours{1};
// How long the lists of workloads may take before that is a problem.
constexpr io::Duration kPatience = io::minutes{1};

constexpr std::string_view kProblem = "shuffle metrics";
constexpr std::array kCountNames{"maintenance_controller_pod_shuffle_count", "maintenance_controller_shuffle_count"};
constexpr std::array kShareNames{"maintenance_controller_pod_shuffles_per_replica",
                                 "maintenance_controller_shuffles_per_replica"};
constexpr const char* kCountHelp = "Pods on nodes that entered maintenance, by owner and profile.";
constexpr const char* kShareHelp = "Pods on nodes that entered maintenance, divided by their owner's replicas.";

std::string_view prefix_of(PodOwner::Kind kind) {
  switch (kind) {
    case PodOwner::Kind::deployment:
      return "deployment_";
    case PodOwner::Kind::stateful_set:
      return "stateful_set_";
    case PodOwner::Kind::daemon_set:
      return "daemon_set_";
    case PodOwner::Kind::replica_set:
      return "replica_set_";
  }
  std::abort();
}

std::optional<kube::WorkloadKind> watched_as(PodOwner::Kind kind) {
  switch (kind) {
    case PodOwner::Kind::deployment:
      return kube::WorkloadKind::deployment;
    case PodOwner::Kind::stateful_set:
      return kube::WorkloadKind::stateful_set;
    case PodOwner::Kind::daemon_set:
      return kube::WorkloadKind::daemon_set;
    case PodOwner::Kind::replica_set:
      return std::nullopt;
  }
  std::abort();
}

bool same_profile_label(const kube::Node& a, const kube::Node& b) {
  const kube::Atom* const first = a.label(kProfileLabel);
  const kube::Atom* const second = b.label(kProfileLabel);
  return first && second ? *first == *second : first == second;
}

struct Series {
  Series(io::Metrics& metrics, const io::Labels& labels)
      : counts{&metrics.counter(kCountNames[0], kCountHelp, labels),
               &metrics.counter(kCountNames[1], kCountHelp, labels)},
        shares{&metrics.counter(kShareNames[0], kShareHelp, labels),
               &metrics.counter(kShareNames[1], kShareHelp, labels)} {}
  std::array<io::Counter*, 2> counts, shares;
  int users = 0;  // nodes
  io::Steady unused_since{};
};

using OwnerKey = std::tuple<std::string, PodOwner::Kind, std::string>;  // namespace, kind, name
struct Owner {
  int64_t pods = 0;
  int users = 0;  // nodes
};

}  // namespace

std::string label_of(const PodOwner& owner) { return std::string(prefix_of(owner.kind)) += owner.name; }

struct Shuffles::Parts {
  explicit Parts(ShuffleParts parts) : p(std::move(parts)), started(p.loop.now()) {}

  using SeriesMap = std::map<std::pair<std::string, std::string>, Series>;  // by owner's label and profile
  using OwnerMap = std::map<OwnerKey, Owner>;
  // What a node contributes.
  struct OnNode {
    std::vector<std::pair<OwnerMap::iterator, int64_t>> owners;  // and how many of the owner's pods
    std::vector<SeriesMap::iterator> series;
  };

  void scraped();
  void refresh();
  void leave(OnNode& on);
  OnNode look_at(std::string_view node);
  void drop_unused();
  SeriesMap::iterator series_of(const std::string& owner, std::string_view profile);
  int64_t replicas_of(const OwnerKey& key) const;
  bool check_workloads(bool needed);

  ShuffleParts p;
  io::Steady started;
  bool deciding = false;
  std::optional<io::Steady> refreshed;
  std::set<std::string, std::less<>> dirty;  // nodes to look at again
  std::map<std::string, OnNode, std::less<>> on_nodes;
  OwnerMap owners;
  SeriesMap series;
  io::Subscription nodes_changed, pods_changed;
  std::shared_ptr<void> scrapes;
};

Shuffles::Shuffles(ShuffleParts parts) : parts_(std::make_unique<Parts>(std::move(parts))) {
  Parts* const self = parts_.get();
  self->nodes_changed = self->p.nodes.subscribe([self](const kube::Node* before, const kube::Node* after) {
    if (!self->deciding || (before && after && same_profile_label(*before, *after))) return;
    self->dirty.insert(after ? after->name : before->name);
  });
  self->pods_changed = self->p.pods.subscribe_nodes([self](std::string_view node) {
    if (self->deciding && !self->dirty.contains(node)) self->dirty.emplace(node);
  });
  self->scrapes = self->p.metrics.before_scrape_while([self] { self->scraped(); });
}

Shuffles::~Shuffles() = default;

void Shuffles::begin() {
  parts_->deciding = true;
  parts_->started = parts_->p.loop.now();
  profiles_changed();
}

void Shuffles::profiles_changed() {
  if (!parts_->deciding) return;
  parts_->p.nodes.for_each([&](const kube::Node& node) { parts_->dirty.insert(node.name); });
}

void Shuffles::entered_maintenance(std::string_view node, std::string_view profile) {
  if (!parts_->deciding) return;
  parts_->refresh();
  if (!parts_->on_nodes.contains(node)) return;
  const bool sizes_known = parts_->check_workloads(true);
  parts_->p.pods.for_each_on(node, [&](const kube::Pod& pod) {
    for (const PodOwner& owner : owners_of(pod)) {
      const auto series = parts_->series_of(label_of(owner), profile);
      for (io::Counter* count : series->second.counts) count->add();
      if (!sizes_known && watched_as(owner.kind)) continue;
      const auto replicas = parts_->replicas_of({std::string(pod.ns), owner.kind, std::string(owner.name)});
      for (io::Counter* share : series->second.shares) share->add(1.0 / static_cast<double>(replicas));
    }
  });
}

void Shuffles::Parts::scraped() {
  if (!deciding) return;
  const io::Steady now = p.loop.now();
  if (refreshed && now - *refreshed < kRefreshEvery) return;
  refreshed = now;
  refresh();
  drop_unused();
  check_workloads(false);
}

// Takes in what has changed since the last time: costs nothing for nodes whose pods and profiles stayed.
void Shuffles::Parts::refresh() {
  for (const std::string& node : std::exchange(dirty, {})) {
    OnNode now = look_at(node);
    for (const auto& [owner, pods] : now.owners) {
      owner->second.pods += pods;
      ++owner->second.users;
    }
    for (const auto& entry : now.series) ++entry->second.users;
    const auto it = on_nodes.find(node);
    if (it != on_nodes.end()) leave(it->second);
    if (!now.owners.empty()) {
      on_nodes.insert_or_assign(node, std::move(now));
    } else if (it != on_nodes.end()) {
      on_nodes.erase(it);
    }
  }
}

void Shuffles::Parts::leave(OnNode& on) {
  for (const auto& [owner, pods] : on.owners) {
    owner->second.pods -= pods;
    if (--owner->second.users == 0) owners.erase(owner);
  }
  for (const auto& entry : on.series) {
    if (--entry->second.users == 0) entry->second.unused_since = p.loop.now();
  }
}

Shuffles::Parts::OnNode Shuffles::Parts::look_at(std::string_view name) {
  OnNode on;
  const kube::Node* const node = p.nodes.find(name);
  if (!node) return on;
  std::map<OwnerKey, int64_t> pods;
  p.pods.for_each_on(name, [&](const kube::Pod& pod) {
    for (const PodOwner& owner : owners_of(pod)) ++pods[{std::string(pod.ns), owner.kind, std::string(owner.name)}];
  });
  if (pods.empty()) return on;
  std::set<std::string> labels;
  for (const auto& [key, count] : pods) {
    on.owners.emplace_back(owners.try_emplace(key).first, count);
    labels.insert(label_of({std::get<1>(key), std::get<2>(key)}));
  }
  std::vector<std::string> profiles = p.profiles_of(*node);
  std::sort(profiles.begin(), profiles.end());
  profiles.erase(std::unique(profiles.begin(), profiles.end()), profiles.end());
  for (const std::string& profile : profiles) {
    for (const std::string& label : labels) on.series.push_back(series_of(label, profile));
  }
  return on;
}

Shuffles::Parts::SeriesMap::iterator Shuffles::Parts::series_of(const std::string& owner, std::string_view profile) {
  std::pair<std::string, std::string> key(owner, profile);
  const auto known = series.find(key);
  if (known != series.end()) return known;
  const io::Labels labels{{"owner", owner}, {"profile", key.second}};
  const auto made = series.emplace(std::move(key), Series(p.metrics, labels)).first;
  made->second.unused_since = p.loop.now();
  return made;
}

void Shuffles::Parts::drop_unused() {
  for (auto it = series.begin(); it != series.end();) {
    const auto& [key, entry] = *it;
    const bool keep =
        entry.users > 0 || entry.counts[0]->value() > 0 || p.loop.now() - entry.unused_since < kForgetAfter;
    if (keep) {
      ++it;
      continue;
    }
    const io::Labels labels{{"owner", key.first}, {"profile", key.second}};
    for (const char* name : kCountNames) p.metrics.drop_counter(name, labels);
    for (const char* name : kShareNames) p.metrics.drop_counter(name, labels);
    it = series.erase(it);
  }
}

int64_t Shuffles::Parts::replicas_of(const OwnerKey& key) const {
  const auto& [ns, kind, name] = key;
  int64_t replicas = 0;
  const auto watched = watched_as(kind);
  if (const kube::Workload* workload = watched ? p.workloads.find(*watched, ns, name) : nullptr) {
    replicas = workload->replicas;
  } else if (const auto owner = owners.find(key); owner != owners.end()) {
    replicas = owner->second.pods;
  }
  return std::max<int64_t>(replicas, 1);
}

// Are the sizes of workloads known? If not, and they are needed or should be by now, that is a problem.
bool Shuffles::Parts::check_workloads(bool needed) {
  if (p.workloads_known()) {
    p.problems.clear(kProblem);
    return true;
  }
  if (needed || p.loop.now() - started >= kPatience) {
    p.problems.raise(kProblem,
                     "Deployments, StatefulSets and DaemonSets cannot be read (careen needs get, list and watch on "
                     "them in the API group apps), so maintenance_controller_pod_shuffles_per_replica does not count "
                     "their pods; maintenance_controller_pod_shuffle_count does, and all else works");
  }
  return false;
}

}  // namespace careen::profiles
