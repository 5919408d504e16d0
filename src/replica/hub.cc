#include "replica/hub.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "controllers/machines/kubeconfig_watch.h"
#include "controllers/machines/names.h"
#include "io/loop.h"
#include "io/problems.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace careen::replica {

using io::Task;

namespace {

constexpr const char* kHubProblem = "hub";
constexpr const char* kTooManyClusters = "too many clusters";
constexpr const char* kTwin = "twin";
constexpr io::Duration kLookForClusters = io::seconds{10};
constexpr io::Duration kLookForRoom = io::seconds{1};
// How long one may take to come to an end.
constexpr io::Duration kFarewell = io::seconds{20};
// Within which one that is let in knows its nodes.
constexpr io::Duration kUntilLetIn = io::seconds{30};
// Beyond what one careen is meant for.
constexpr size_t kMostChildren = 1000;

// The newest version of Cluster API that is served; empty: none, or it is not known.
Task<std::string> served_version(kube::Client& client) {
  kube::Request request;
  request.path = fmt::format("/apis/{}", machines::kGroup);
  const auto answer = co_await client.call(std::move(request), {"", "", "apis", "APIGroup"}, "discover");
  const auto document = answer ? kube::Json::parse(*answer) : io::fail(io::ErrorKind::protocol, "");
  if (!document) co_return std::string();
  for (const std::string_view known : machines::kVersions) {
    bool served = false;
    (*document)["versions"].for_each_element([&](kube::JsonView one) { served |= one["version"].text() == known; });
    if (served) co_return std::string(known);
  }
  co_return std::string();
}

}  // namespace

// A workload cluster that is run from here.
struct Hub::Child : std::enable_shared_from_this<Child> {
  Child(Hub& whose, std::string ns, std::string name)
      : hub(whose),
        key(kube::object_key(ns, name)),
        above{.cluster = key,
              .home = hub.p_.home,
              .lock = hub.p_.lock,
              .write_window = hub.p_.write_window,
              .pauses = hub.p_.pauses,
              .metrics = hub.p_.home.metrics(),
              .problems = hub.p_.home.problems()},
        problems(hub.p_.home.problems(), "cluster " + key),
        kubeconfig({hub.p_.process.loop, hub.p_.home.client(), hub.unseen_, problems, hub.p_.process.random,
                    hub.p_.log.with("cluster", key)},
                   hub.p_.home.atoms(), ns, name,
                   [this] {
                     changed();
                     if (waits) hub.changed_.notify();
                   }),
        scope(hub.p_.process.loop) {}

  // Two that have one API server would each admit as many of its nodes as there may be.
  bool is_twin() {
    const std::string other = hub.other_at(kubeconfig.access()->server, *this);
    if (other.empty()) {
      problems.clear(kTwin);
    } else {
      problems.raise(kTwin, fmt::format("its kubeconfig leads to {}, which is the API server of cluster {}: {}",
                                        kubeconfig.access()->server, other,
                                        replica ? "what was there before is used on" : "it is not looked after"));
    }
    return !other.empty();
  }

  void changed() {
    if (!kubeconfig.access() || ended) return;
    waits = is_twin();
    if (waits) return;
    if (server != kubeconfig.access()->server) since = hub.p_.process.loop.now();
    server = kubeconfig.access()->server;
    if (replica) return replica->change(*kubeconfig.access());
    ReplicaParts parts = hub.p_.process;
    parts.access = *kubeconfig.access();
    parts.log = parts.log.with("cluster", key);
    parts.above = &above;
    const ReplicaOptions& all = hub.options_;
    replica = std::make_unique<Replica>(std::move(parts), ReplicaOptions{.host = all.host,
                                                                         .ns = all.ns,
                                                                         .controllers = all.hub->controllers,
                                                                         .leader_election = all.leader_election,
                                                                         .dry_run = all.dry_run,
                                                                         .instance = all.instance,
                                                                         .counted_taints = all.counted_taints});
    hub.p_.log.info("the cluster is looked after", "cluster", key, "server", kubeconfig.access()->server);
    if (hub.tell_) hub.tell_(key, std::shared_ptr<Replica>(shared_from_this(), replica.get()));
    scope.spawn(run());
  }

  Task<void> run() {
    const int code = co_await replica->main();
    ended = true;
    over.open();
    // Only somebody who leads can have taken its ledger.
    if (code != 0) hub.lost_.open();
  }

  Hub& hub;
  const std::string key;
  Above above;
  io::Problems problems;
  std::unique_ptr<Replica> replica;
  std::string server;  // that it uses; empty: none yet
  io::Steady since{};  // it is to use it
  bool waits = false;  // another one uses the server that it is to use
  bool ended = false;
  io::Gate over{hub.p_.process.loop};
  machines::KubeconfigWatch kubeconfig;
  io::Scope scope;  // last: it runs the replica
};

