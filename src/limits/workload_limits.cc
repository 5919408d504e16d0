#include "limits/workload_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <utility>

#include "kube/pod_owner.h"
#include "kube/pod_store.h"

namespace careen::limits {

namespace {

constexpr std::string_view kAll = "*";
constexpr size_t kMostNodesNamed = 3;

std::optional<kube::WorkloadKind> kind_of(Subject subject) {
  switch (subject) {
    case Subject::deployment:
      return kube::WorkloadKind::deployment;
    case Subject::stateful_set:
      return kube::WorkloadKind::stateful_set;
    case Subject::daemon_set:
      return kube::WorkloadKind::daemon_set;
    case Subject::node:
    case Subject::unsupported:
      break;
  }
  return std::nullopt;
}

std::optional<kube::WorkloadKind> kind_of(kube::PodOwner::Kind kind) {
  switch (kind) {
    case kube::PodOwner::Kind::deployment:
      return kube::WorkloadKind::deployment;
    case kube::PodOwner::Kind::stateful_set:
      return kube::WorkloadKind::stateful_set;
    case kube::PodOwner::Kind::daemon_set:
      return kube::WorkloadKind::daemon_set;
    case kube::PodOwner::Kind::replica_set:
      break;
  }
  return std::nullopt;
}

std::string_view name_of(kube::WorkloadKind kind) {
  switch (kind) {
    case kube::WorkloadKind::deployment:
      return "deployment";
    case kube::WorkloadKind::stateful_set:
      return "statefulset";
    case kube::WorkloadKind::daemon_set:
      return "daemonset";
  }
  return "";
}

std::string shown(const kube::Workload& workload) {
  return fmt::format("{} {}", name_of(workload.kind), workload.key());
}

// FNV-1a: it is the same in every process.
uint32_t mark_of(const kube::Workload& workload) {
  uint32_t hash = 2166136261u;
  for (const char c : shown(workload)) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

std::optional<uint32_t> mark_in(std::string_view text) {
  uint32_t mark = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), mark, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return mark;
}

template <class Labelled>
kube::LabelSelector::Lookup labels_of(const Labelled& object) {
  return [&object](std::string_view key) -> std::optional<std::string_view> {
    const kube::Atom* const label = object.label(key);
    if (!label) return std::nullopt;
    return label->view();
  };
}

}  // namespace

bool WorkloadLimits::Selected::operator<(const Selected& other) const {
  const auto key = [](const Selected& one) {
    return std::tuple<std::string_view, kube::WorkloadKind, std::string_view, std::string_view>(
        one.limit->name, one.workload->kind, one.workload->ns.view(), one.workload->name);
  };
  return key(*this) < key(other);
}

WorkloadLimits::WorkloadLimits(WorkloadSources sources) : sources_(std::move(sources)) {}

void WorkloadLimits::put(Limit limit) {
  std::string name = limit.name;
  limits_.insert_or_assign(std::move(name), std::move(limit));
}

void WorkloadLimits::remove(std::string_view name) {
  if (const auto it = limits_.find(name); it != limits_.end()) limits_.erase(it);
}

std::set<kube::WorkloadKind> WorkloadLimits::kinds() const {
  std::set<kube::WorkloadKind> kinds;
  for (const auto& [name, limit] : limits_) {
    if (const auto kind = kind_of(limit.subject)) kinds.insert(*kind);
  }
  return kinds;
}

bool WorkloadLimits::needs_namespaces() const {
  return std::any_of(limits_.begin(), limits_.end(),
                     [](const auto& entry) { return !entry.second.namespace_selector.empty(); });
}

bool WorkloadLimits::knows_all() const {
  const auto all = kinds();
  return sources_.knows_pods() && std::all_of(all.begin(), all.end(), sources_.knows) &&
         (!needs_namespaces() || sources_.knows_namespaces());
}

bool WorkloadLimits::selects(const Limit& limit, const kube::Workload& workload) const {
  if (kind_of(limit.subject) != workload.kind || !limit.selector.matches(labels_of(workload))) return false;
  if (limit.namespace_selector.empty()) return true;
  const kube::Namespace* const ns = sources_.namespaces.find(workload.ns.view());
  // One that has not been heard of yet may be one that is meant.
  return !ns || limit.namespace_selector.matches(labels_of(*ns));
}

std::set<WorkloadLimits::Selected> WorkloadLimits::selected_on(std::string_view node) const {
  std::set<const kube::Workload*> workloads;
  sources_.pods.for_each_on(node, [&](const kube::Pod& pod) {
    if (pod.finished()) return;
    for (const kube::PodOwner& owner : kube::owners_of(pod)) {
      const auto kind = kind_of(owner.kind);
      const kube::Workload* const found = kind ? sources_.workloads.find(*kind, pod.ns, owner.name) : nullptr;
      if (found) workloads.insert(found);
    }
  });
  std::set<Selected> selected;
  for (const kube::Workload* const workload : workloads) {
    for (const auto& [name, limit] : limits_) {
      if (selects(limit, *workload)) selected.insert({&limit, workload});
    }
  }
  return selected;
}

WorkloadLimits::Nodes WorkloadLimits::out(Mark mark) const {
  Nodes nodes = everywhere_;
  if (const auto it = nodes_.find(mark); it != nodes_.end()) nodes.insert(it->second.begin(), it->second.end());
  return nodes;
}

// Why the workload can spare no pod of that node; empty: it can.
std::string WorkloadLimits::refused(const Selected& selected, std::string_view node) const {
  const auto& [limit, workload] = selected;
  if (!limit->mistake.empty()) return "it has a mistake, and admits nothing until it is mended: " + limit->mistake;
  // Nobody misses what nobody wants.
  if (workload->wanted == 0) return {};
  const bool heeds_readiness =
      std::find(limit->policies.begin(), limit->policies.end(), Policy::not_ready) != limit->policies.end();
  if (heeds_readiness && workload->degraded) return shown(*workload) + " is not ready";
  Nodes others = out(mark_of(*workload));
  if (const auto self = others.find(node); self != others.end()) others.erase(self);
  const int64_t nominal = limit->nominal(workload->wanted);
  if (static_cast<int64_t>(others.size()) < nominal) return {};
  std::string why = fmt::format("{}: {} of {}", shown(*workload), others.size(), nominal);
  size_t named = 0;
  for (const std::string& other : others) {
    if (named == kMostNodesNamed) {
      why += ", …";
      break;
    }
    why += (named++ == 0 ? ": " : ", ") + other;
  }
  return why;
}

void WorkloadLimits::refusals(std::string_view node, const std::function<bool(const Refusal&)>& visit) const {
  if (limits_.empty()) return;
  if (!knows_all()) {
    for (const auto& [name, limit] : limits_) {
      if (!visit({&limit, "it is not known yet which pods and workloads there are"})) return;
    }
    return;
  }
  const Limit* told = nullptr;
  for (const Selected& selected : selected_on(node)) {
    if (selected.limit == told) continue;
    std::string why = refused(selected, node);
    if (why.empty()) continue;
    told = selected.limit;
    if (!visit({selected.limit, std::move(why)})) return;
  }
}

std::vector<std::string> WorkloadLimits::take(std::string_view node, const std::vector<std::string>& record) {
  const auto selected = selected_on(node);
  if (selected.empty() && record.empty() && !taken_.contains(node)) return {};
  std::string name(node);
  Taken& taken = taken_[name];
  for (const Selected& one : selected) taken.marks.insert(mark_of(*one.workload));
  for (const std::string& text : record) {
    const auto mark = mark_in(text);
    if (!mark || taken.marks.size() > kMostRemembered) {
      taken.all = true;
      break;
    }
    taken.marks.insert(*mark);
  }
  taken.all |= taken.marks.size() > kMostRemembered;
  if (taken.all) everywhere_.insert(name);
  std::vector<std::string> all;
  for (const Mark mark : taken.marks) {
    nodes_[mark].insert(name);
    all.push_back(fmt::format("{:08x}", mark));
  }
  return taken.all ? std::vector<std::string>{std::string(kAll)} : all;
}

bool WorkloadLimits::release(std::string_view node) {
  const auto it = taken_.find(node);
  if (it == taken_.end()) return false;
  for (const Mark mark : it->second.marks) {
    const auto nodes = nodes_.find(mark);
    nodes->second.erase(it->first);
    if (nodes->second.empty()) nodes_.erase(nodes);
  }
  everywhere_.erase(it->first);
  taken_.erase(it);
  return true;
}

}  // namespace careen::limits
