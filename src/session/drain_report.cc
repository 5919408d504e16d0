#include "session/drain_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"

namespace careen::app {

namespace {

std::string_view name_of(DrainEnd end) {
  switch (end) {
    case DrainEnd::drained:
      return "drained";
    case DrainEnd::refused:
      return "refused";
    case DrainEnd::failed:
      return "failed";
    case DrainEnd::not_cordoned:
      return "not cordoned";
    case DrainEnd::interrupted:
      break;
  }
  return "interrupted";
}

int terminating(const drain::Progress& progress) {
  return static_cast<int>(std::count_if(progress.pods.begin(), progress.pods.end(),
                                        [](const auto& pod) { return pod.stage == drain::Stage::terminating; }));
}

kube::Json pod_document(const drain::PodProgress& pod) {
  kube::Json document = kube::Json::object({{"namespace", pod.ns},
                                            {"name", pod.name},
                                            {"stage", drain::name_of(pod.stage)},
                                            {"since", io::format_rfc3339(pod.since)},
                                            {"reason", pod.reason}});
  if (!pod.budget.empty()) document.set({"budget"}, pod.budget);
  if (!pod.cause.empty()) document.set({"cause"}, pod.cause);
  return document;
}

}  // namespace

std::string state_text(const DrainedNode& node) {
  if (!node.cordoned) return fmt::format("node/{} is as it was", node.node);
  const size_t left = node.progress.pods.size();
  if (node.end == DrainEnd::drained) return fmt::format("node/{} is cordoned and drained", node.node);
  if (left == 0) return fmt::format("node/{} is cordoned", node.node);
  std::string text =
      fmt::format("node/{} is cordoned; {} of {} {} left", node.node, left,
                  count_text(static_cast<size_t>(node.progress.pods_to_evict), "pod"), left == 1 ? "is" : "are");
  if (const int leaving = terminating(node.progress)) text += fmt::format(", {} of them terminating", leaving);
  return text;
}

std::vector<std::string> pods_left(const DrainedNode& node) {
  constexpr size_t kShown = 5;
  std::vector<std::string> lines;
  if (node.end == DrainEnd::refused) return lines;
  const auto& pods = node.progress.pods;
  const size_t shown = pods.size() <= kShown + 1 ? pods.size() : kShown;
  for (size_t index = 0; index < shown; ++index) {
    lines.push_back(fmt::format("  {}/{}: {}", pods[index].ns, pods[index].name, pods[index].reason));
  }
  if (shown < pods.size()) lines.push_back(fmt::format("  … and {} more", pods.size() - shown));
  return lines;
}

drain::Progress with_reasons(drain::Progress over, const drain::Progress& before) {
  for (drain::PodProgress& pod : over.pods) {
    const auto known = std::find_if(before.pods.begin(), before.pods.end(),
                                    [&](const drain::PodProgress& old) { return old.uid == pod.uid; });
    if (known != before.pods.end() && pod.stage == drain::Stage::waiting) pod = *known;
  }
  return over;
}

std::vector<std::string> advice(const std::vector<DrainedNode>& nodes) {
  std::vector<std::string> cordoned;
  bool again = false, refused = false;
  for (const DrainedNode& node : nodes) {
    if (node.cordoned) cordoned.push_back(node.node);
    if (node.end == DrainEnd::drained) continue;
    refused = refused || node.end == DrainEnd::refused;
    again = again || node.end != DrainEnd::refused;
  }
  if (!refused && !again) return {};
  std::vector<std::string> lines;
  // The flags that allow it are in kubectl's words of the refusal.
  if (refused) lines.push_back("To drain what was refused, add the flags that are named above.");
  if (again) lines.push_back("To go on, run the same command again.");
  if (!cordoned.empty()) lines.push_back(fmt::format("To undo: careen uncordon {}", fmt::join(cordoned, " ")));
  return lines;
}

kube::Json drain_document(const std::vector<DrainedNode>& nodes) {
  kube::Json list = kube::Json::array();
  for (const DrainedNode& node : nodes) {
    const auto pending = static_cast<int>(node.progress.pods.size());
    kube::Json pods = kube::Json::array();
    for (const drain::PodProgress& pod : node.progress.pods) pods.push_back(pod_document(pod));
    kube::Json errors = kube::Json::array();
    for (const std::string& error : node.errors) errors.push_back(error);
    list.push_back(kube::Json::object({{"node", node.node},
                                       {"result", name_of(node.end)},
                                       {"cordoned", node.cordoned},
                                       {"totalPods", node.progress.total_pods},
                                       {"podsToEvict", node.progress.pods_to_evict},
                                       {"podsGone", std::max(0, node.progress.pods_to_evict - pending)},
                                       {"seconds", io::to_seconds(node.took)},
                                       {"pending", std::move(pods)},
                                       {"errors", std::move(errors)},
                                       {"warnings", node.progress.warnings}}));
  }
  return kube::Json::object({{"nodes", std::move(list)}});
}

}  // namespace careen::app
