#include "limits/workload_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
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

std::string called(const kube::Workload& workload) {
  return fmt::format("{} {}", name_of(workload.kind), workload.key());
}

// FNV-1a: it is the same in every process.
uint32_t mark_of(std::string_view called) {
  uint32_t hash = 2166136261u;
  for (const char c : called) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
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

WorkloadLimits::WorkloadLimits(WorkloadSources sources, Listener listener)
    : sources_(std::move(sources)), listener_(std::move(listener)) {
  const auto changed = [this] {
    found_.clear();
    if (listener_.changed) listener_.changed();
  };
  follows_.push_back(sources_.pods.subscribe_nodes([this](std::string_view node) {
    if (const auto it = found_.find(node); it != found_.end()) found_.erase(it);
    if (listener_.moved) listener_.moved(node);
  }));
  for (const kube::WorkloadKind kind : kube::kWorkloadKinds) {
    follows_.push_back(
        sources_.workloads.of(kind).subscribe([changed](const kube::Workload*, const kube::Workload*) { changed(); }));
  }
  follows_.push_back(
      sources_.namespaces.subscribe([changed](const kube::Namespace*, const kube::Namespace*) { changed(); }));
}

void WorkloadLimits::put(Limit limit) {
  found_.clear();
  std::string name = limit.name;
  limits_.insert_or_assign(std::move(name), std::move(limit));
}

void WorkloadLimits::remove(std::string_view name) {
  found_.clear();
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

const std::vector<WorkloadLimits::Selected>& WorkloadLimits::selected_on(std::string_view node) const {
  const auto it = found_.find(node);
  return it != found_.end() ? it->second : found_.emplace(node, look(node)).first->second;
}

std::vector<WorkloadLimits::Selected> WorkloadLimits::look(std::string_view node) const {
  std::map<std::string, const kube::Workload*> workloads;  // by what they are called
  sources_.pods.for_each_on(node, [&](const kube::Pod& pod) {
    if (pod.finished()) return;
    for (const kube::PodOwner& owner : kube::owners_of(pod)) {
      const auto kind = kind_of(owner.kind);
      const kube::Workload* const found = kind ? sources_.workloads.find(*kind, pod.ns, owner.name) : nullptr;
      if (found) workloads.emplace(called(*found), found);
    }
  });
  std::vector<Selected> selected;
  for (const auto& [name, limit] : limits_) {
    for (const auto& [text, workload] : workloads) {
      if (selects(limit, *workload)) selected.push_back({&limit, workload, mark_of(text)});
    }
  }
  return selected;
}

int64_t WorkloadLimits::count_out(Mark mark, std::string_view but) const {
  size_t count = everywhere_.size() - everywhere_.count(but);
  if (const auto it = nodes_.find(mark); it != nodes_.end()) {
    for (const std::string& node : everywhere_) count -= it->second.count(node) > 0 && node != but;
    count += it->second.size() - it->second.count(but);
  }
  return static_cast<int64_t>(count);
}

// Why the workload can spare no pod of that node; empty: it can.
std::string WorkloadLimits::refused(const Selected& selected, std::string_view node) const {
  const auto& [limit, workload, mark] = selected;
  if (!limit->mistake.empty()) return "it has a mistake, and admits nothing until it is mended: " + limit->mistake;
  // Nobody misses what nobody wants.
  if (workload->wanted == 0) return {};
  const bool heeds_readiness =
      std::find(limit->policies.begin(), limit->policies.end(), Policy::not_ready) != limit->policies.end();
  if (heeds_readiness && workload->degraded) return called(*workload) + " is not ready";
  const int64_t nominal = limit->nominal(workload->wanted), out = count_out(mark, node);
  if (out < nominal) return {};
  std::string why = fmt::format("{}: {} of {}", called(*workload), out, nominal);
  std::set<std::string_view> others(everywhere_.begin(), everywhere_.end());
  if (const auto it = nodes_.find(mark); it != nodes_.end()) others.insert(it->second.begin(), it->second.end());
  others.erase(node);
  size_t named = 0;
  for (const std::string_view other : others) {
    if (named == kMostNodesNamed) {
      why += ", …";
      break;
    }
    why.append(named++ == 0 ? ": " : ", ").append(other);
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
  const auto& selected = selected_on(node);
  if (selected.empty() && record.empty() && !taken_.contains(node)) return {};
  std::string name(node);
  Taken& taken = taken_[name];
  for (const Selected& one : selected) taken.marks.insert(one.mark);
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
