#include "limits/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "io/printable.h"
#include "kube/cache.h"
#include "kube/events.h"
#include "kube/node.h"
#include "limits/desk.h"

namespace careen::limits {

namespace {

// More would make the page that is scraped larger than what is scraped of everything else.
constexpr size_t kMostGroupsMeasured = 500;
constexpr size_t kMostActorsMeasured = 16;
constexpr const char* kOthers = "others";
constexpr const char* kCap = "careen_limit_cap";
constexpr const char* kUsed = "careen_limit_used";
constexpr const char* kMissingNodes = "careen_limit_missing";
constexpr const char* kWaiting = "careen_limit_waiting";
constexpr const char* kOvershoot = "careen_limit_overshoot";
constexpr const char* kOutSince = "careen_limit_out_since_timestamp_seconds";

const char* help_of(std::string_view name) {
  if (name == kCap) return "Nodes (or units) of a limit's group that may be out at once.";
  if (name == kUsed) return "Those that are out, by who took them out; one with two actors counts for both.";
  if (name == kMissingNodes)
    return "Nodes that were deleted while they were out and have not been replaced, or that a set lacks.";
  if (name == kWaiting) return "Nodes that wait for a place in the group.";
  if (name == kOutSince) return "Since when the node is out that an actor has had out for longest.";
  return "Nodes that others have taken out beyond the cap, by who was counted last.";
}

std::string values_text(const GroupState& group) {
  std::string text;
  for (const std::string& value : group.values) text.append(text.empty() ? "" : "/").append(value);
  return text;
}

// So many nodes each actor has out; the least of them together.
std::map<std::string, size_t> by_actor(const std::vector<Holder>& holders) {
  std::map<std::string, std::set<std::string>> nodes;
  for (const Holder& holder : holders) nodes[io::printable(holder.actor)].insert(holder.node);
  std::vector<std::pair<size_t, std::string>> order;
  for (const auto& [actor, out] : nodes) order.emplace_back(out.size(), actor);
  std::ranges::sort(order, std::greater());
  std::map<std::string, size_t> counts;
  for (size_t i = 0; i < order.size(); ++i)
    counts[i < kMostActorsMeasured ? order[i].second : kOthers] += order[i].first;
  return counts;
}

// Since when each actor has had a node out, of those that have a series of their own.
std::map<std::string, io::Wall> out_since(const std::vector<Holder>& holders, const std::map<std::string, size_t>& of) {
  std::map<std::string, io::Wall> since;
  for (const Holder& holder : holders) {
    const std::string actor = io::printable(holder.actor);
    if (!holder.since || !of.contains(actor)) continue;
    const auto [entry, is_first] = since.emplace(actor, *holder.since);
    if (!is_first) entry->second = std::min(entry->second, *holder.since);
  }
  return since;
}

// What fails is nobody's doing.
bool is_somebody(const Holder& holder) { return !holder.own && holder.actor != "failure" && holder.actor != "missing"; }

}  // namespace

Report::Report(Desk& desk, io::Metrics& metrics, kube::EventRecorder& events, const kube::Store<kube::Node>& nodes,
               std::function<bool()> writes_events)
    : desk_(desk),
      metrics_(metrics),
      events_(events),
      nodes_(nodes),
      writes_events_(std::move(writes_events)),
      updates_(metrics.before_scrape_while([this] { measure(); })),
      changes_(desk.on_change([this] { tell_overshoot(); })) {}

void Report::measure() {
  Series now;
  std::vector<GroupState> groups = desk_.groups();
  if (groups.size() > kMostGroupsMeasured) {
    // Those that tell something first.
    const auto used = [](const GroupState& group) {
      return std::pair(group.used + static_cast<int64_t>(group.waiting), group.total);
    };
    std::ranges::sort(groups, [&](const GroupState& a, const GroupState& b) { return used(a) > used(b); });
    groups.resize(kMostGroupsMeasured);
  }
  for (const GroupState& group : groups) {
    const io::Labels labels{{"limit", group.limit}, {"group", values_text(group)}};
    now[{kCap, labels}] = static_cast<double>(group.cap);
    now[{kMissingNodes, labels}] = static_cast<double>(group.missing);
    now[{kWaiting, labels}] = static_cast<double>(group.waiting);
    const auto with_actor = [&](const char* name, const std::vector<Holder>& holders) {
      for (const auto& [actor, count] : by_actor(holders)) {
        io::Labels more = labels;
        more["actor"] = actor;
        now[{name, more}] = static_cast<double>(count);
      }
    };
    with_actor(kUsed, group.holders);
    with_actor(kOvershoot, group.overshoot);
    for (const auto& [actor, since] : out_since(group.holders, by_actor(group.holders))) {
      io::Labels more = labels;
      more["actor"] = actor;
      now[{kOutSince, more}] = std::chrono::duration<double>(since.time_since_epoch()).count();
    }
  }
  for (const auto& [series, value] : shown_) {
    if (!now.contains(series)) metrics_.drop_gauge(series.first, series.second);
  }
  for (const auto& [series, value] : now) metrics_.gauge(series.first, help_of(series.first), series.second).set(value);
  shown_ = std::move(now);
}

// Once for a node, until the group has no more out than it may have.
void Report::tell_overshoot() {
  const std::vector<GroupState> over = desk_.exceeded();
  std::map<std::string, std::set<std::string>> told;
  for (const GroupState& group : over) {
    std::set<std::string>& nodes = told[group.name()];
    if (const auto before = told_.find(group.name()); before != told_.end()) nodes = std::move(before->second);
    for (const Holder& holder : group.overshoot) {
      const kube::Node* const node = nodes_.find(holder.node);
      if (!node || !is_somebody(holder) || !writes_events_() || !nodes.insert(node->uid).second) continue;
      kube::EventRecord event;
      event.regarding = {"v1", "Node", "", node->name, node->uid, std::to_string(node->version)};
      event.type = "Warning";
      event.reason = "MaintenanceLimitExceeded";
      event.action = "Count";
      event.note = fmt::format("{} has taken this node out beyond MaintenanceLimit {}: {} are out, and {} may be",
                               io::printable(holder.actor), io::printable(group.name()), group.used, group.cap);
      event.controller = "careen";
      events_.record(std::move(event));
    }
  }
  told_ = std::move(told);
}

}  // namespace careen::limits
