#include "commands/drain_watches.h"

#include <fmt/format.h>

#include "commands/node_pods_sink.h"

namespace careen::app {

using io::Task;

namespace {

// A watch is a connection of its own: from here on one for all pods is the smaller burden.
constexpr size_t kManyNodes = 20;
constexpr size_t kDaemonSets = 0, kBudgets = 1, kPods = 2;
constexpr std::string_view kPodProblem = "watch pods";
constexpr std::string_view kBudgetProblem = "watch poddisruptionbudgets";
constexpr std::string_view kDaemonSetProblem = "watch daemonsets";

Task<void> open_when(kube::Reflector* reflector, io::Gate* gate) {
  co_await reflector->synced_gate().wait();
  gate->open();
}

}  // namespace

DrainWatches::DrainWatches(KubeSession& session, const std::vector<std::string>& nodes, int page_size)
    : session_(session),
      pods_(session.atoms),
      daemon_sets_settled_(session.loop),
      budgets_settled_(session.loop),
      scope_(session.loop) {
  kube::ReflectorOptions options;
  options.page_size = page_size;
  options.resource = kube::resource_of(kube::WorkloadKind::daemon_set);
  add(kube::make_sink(workloads_, kube::WorkloadKind::daemon_set, session.atoms), options);
  options.resource = kube::resources::disruption_budgets;
  add(kube::make_sink(budgets_, [](kube::RawObject& raw) { return kube::decode_disruption_budget(raw); }), options);
  options.resource = kube::resources::pods;
  if (nodes.size() > kManyNodes) {
    add(kube::make_sink(pods_), options);
    return;
  }
  for (const std::string& node : nodes) {
    options.field_selector = "spec.nodeName=" + node;
    options.name = "pods on " + node;
    add(make_node_pods_sink(pods_, node), options);
  }
}

void DrainWatches::add(std::unique_ptr<kube::Sink> sink, kube::ReflectorOptions options) {
  auto reflector = session_.reflector(*sink, std::move(options));
  watches_.push_back({std::move(sink), std::move(reflector)});
}

void DrainWatches::start() {
  for (Watch& watch : watches_) scope_.spawn(watch.reflector->run());
  scope_.spawn(open_when(watches_[kDaemonSets].reflector.get(), &daemon_sets_settled_));
  scope_.spawn(open_when(watches_[kBudgets].reflector.get(), &budgets_settled_));
}

drain::DaemonSetState DrainWatches::daemon_set(std::string_view ns, std::string_view name) const {
  if (!watches_[kDaemonSets].reflector->synced()) return drain::DaemonSetState::exists;
  const bool found = workloads_.find(kube::WorkloadKind::daemon_set, ns, name) != nullptr;
  return found ? drain::DaemonSetState::exists : drain::DaemonSetState::missing;
}

Task<void> DrainWatches::pods_known() {
  for (size_t index = kPods; index < watches_.size(); ++index) {
    co_await watches_[index].reflector->synced_gate().wait();
  }
  co_await daemon_sets_settled_.wait();
}

Task<bool> DrainWatches::budgets_known() {
  co_await budgets_settled_.wait();
  co_return watches_[kBudgets].reflector->synced();
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
