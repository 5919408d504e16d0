#include "turnstile/governors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "budget/ledger.h"
#include "io/problems.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/node.h"
#include "limits/desk.h"
#include "limits/evictions.h"
#include "limits/limit.h"
#include "turnstile/question.h"

namespace careen::turnstile {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

const kube::Resource kDaemonSets{"apps", "v1", "daemonsets", "DaemonSet", true};
const kube::Resource kMachines{"cluster.x-k8s.io", "v1beta1", "machines", "Machine", true};
const kube::Resource kClusters{"cluster.x-k8s.io", "v1beta1", "clusters", "Cluster", true};
const kube::Resource kNodePools{"karpenter.sh", "v1", "nodepools", "NodePool", false};
constexpr const char* kPoolLabel = "karpenter.sh/nodepool";
constexpr const char* kPageSize = "limit=500";
constexpr io::Duration kRecorded = io::seconds{10};

budget::Admission marker_of(Governor governor) {
  return {.uid = "0", .node = "-", .by = fmt::format("governor/{}", name_of(governor)), .counts = false};
}

std::string problem_of(Governor governor) { return fmt::format("governor {}", name_of(governor)); }

// As the desk names it.
std::string group_of(const limits::Limit& limit, const kube::Node& node) {
  std::string name = limit.name;
  for (const std::string& key : limit.group_by) {
    const kube::Atom* const value = node.label(key);
    name += "/";
    if (value) name += value->view();
  }
  return name;
}

Annotations annotations_of(JsonView object) {
  Annotations out;
  object["metadata"]["annotations"].for_each_member(
      [&](std::string_view key, JsonView value) { out[std::string(key)] = value.text().value_or(""); });
  return out;
}

}  // namespace

Governors::~Governors() {
  for (const Governor governor : kAllGovernors) p_.problems.drop(problem_of(governor));
}

Task<void> Governors::run() {
  changes_ = p_.desk.on_change([this] { changed_.notify(); });
  for (;;) {
    if (p_.desk.is_known() && concerned()) {
      co_await round();
      co_await io::sleep_for(p_.loop, kPace);
    }
    // While something is held back, new objects may need it too.
    if (!full_.empty() || !failed_.empty()) continue;
    co_await changed_.wait();
  }
}

// Some limit names a governor, or one has left something behind.
bool Governors::concerned() const {
  return std::ranges::any_of(kAllGovernors, [this](Governor governor) { return marked(governor) || named(governor); });
}

bool Governors::named(Governor governor) const {
  bool found = false;
  p_.desk.for_each_limit([&](const limits::Limit& limit) {
    found = found || std::ranges::find(limit.governors, name_of(governor)) != limit.governors.end();
  });
  return found;
}

// The record of what is held may have been lost with the ledger, so the first look needs none.
bool Governors::looks_after(Governor governor) const {
  return marked(governor) || (unlooked_.contains(governor) && named(governor));
}

Task<void> Governors::round() {
  failed_.clear();
  Groups full;
  std::set<Governor> active;
  for (const limits::GroupState& group : p_.desk.groups()) {
    const limits::Limit* const limit = p_.desk.find(group.limit);
    if (!limit || limit->subject != limits::Subject::node || group.free() > 0) continue;
    for (const std::string& name : limit->governors) {
      const auto governor = governor_of(name);
      if (!governor) continue;
      full.insert(group.name());
      active.insert(*governor);
    }
  }
  full_ = full;
  for (const Governor governor : active) {
    if (!co_await mark(governor)) co_return;
  }
  co_await govern_nodes(full);
  const auto any_node = [this](const std::set<std::string>& of, Governor governor, const std::string& node) {
    const kube::Node* const known = p_.nodes.find(node);
    return known && on_node(*known, of).contains(governor);
  };
  if (looks_after(Governor::kured)) {
    const bool hold = active.contains(Governor::kured);
    co_await govern_objects(Governor::kured, kDaemonSets, Governed::daemon_set, [hold](JsonView set) {
      return hold && set["metadata"]["name"].text() == limits::kKuredActor;
    });
  }
  if (looks_after(Governor::cluster_api)) {
    co_await govern_objects(Governor::cluster_api, kMachines, Governed::machine, [&](JsonView machine) {
      // A hook on one that goes already would only keep it from going.
      if (machine["metadata"]["deletionTimestamp"].text()) return false;
      return any_node(full, Governor::cluster_api, text_in(machine.at("/status/nodeRef/name")));
    });
    const bool hold = active.contains(Governor::cluster_api);
    co_await govern_objects(Governor::cluster_api, kClusters, Governed::cluster, [hold](JsonView) { return hold; });
  }
  if (looks_after(Governor::karpenter_node_pool)) co_await govern_pools(active.contains(Governor::karpenter_node_pool));
  for (const Governor governor : kAllGovernors) {
    if (failed_.contains(governor)) continue;
    p_.problems.clear(problem_of(governor));
    if (looks_after(governor)) unlooked_.erase(governor);
    if (!active.contains(governor)) unmark(governor);
  }
}

