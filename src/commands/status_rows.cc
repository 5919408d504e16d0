#include "commands/status_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "commands/holders.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/names.h"
#include "kube/name_order.h"

namespace careen::app {

namespace {

// In the narrow table.
constexpr size_t kBlockedWidth = 50;
constexpr size_t kReasonWidth = 40;

using Rows = std::map<std::string, StatusRow>;  // of one node, by owner

StatusRow row_of(const JobOfKind& of_kind) {
  const controllers::Job& job = of_kind.job;
  StatusRow row;
  row.node = job.node;
  row.by = of_kind.owner();
  row.state = job.state;
  row.reason = job.reason;
  if (job.created != io::Wall{}) row.since = job.created;
  row.percent = job.percent;
  row.pending = job.pending_pods;
  row.blocked_by = job.blocked_by;
  return row;
}

std::string_view label_of(const kube::Node& node, std::string_view key) {
  const kube::Atom* label = node.label(key);
  return label ? label->view() : std::string_view();
}

// The profiles that keep the node from being operational.
void add_profiles(const kube::Node& node, Rows& rows) {
  const std::string_view state = label_of(node, profiles::kStateLabel);
  const auto operational = profiles::name_of(profiles::State::operational);
  if (state.empty() || state == operational) return;
  const auto add = [&](const std::string& profile, std::string_view current, std::optional<io::Wall> since) {
    const std::string by = "profile/" + profile;
    rows[by] = {.node = node.name, .by = by, .state = std::string(current), .since = since};
  };
  const kube::Atom* attached = node.label(profiles::kProfileLabel);
  const auto names = profiles::profiles_of(attached ? std::optional(attached->view()) : std::nullopt);
  const std::string* annotation = node.annotation(profiles::kDataAnnotation);
  const auto data = profiles::parse_node_data(annotation ? *annotation : "");
  bool told = false;
  for (const std::string& name : names) {
    const auto found = data ? data->profiles.find(name) : decltype(data->profiles.find(name)){};
    if (!data || found == data->profiles.end() || found->second.current.text() == operational) continue;
    const io::Wall since = found->second.transition;
    add(name, found->second.current.text(), since == profiles::kZeroTime ? std::nullopt : std::optional(since));
    told = true;
  }
  if (!told) add(names.empty() ? std::string(profiles::kDefaultProfile) : names.front(), state, std::nullopt);
}

void add_holds(const kube::Node& node, Rows& rows) {
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) {
    const auto [it, fresh] = rows.try_emplace(owner);
    StatusRow& row = it->second;
    row.held = hold.items;
    if (!fresh) continue;
    row.node = node.name;
    row.by = owner;
    row.state = hold.items.cordon ? "cordoned" : "held";
    row.since = hold.since;
  }
}

// Of somebody who left no more than that: the program is known that wrote it.
void add_bare_cordon(const kube::Node& node, Rows& rows) {
  if (!node.unschedulable || !rows.empty()) return;
  StatusRow row{.node = node.name,
                .by = std::string(node.cordoned_by.view()),
                .state = "cordoned",
                .held = {.cordon = true, .taints = {}, .labels = {}}};
  if (node.cordoned != io::Wall{}) row.since = node.cordoned;
  rows[""] = std::move(row);
}

std::string age_of(const StatusRow& row, io::Wall now) { return row.since ? age_text(now - *row.since) : ""; }

}  // namespace

std::vector<StatusRow> status_rows(const std::vector<kube::Node>& nodes, const std::vector<JobOfKind>& jobs) {
  std::map<std::string, Rows, kube::NameOrder> by_node;
  for (const JobOfKind& one : jobs) {
    if (one.job.over) continue;
    StatusRow row = row_of(one);
    by_node[row.node][row.by] = std::move(row);
  }
  for (const kube::Node& node : nodes) {
    Rows& rows = by_node[node.name];
    add_profiles(node, rows);
    add_holds(node, rows);
    add_bare_cordon(node, rows);
  }
  std::vector<StatusRow> out;
  for (auto& [node, rows] : by_node) {
    for (auto& [by, row] : rows) out.push_back(std::move(row));
  }
  return out;
}

Row status_header(bool wide) {
  Row header = {"NODE", "BY", "STATE", "PROGRESS", "PENDING", "AGE", "BLOCKED BY", "REASON"};
  if (wide) header.insert(header.end() - 2, {"HOLDS", "SINCE"});
  return header;
}

Row status_cells(const StatusRow& row, io::Wall now, bool wide) {
  Row cells = {row.node,
               row.by.empty() ? "<unknown>" : row.by,
               row.state,
               row.percent ? fmt::format("{}%", *row.percent) : "",
               row.pending ? std::to_string(*row.pending) : "",
               age_of(row, now),
               wide ? row.blocked_by : fit(row.blocked_by, kBlockedWidth),
               wide ? row.reason : fit(row.reason, kReasonWidth)};
  const std::string since = row.since ? io::format_rfc3339(std::chrono::floor<io::seconds>(*row.since)) : "";
  if (wide) cells.insert(cells.end() - 2, {items_text(row.held), since});
  return cells;
}

kube::Json status_document(const std::vector<StatusRow>& rows) {
  kube::Json list = kube::Json::array();
  for (const StatusRow& row : rows) {
    kube::Json one = kube::Json::object({{"node", row.node}, {"state", row.state}});
    const auto put = [&](std::string_view key, const std::string& text) {
      if (!text.empty()) one.set({key}, text);
    };
    put("by", row.by);
    put("reason", row.reason);
    put("blockedBy", row.blocked_by);
    if (row.since) one.set({"since"}, io::format_rfc3339(*row.since));
    if (row.percent) one.set({"drainProgress"}, *row.percent);
    if (row.pending) one.set({"pendingPods"}, static_cast<int64_t>(*row.pending));
    kube::Json taints = kube::Json::array();
    for (const drain::BareTaint& taint : row.held.taints) taints.push_back(taint.key + ":" + taint.effect);
    kube::Json labels = kube::Json::object();
    for (const auto& [key, value] : row.held.labels) labels.set({key}, value);
    one.set({"holds"},
            kube::Json::object(
                {{"cordon", row.held.cordon}, {"taints", std::move(taints)}, {"labels", std::move(labels)}}));
    list.push_back(std::move(one));
  }
  return kube::Json::object({{"maintenances", std::move(list)}});
}

}  // namespace careen::app
