#include "commands/drain_rehearsal.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "cli/terminal_table.h"
#include "commands/drain_limits.h"
#include "commands/drain_watches.h"
#include "commands/node_write.h"
#include "drain/filter.h"
#include "drain/holds.h"
#include "kube/json.h"

namespace careen::app {

using io::Task;

namespace {

struct PlannedPod {
  std::string ns, name, uid;
  drain::Fate fate = drain::Fate::take;
  std::string obstacle;  // what would hold it up at the moment
};

struct NodePlan {
  bool cordoned_before = false;
  std::vector<PlannedPod> pods;
  std::vector<std::string> errors;
  std::string warnings;
  std::string waits;  // for what, before it is cordoned
};

std::string obstacle_of(const kube::Pod& pod, const kube::Store<kube::DisruptionBudget>& budgets) {
  if (pod.terminating() || pod.finished() || pod.phase == kube::PodPhase::pending) return {};
  const auto covering = kube::budgets_of(budgets, pod);
  if (covering.size() > 1) return fmt::format("covered by {} disruption budgets", covering.size());
  if (covering.empty() || covering.front()->allowed > 0) return {};
  return fmt::format("budget {} allows no disruption now", covering.front()->key());
}

class Rehearsal {
 public:
  Rehearsal(KubeSession& session, DrainLimits& limits, DrainOptions options, std::vector<kube::Node> nodes,
            PodWatches how)
      : session_(session),
        limits_(limits),
        screen_(session.screen),
        options_(std::move(options)),
        nodes_(std::move(nodes)),
        watches_(session, names(), how, options_.page_size),
        no_pods_(session.loop) {}

  Task<int> main() {
    session_.on_problem = [this](std::string_view key, std::string_view message) {
      std::string told;
      if (DrainWatches::is_about_pods(key)) {
        screen_.error(message);
        return no_pods_.open();
      }
      screen_.warning(watches_.takes(key, message, told) ? std::string_view(told) : message);
    };
    watches_.start();
    co_await io::race(session_.loop, all_known(), io::wait_for(no_pods_));
    session_.on_problem = nullptr;
    if (no_pods_.is_open()) co_return kFailed;
    bool possible = true;
    for (const kube::Node& node : nodes_) {
      NodePlan plan = plan_for(node);
      if (options_.dry_run == DryRun::server) co_await ask_server(node, plan);
      possible = possible && plan.errors.empty();
      if (options_.json) {
        document_.push_back(document_of(node, plan));
      } else {
        show(node, plan);
      }
    }
    if (options_.json) screen_.document(kube::Json::object({{"nodes", document_}}).dump());
    co_return possible ? 0 : kFailed;
  }

 private:
  Task<void> all_known() {
    co_await watches_.pods_known();
    co_await watches_.budgets_known();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const kube::Node& node : nodes_) out.push_back(node.name);
    return out;
  }
  std::string_view mark() const { return options_.dry_run == DryRun::server ? "(server dry run)" : "(dry run)"; }