// Those that hold back what is done to the node: not once it has begun.
std::set<Governor> Governors::on_node(const kube::Node& node, const Groups& full) const {
  std::set<Governor> governors;
  if (p_.desk.placed(node.name) || limits::leaving_by(p_.desk.facts_of(node))) return governors;
  for (const limits::Limit* const limit : p_.desk.limits_of(node.name)) {
    if (!full.contains(group_of(*limit, node))) continue;
    for (const std::string& name : limit->governors) {
      if (const auto governor = governor_of(name)) governors.insert(*governor);
    }
  }
  if (!node.label(kPoolLabel)) governors.erase(Governor::karpenter);
  return governors;
}

Task<void> Governors::govern_nodes(const Groups& full) {
  struct Pending {
    std::string name;
    Json change;
  };
  std::vector<Pending> pending;
  p_.nodes.for_each([&](const kube::Node& node) {
    const auto wanted = levers_of(on_node(node, full), Governed::node);
    if (wanted.empty() && !node.annotation(kGovernedKey)) return;
    Annotations annotations;
    for (const auto& [key, value] : node.annotations) annotations[std::string(key.view())] = value;
    auto change = pull(annotations, wanted, Governed::node);
    if (!change) return;
    Json body = Json::object({{"metadata", Json::object({{"annotations", std::move(*change)},
                                                         {"resourceVersion", std::to_string(node.version)}})}});
    pending.push_back({node.name, std::move(body)});
  });
  for (Pending& one : pending) {
    if (co_await patch(kube::resources::nodes, "", one.name, std::move(one.change))) continue;
    failed_.insert({Governor::karpenter, Governor::cluster_autoscaler});
  }
  if (!pending.empty()) p_.log.info("governors wrote nodes", "count", pending.size());
}

Task<void> Governors::govern_objects(Governor governor, kube::Resource resource, Governed what,
                                     std::function<bool(JsonView)> fits) {
  const auto change = [&](JsonView object) -> std::optional<Json> {
    const auto wanted = fits(object) ? levers_of({governor}, what) : std::map<std::string, std::string>();
    auto annotations = pull(annotations_of(object), wanted, what);
    if (!annotations) return std::nullopt;
    return Json::object({{"metadata", Json::object({{"annotations", std::move(*annotations)}})}});
  };
  if (!co_await change_all(governor, resource, change)) failed_.insert(governor);
}

Task<void> Governors::govern_pools(bool hold) {
  const auto change = [hold](JsonView pool) { return pull_node_pool(pool, hold); };
  if (!co_await change_all(Governor::karpenter_node_pool, kNodePools, change)) {
    failed_.insert(Governor::karpenter_node_pool);
  }
}

Task<bool> Governors::change_all(Governor governor, kube::Resource resource, Change change) {
  bool all = true;
  std::string page;
  do {
    kube::CallOptions options;
    options.query = page.empty() ? kPageSize : fmt::format("{}&continue={}", kPageSize, page);
    const auto answer = co_await p_.client.list(resource, "", options);
    // Where the kind is not served there is nothing to hold.
    if (!answer && answer.error().not_found()) co_return true;
    const auto list = answer ? Json::parse(*answer) : io::fail(io::ErrorKind::protocol, answer.error().message);
    if (!list) {
      trouble(governor, fmt::format("{} cannot be listed: {}", resource.plural, list.error().message));
      co_return false;
    }
    std::vector<std::tuple<std::string, std::string, Json>> pending;
    (*list)["items"].for_each_element([&](JsonView object) {
      auto body = change(object);
      if (!body) return;
      const JsonView metadata = object["metadata"];
      body->set({"metadata", "resourceVersion"}, text_in(metadata["resourceVersion"]));
      pending.emplace_back(text_in(metadata["namespace"]), text_in(metadata["name"]), std::move(*body));
    });
    for (auto& [ns, name, body] : pending) {
      if (co_await patch(resource, ns, name, std::move(body))) continue;
      trouble(governor, fmt::format("{} {} cannot be written", resource.kind, name));
      all = false;
    }
    page = text_in((*list)["metadata"]["continue"]);
  } while (!page.empty());
  co_return all;
}

// What was changed meanwhile is looked at again in the next round.
Task<bool> Governors::patch(const kube::Resource& resource, std::string ns, std::string name, Json change) {
  const auto answer =
      co_await p_.client.patch(resource, std::move(ns), std::move(name), kube::PatchType::merge, change.dump());
  co_return answer || answer.error().not_found();
}

bool Governors::marked(Governor governor) const { return p_.ledger.has(marker_of(governor).key()); }

// On record before anything is written.
Task<bool> Governors::mark(Governor governor) {
  const std::string key = marker_of(governor).key();
  if (!p_.ledger.has(key)) {
    if (!p_.ledger.fits(key)) co_return false;
    budget::Admission marker = marker_of(governor);
    marker.since = p_.loop.wall_now();
    p_.ledger.reserve(std::move(marker));
  }
  p_.ledger.settled(key);
  const auto recorded = co_await io::with_timeout(p_.loop, kRecorded, p_.ledger.recorded(key));
  co_return recorded.value_or(false);
}

void Governors::unmark(Governor governor) {
  if (marked(governor)) p_.ledger.finish(marker_of(governor).key());
}

void Governors::trouble(Governor governor, const std::string& what) {
  p_.problems.raise(problem_of(governor),
                    fmt::format("{} cannot be held back, or let go again: {}; trying again", name_of(governor), what));
}

}  // namespace careen::turnstile
