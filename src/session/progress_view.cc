#include "session/progress_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/terminal_table.h"

namespace careen::app {

using drain::PodProgress;
using drain::Progress;
using drain::Stage;

namespace {

constexpr size_t kHeldShown = 3;
constexpr size_t kProgressBarWidth = 20;
constexpr size_t kLongestName = 40;
// Less is what pods usually need.
constexpr io::Duration kSlow = io::seconds{5};

bool is_blocked(const PodProgress& pod) { return pod.stage == Stage::blocked || pod.stage == Stage::failed; }

std::string state_text(const Progress& progress) {
  std::vector<std::pair<Stage, int>> counts = {{Stage::blocked, 0},  {Stage::failed, 0},      {Stage::completing, 0},
                                               {Stage::evicting, 0}, {Stage::terminating, 0}, {Stage::waiting, 0}};
  for (const PodProgress& pod : progress.pods) {
    for (auto& [stage, count] : counts) count += stage == pod.stage ? 1 : 0;
  }
  std::string text;
  for (const auto& [stage, count] : counts) {
    if (count == 0) continue;
    if (!text.empty()) text += ", ";
    text += fmt::format("{} {}", count, name_of(stage));
  }
  return text;
}

// Which pods an operator wants to see first; 0: nothing to worry about.
int rank(const PodProgress& pod, io::Wall now) {
  if (is_blocked(pod)) return 3;
  if (pod.stage == Stage::completing) return 2;
  if (pod.stage == Stage::terminating && now - pod.since >= kSlow) return 1;
  return 0;
}

Line bar(const NodeView& node, const Screen& screen) {
  const size_t full =
      node.total <= 0 ? 0 : kProgressBarWidth * static_cast<size_t>(node.gone) / static_cast<size_t>(node.total);
  std::string done, open;
  for (size_t index = 0; index < kProgressBarWidth; ++index) {
    if (index < full) {
      done += screen.unicode() ? "█" : "#";
    } else {
      open += screen.unicode() ? "░" : "-";
    }
  }
  return screen.paint(Colour::green, done) + screen.paint(Colour::dim, open);
}

Line node_line(const NodeView& node, size_t name_width, size_t width, const Screen& screen) {
  const std::string name = pad(fit(node.node, name_width), name_width);
  // The first parts are the last to be cut.
  std::string after = fmt::format("  {}/{} pods gone  {}", node.gone, node.total, age_text(node.elapsed));
  if (!node.state.empty()) after += "  " + node.state;
  const size_t used = name_width + 2 + kProgressBarWidth;
  if (used >= width) return fit(name + after, width);
  return screen.paint(Colour::bold, name) + "  " + bar(node, screen) + fit(after, width - used);
}

Line held_line(const HeldPod& held, size_t pod_width, size_t width, const Screen& screen) {
  const std::string text = fit("  " + pad(held.pod, pod_width) + "  " + held.reason, width);
  return screen.paint(held.blocked ? Colour::yellow : Colour::dim, text);
}

std::vector<Line> held_lines(const NodeView& node, size_t width, const Screen& screen) {
  const size_t shown = node.held.size() <= kHeldShown + 1 ? node.held.size() : kHeldShown;
  size_t pod_width = 0;
  for (size_t index = 0; index < shown; ++index) pod_width = std::max(pod_width, text_width(node.held[index].pod));
  std::vector<Line> lines;
  for (size_t index = 0; index < shown; ++index) {
    lines.push_back(held_line(node.held[index], pod_width, width, screen));
  }
  if (shown < node.held.size()) {
    lines.push_back(screen.paint(Colour::dim, fit(fmt::format("  … and {} more", node.held.size() - shown), width)));
  }
  return lines;
}

}  // namespace

NodeView view_of(const std::string& node, const Progress& progress, io::Wall now) {
  NodeView view;
  view.node = node;
  view.total = progress.pods_to_evict;
  view.gone = std::max(0, progress.pods_to_evict - static_cast<int>(progress.pods.size()));
  view.state = state_text(progress);
  view.elapsed = now - progress.begun;
  for (const int wanted : {3, 2, 1}) {
    for (const PodProgress& pod : progress.pods) {
      if (rank(pod, now) == wanted) view.held.push_back({pod.ns + "/" + pod.name, pod.reason, is_blocked(pod)});
    }
  }
  return view;
}

std::vector<Line> frame(const std::vector<NodeView>& nodes, const Screen& screen) {
  const ScreenSize size = screen.size();
  // A line that fills the last column may or may not begin a new one; what is drawn must leave room for the cursor.
  const size_t width = size.width > 1 ? size.width - 1 : 1;
  const size_t height = size.height > 2 ? size.height - 1 : 2;
  size_t name_width = 0;
  for (const NodeView& node : nodes) name_width = std::max(name_width, text_width(node.node));
  name_width = std::min({name_width, kLongestName, width});

  // Nodes that are held up come first when there is no room for all.
  std::vector<const NodeView*> order;
  const bool crowded = nodes.size() > height;
  for (const NodeView& node : nodes) {
    if (!crowded || !node.held.empty()) order.push_back(&node);
  }
  for (const NodeView& node : nodes) {
    if (crowded && node.held.empty()) order.push_back(&node);
  }
  const size_t shown = nodes.size() <= height ? nodes.size() : height - 1;
  size_t room = height - shown - (shown < nodes.size() ? 1 : 0);
  std::vector<Line> lines;
  for (size_t index = 0; index < shown; ++index) {
    lines.push_back(node_line(*order[index], name_width, width, screen));
    std::vector<Line> details = held_lines(*order[index], width, screen);
    if (details.size() > room) continue;
    room -= details.size();
    for (Line& line : details) lines.push_back(std::move(line));
  }
  if (shown < nodes.size()) lines.emplace_back(fit(fmt::format("… and {} more nodes", nodes.size() - shown), width));
  return lines;
}

void ProgressLog::tell_begun(Known& known, std::vector<std::string>& lines) const {
  if (known.begun) return;
  known.begun = true;
  lines.push_back(fmt::format("{} pod {}/{}", deletes_ ? "deleting" : "evicting", known.ns, known.name));
}

void ProgressLog::tell_stage(const PodProgress& pod, Known& known, std::vector<std::string>& lines) const {
  if (pod.stage == Stage::evicting || pod.stage == Stage::terminating) tell_begun(known, lines);
  if (is_blocked(pod)) {
    // A budget's numbers change often; that it still blocks is no news.
    const std::string by = pod.budget.empty() ? pod.reason : pod.budget;
    if (std::exchange(known.blocked_by, by) == by) return;
    lines.push_back(fmt::format("pod {}/{}: {}", pod.ns, pod.name, pod.reason));
  }
  if (pod.stage == Stage::completing && !std::exchange(known.completes, true)) {
    lines.push_back(fmt::format("pod {}/{}: {}", pod.ns, pod.name, pod.reason));
  }
}

std::vector<std::string> ProgressLog::news(const std::string& node, const Progress& progress) {
  std::vector<std::string> lines;
  auto& before = nodes_[node];
  std::map<std::string, Known> pending;
  for (const PodProgress& pod : progress.pods) {
    auto entry = before.extract(pod.uid);
    Known known = entry ? std::move(entry.mapped()) : Known{.ns = pod.ns, .name = pod.name};
    tell_stage(pod, known, lines);
    pending.emplace(pod.uid, std::move(known));
  }
  // A pod that is no longer pending has gone, even when its eviction was too short to be seen.
  for (auto& [uid, known] : before) {
    const bool completed = known.completes && !known.begun;
    if (!completed) tell_begun(known, lines);
    lines.push_back(fmt::format("pod/{} {}", known.name, completed ? "completed" : deletes_ ? "deleted" : "evicted"));
  }
  before = std::move(pending);
  return lines;
}

}  // namespace careen::app
