#include "commands/drain_watches.h"

#include <fmt/format.h>

#include "commands/node_pods_sink.h"
#include "kube/json.h"

namespace careen::app {

using io::Task;

namespace {

// A watch has a connection of its own, which takes 0.2 MB of this process and a TLS handshake of the server. Up to 20
// of them need no second thought, and nobody wants more than 100.
constexpr size_t kFewWatches = 20, kMostWatches = 100;
// To list, send and keep this many pods costs as much as a watch.
constexpr uint64_t kPodsAWatch = 250;
constexpr std::string_view kPodProblem = "watch pods";
constexpr std::string_view kBudgetProblem = "watch poddisruptionbudgets";
constexpr std::string_view kDaemonSetProblem = "watch daemonsets";

kube::ReflectorOptions all_of(kube::Resource resource, int page_size) {
  return {.resource = std::move(resource), .page_size = page_size};
}

// How many pods the cluster has, if the server tells.
std::optional<uint64_t> total_of(const std::string& first_page) {
  const auto list = kube::Json::parse(first_page);
  if (!list || !(*list)["items"].is_array()) return std::nullopt;
  const kube::JsonView metadata = (*list)["metadata"];
  const bool is_all = metadata["continue"].text().value_or("").empty();
  const auto others = is_all ? std::optional<int64_t>(0) : metadata["remainingItemCount"].integer();
  if (!others || *others < 0) return std::nullopt;
  return (*list)["items"].size() + static_cast<uint64_t>(*others);
}

}  // namespace

PodWatches lighter_watches(size_t nodes, std::optional<uint64_t> pods) {
  if (nodes <= kFewWatches) return PodWatches::each_node;
  if (nodes > kMostWatches || !pods) return PodWatches::all_nodes;
  return *pods > kPodsAWatch * nodes ? PodWatches::each_node : PodWatches::all_nodes;
}

Task<PodWatches> choose_pod_watches(KubeSession& session, size_t nodes) {
  if (nodes <= kFewWatches || nodes > kMostWatches) co_return lighter_watches(nodes, std::nullopt);
  kube::CallOptions call;
  // Without a selector: only then the server counts.
  call.query = "limit=1";
  call.attempts = 1;
  const auto page = co_await session.client.list(kube::resources::pods, "", std::move(call));
  co_return lighter_watches(nodes, page ? total_of(*page) : std::nullopt);
}

DrainWatches::DrainWatches(KubeSession& session, const std::vector<std::string>& nodes, PodWatches how, int page_size)
    : session_(session),
      pods_(session.atoms),
      daemon_sets_settled_(session.loop),
      budgets_settled_(session.loop),
      daemon_sets_(watch(kube::make_sink(workloads_, kube::WorkloadKind::daemon_set, session.atoms),
                         all_of(kube::resource_of(kube::WorkloadKind::daemon_set), page_size))),
      budgets_(session.watch_parts(), all_of(kube::resources::disruption_budgets, page_size),
               [](kube::RawObject& raw) { return kube::decode_disruption_budget(raw); }) {
  daemon_sets_->on_synced([this] { daemon_sets_settled_.open(); });
  budgets_.on_synced([this] { budgets_settled_.open(); });
  kube::ReflectorOptions options = all_of(kube::resources::pods, page_size);
  if (how == PodWatches::all_nodes) {
    // What replaces evicted pods is of no interest until it is on a node.
    options.field_selector = "spec.nodeName!=";
    pod_watches_.push_back(watch(kube::make_sink(pods_), options));
    return;
  }
  for (const std::string& node : nodes) {
    options.field_selector = "spec.nodeName=" + node;
    options.name = "pods on " + node;
    pod_watches_.push_back(watch(make_node_pods_sink(pods_, node), options));
  }
}

std::unique_ptr<kube::Watch> DrainWatches::watch(std::unique_ptr<kube::Sink> sink, kube::ReflectorOptions options) {
  return std::make_unique<kube::Watch>(session_.watch_parts(), std::move(options), std::move(sink));
}

void DrainWatches::start() {
  daemon_sets_->start();
  budgets_.start();
  for (const auto& pods : pod_watches_) pods->start();
}

drain::DaemonSetState DrainWatches::daemon_set(std::string_view ns, std::string_view name) const {
  if (!daemon_sets_->synced()) return drain::DaemonSetState::exists;
  const bool found = workloads_.find(kube::WorkloadKind::daemon_set, ns, name) != nullptr;
  return found ? drain::DaemonSetState::exists : drain::DaemonSetState::missing;
}

Task<void> DrainWatches::pods_known() {
  for (const auto& pods : pod_watches_) co_await pods->synced_gate().wait();
  co_await daemon_sets_settled_.wait();
}

Task<bool> DrainWatches::budgets_known() {
  co_await budgets_settled_.wait();
  co_return budgets_.synced();
}

bool DrainWatches::is_about_pods(std::string_view problem) { return problem.starts_with(kPodProblem); }

bool DrainWatches::is_about_budgets(std::string_view problem) { return problem == kBudgetProblem; }

bool DrainWatches::takes(std::string_view problem, std::string_view message, std::string& told) {
  if (problem == kDaemonSetProblem) {
    daemon_sets_settled_.open();
    told = fmt::format("{}; each DaemonSet that controls a pod is taken to exist", message);
    return true;
  }
  if (problem == kBudgetProblem) {
    budgets_settled_.open();
    told = fmt::format("{}; a refused eviction is tried again after a while", message);
    return true;
  }
  return false;
}

}  // namespace careen::app