Hub::Hub(HubParts parts, const ReplicaOptions& options)
    : p_(std::move(parts)),
      options_(options),
      changed_(p_.process.loop),
      lost_(p_.process.loop),
      scope_(p_.process.loop) {}

Hub::~Hub() = default;

Task<void> Hub::lead() {
  std::string version;
  while ((version = co_await served_version(p_.home.client())).empty()) {
    p_.home.problems().raise(kHubProblem, fmt::format("no workload cluster is looked after: the cluster does not serve "
                                                      "clusters.{}, or does not say so",
                                                      machines::kGroup));
    co_await io::sleep_for(p_.process.loop, kLookForClusters);
  }
  p_.home.problems().clear(kHubProblem);
  const kube::Resource resource{std::string(machines::kGroup), version, "clusters", "Cluster", true};
  clusters_ = std::make_unique<kube::Watched<kube::Object>>(
      p_.home.watch_parts("clusters"),
      kube::ReflectorOptions{.resource = resource, .label_selector = options_.hub->selector},
      [](kube::RawObject& raw) { return kube::decode_object(raw); });
  changes_ = clusters_->store().subscribe([this](const kube::Object*, const kube::Object*) { changed_.notify(); });
  clusters_->start();
  co_await follow();
}

// Those that are there are run, and no others.
Task<void> Hub::follow() {
  for (;;) {
    const bool all = stopping_ || compare();
    const io::Steady again = all ? io::kNever : p_.process.loop.now() + kLookForRoom;
    co_await io::race(p_.process.loop, io::wait_until(p_.process.loop, again), io::wait_for(changed_));
  }
}

// False: somebody has to wait.
bool Hub::compare() {
  std::erase_if(leaving_, [](const auto& one) { return one.second.expired(); });
  std::vector<std::shared_ptr<Child>> gone;
  for (auto it = children_.begin(); it != children_.end();) {
    const auto next = std::next(it);
    if (!clusters_->store().find(it->first)) {
      gone.push_back(it->second);
      leaving_.insert_or_assign(it->first, it->second);
      children_.erase(it);
    }
    it = next;
  }
  for (auto& child : gone) scope_.spawn(let_go(std::move(child)));
  std::string waits;
  bool all = true;
  clusters_->store().for_each([&](const kube::Object& one) {
    if (children_.contains(one.key())) return;
    if (children_.size() >= kMostChildren) waits = one.key();
    if (children_.size() >= kMostChildren || leaving_.contains(one.key())) {
      all = false;
      return;
    }
    children_.emplace(one.key(), std::make_shared<Child>(*this, one.ns, one.name));
  });
  for (const auto& [key, child] : children_) {
    if (child->waits) child->changed();
    all &= !child->waits;
  }
  if (waits.empty()) {
    p_.home.problems().clear(kTooManyClusters);
  } else {
    p_.home.problems().raise(kTooManyClusters,
                             fmt::format("{} clusters are looked after, which is as many as there may be: cluster {} "
                                         "and perhaps others are not",
                                         children_.size(), waits));
  }
  return all;
}

// Those that are leaving may still write. Whoever has only written down an address, and is not let in there, keeps
// others away for a moment, and no longer.
std::string Hub::other_at(std::string_view server, const Child& asking) const {
  const auto uses = [&](const Child& one) {
    if (&one == &asking || one.server != server) return false;
    return one.replica->running() || p_.process.loop.now() < one.since + kUntilLetIn;
  };
  for (const auto& [key, child] : children_) {
    if (uses(*child)) return key;
  }
  for (const auto& [key, left] : leaving_) {
    const auto child = left.lock();
    if (child && uses(*child)) return key;
  }
  return {};
}

Task<void> Hub::let_go(std::shared_ptr<Child> child) {
  p_.log.info("the cluster is not looked after any more", "cluster", child->key);
  if (!child->replica) co_return;
  if (tell_) tell_(child->key, nullptr);
  child->replica->stop();
  co_await io::with_timeout(p_.process.loop, kFarewell, io::completed(io::wait_for(child->over)));
}

Task<void> Hub::stop() {
  stopping_ = true;
  for (const auto& [key, child] : children_) {
    if (child->replica) child->replica->stop();
  }
  for (const auto& [key, child] : children_) {
    if (child->replica) co_await child->over.wait();
  }
}

Replica* Hub::find(std::string_view cluster) const {
  const auto found = children_.find(cluster);
  return found == children_.end() ? nullptr : found->second->replica.get();
}

void Hub::for_each(const std::function<void(const std::string&, Replica&)>& visit) const {
  for (const auto& [key, child] : children_) {
    if (child->replica) visit(key, *child->replica);
  }
}

}  // namespace careen::replica