  NodePlan plan_for(const kube::Node& node) {
    NodePlan plan;
    plan.cordoned_before = node.unschedulable;
    plan.waits = limits_.foresee(node);
    drain::Remarks refusals, warnings;
    watches_.pods().for_each_on(node.name, [&](const kube::Pod& pod) {
      const bool daemon = pod.flags.daemon_set;
      const auto state = daemon ? watches_.daemon_set(pod.ns, pod.owner_name) : drain::DaemonSetState::exists;
      const io::Duration beyond_grace = pod.deletion ? session_.now() - *pod.deletion : io::Duration::zero();
      const drain::Verdict verdict = drain::judge(pod, options_.drain, state, beyond_grace);
      if (verdict.fate == drain::Fate::refuse) return drain::remark(refusals, verdict.message, pod);
      if (!verdict.message.empty()) drain::remark(warnings, verdict.message, pod);
      if (verdict.fate == drain::Fate::leave) return;
      plan.pods.push_back({std::string(pod.ns), pod.name, pod.uid, verdict.fate,
                           options_.drain.disable_eviction ? "" : obstacle_of(pod, watches_.budgets())});
    });
    plan.errors = drain::refusals_text(refusals);
    plan.warnings = drain::warnings_text(warnings);
    std::sort(plan.pods.begin(), plan.pods.end(),
              [](const PlannedPod& a, const PlannedPod& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
    return plan;
  }

  Task<void> ask_server(const kube::Node& node, NodePlan& plan) {
    const auto cordon = [this](const kube::Node& now) {
      drain::Hold hold{.id = session_.random.uuid(), .since = session_.now(), .items = {}};
      hold.items.cordon = true;
      return drain::hold(now, session_.owner, std::move(hold), session_.atoms);
    };
    if (const auto cordoned = co_await change_node(session_, node, cordon, true); !cordoned) {
      plan.errors.push_back(fmt::format("unable to cordon: {}", server_error(cordoned.error())));
    }
    if (!plan.errors.empty()) co_return;
    for (PlannedPod& pod : plan.pods) {
      if (pod.fate != drain::Fate::take) continue;
      const auto answer = co_await ask_to_leave(pod);
      if (!answer && !answer.error().not_found()) pod.obstacle = server_error(answer.error());
    }
  }

  Task<kube::Result<std::string>> ask_to_leave(const PlannedPod& pod) {
    kube::CallOptions call;
    call.query = "dryRun=All";
    call.attempts = 2;
    kube::DeleteOptions what;
    what.preconditions.uid = pod.uid;
    if (options_.drain.grace_seconds >= 0) what.grace_period_seconds = options_.drain.grace_seconds;
    if (options_.drain.disable_eviction) {
      co_return co_await session_.client.remove(kube::resources::pods, pod.ns, pod.name, what, call);
    }
    co_return co_await session_.client.evict(pod.ns, pod.name, what, call);
  }

  void show(const kube::Node& node, const NodePlan& plan) {
    if (!plan.waits.empty()) screen_.line(fmt::format("node/{} {} {}", node.name, plan.waits, mark()));
    screen_.line(
        fmt::format("node/{} {} {}", node.name, plan.cordoned_before ? "already cordoned" : "cordoned", mark()));
    if (!plan.warnings.empty()) {
      constexpr std::string_view kMark = "WARNING: ";
      screen_.warning(std::string_view(plan.warnings).substr(plan.warnings.starts_with(kMark) ? kMark.size() : 0));
    }
    for (const std::string& error : plan.errors) {
      screen_.error(fmt::format("unable to drain node \"{}\" due to error: {}", node.name, error));
    }
    if (!plan.errors.empty()) return;
    const std::string_view verb = options_.drain.disable_eviction ? "deleting" : "evicting";
    for (const PlannedPod& pod : plan.pods) {
      const std::string_view does = pod.fate == drain::Fate::await ? "waiting for the end of" : verb;
      const Line held = pod.obstacle.empty() ? Line() : screen_.paint(Colour::yellow, ": " + pod.obstacle);
      screen_.line(fmt::format("{} pod {}/{} {}", does, pod.ns, pod.name, mark()) + held);
    }
    const auto held = static_cast<size_t>(
        std::count_if(plan.pods.begin(), plan.pods.end(), [](const PlannedPod& pod) { return !pod.obstacle.empty(); }));
    const std::string end = held == 0 ? "drained" : "would wait for " + count_text(held, "blocked pod");
    screen_.line(fmt::format("node/{} {} {}", node.name, end, mark()));
  }

  kube::Json document_of(const kube::Node& node, const NodePlan& plan) const {
    kube::Json pods = kube::Json::array(), errors = kube::Json::array();
    for (const PlannedPod& pod : plan.pods) {
      kube::Json one = kube::Json::object({{"namespace", pod.ns}, {"name", pod.name}});
      one.set({"action"}, pod.fate == drain::Fate::await    ? "wait"
                          : options_.drain.disable_eviction ? "delete"
                                                            : "evict");
      if (!pod.obstacle.empty()) one.set({"reason"}, pod.obstacle);
      pods.push_back(std::move(one));
    }
    for (const std::string& error : plan.errors) errors.push_back(error);
    kube::Json document = kube::Json::object({{"node", node.name},
                                              {"result", plan.errors.empty() ? "dry run" : "refused"},
                                              {"cordoned", plan.cordoned_before},
                                              {"pods", std::move(pods)},
                                              {"errors", std::move(errors)},
                                              {"warnings", plan.warnings}});
    if (!plan.waits.empty()) document.set({"waits"}, plan.waits);
    return document;
  }

  KubeSession& session_;
  DrainLimits& limits_;
  Screen& screen_;
  DrainOptions options_;
  std::vector<kube::Node> nodes_;
  DrainWatches watches_;
  io::Gate no_pods_;
  kube::Json document_ = kube::Json::array();
};

}  // namespace

Task<int> rehearse_drain(KubeSession& session, DrainLimits& limits, DrainOptions options,
                         std::vector<kube::Node> nodes) {
  const PodWatches how = co_await choose_pod_watches(session, nodes.size());
  Rehearsal rehearsal(session, limits, std::move(options), std::move(nodes), how);
  co_return co_await rehearsal.main();
}

}  // namespace careen::app
