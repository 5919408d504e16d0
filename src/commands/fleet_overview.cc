#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"
#include "cli/why_tree.h"
#include "commands/budget_text.h"
#include "commands/clusters_text.h"
#include "commands/fleet_parts.h"
#include "commands/fleet_text.h"
#include "commands/view_words.h"

namespace careen::app {

using kube::JsonView;

namespace {

constexpr size_t kHoldersShown = 5;

void add_section(std::vector<Line>& lines, const Row& header, const std::vector<Row>& rows, size_t width) {
  if (rows.empty()) return;
  lines.emplace_back();
  for (const std::string& line : table_lines(header, rows)) lines.emplace_back(fit(line, width));
}

std::string leader_line(const FleetModel& fleet) {
  const JsonView careen = fleet["careen"];
  const std::string holder = shown(careen["holder"]);
  const size_t nodes = fleet.nodes().size();
  size_t unready = 0, cordoned = 0;
  for (const auto& [name, node] : fleet.nodes()) {
    unready += node["ready"].boolean().value_or(true) ? 0 : 1;
    cordoned += node["cordoned"].boolean().value_or(false) ? 1 : 0;
  }
  std::string line = count_text(nodes, "node");
  if (cordoned > 0) line += fmt::format(", {} cordoned", cordoned);
  if (unready > 0) line += fmt::format(", {} not ready", unready);
  if (careen.exists()) line += "; careen " + shown(careen["version"]);
  if (!holder.empty()) line += ", led by " + holder;
  return line;
}

std::vector<Row> profile_rows(const FleetModel& fleet) {
  std::vector<Row> rows;
  fleet["profiles"].for_each_element([&](JsonView profile) {
    const StateCounts counts = state_counts(profile);
    rows.push_back({shown(profile["name"]), std::to_string(counts.operational), std::to_string(counts.required),
                    std::to_string(counts.in_maintenance)});
  });
  return rows;
}

std::vector<Row> budget_rows(const FleetModel& fleet, io::Wall now) {
  std::vector<Row> rows;
  fleet["budgets"].for_each_element([&](JsonView budget) {
    std::string used = fmt::format("{}/{}", count_of(budget["used"]), count_of(budget["max"]));
    if (const int64_t reserved = count_of(budget["reserved"]); reserved > 0) {
      used += fmt::format(" ({} reserved)", reserved);
    }
    const auto free_at = time_of(budget["free_at"]);
    rows.push_back({budget_name(budget), used, std::to_string(count_of(budget["waiting"])),
                    free_at && *free_at > now ? "in " + age_text(*free_at - now) : "",
                    list_text(budget["holders"], kHoldersShown), shown(budget["scope"])});
  });
  return rows;
}

std::vector<Row> drain_rows(const FleetModel& fleet, io::Wall now) {
  std::vector<Row> rows;
  fleet["drains"].for_each_element([&](JsonView drain) {
    const auto begun = time_of(drain["begun"]);
    rows.push_back({shown(drain["node"]), shown(drain["owner"]), shown(drain["phase"]),
                    fmt::format("{}%", count_of(drain["percent"])),
                    fmt::format("{}/{}", count_of(drain["left"]), count_of(drain["total"])),
                    begun ? age_text(now - *begun) : "", blocked_text(drain)});
  });
  return rows;
}

}  // namespace

std::vector<Line> overview_lines(const FleetModel& fleet, const Screen& screen, io::Wall now) {
  const size_t width = screen.size().width;
  std::vector<Line> lines = {fit(leader_line(fleet), width)};
  const auto alarms = alarm_lines(fleet["pauses"], fleet["problems"], screen, width, now);
  lines.insert(lines.end(), alarms.begin(), alarms.end());
  for (const std::string& alarm : limit_alarms(fleet["limits"])) {
    const std::string text = fit(alarm, width > 2 ? width - 2 : 1);
    lines.push_back(verdict_mark(screen, "error") + " " + screen.paint(Colour::yellow, text));
  }
  add_section(lines, {"PROFILE", "OPERATIONAL", "REQUIRED", "IN MAINTENANCE"}, profile_rows(fleet), width);
  add_section(lines, {"BUDGET", "USED", "WAITING", "FREE", "HELD BY", "SCOPE"}, budget_rows(fleet, now), width);
  add_section(lines, limit_header(), limit_rows(fleet["limits"], now), width);
  add_section(lines, cluster_header(), cluster_rows(fleet["clusters"], now), width);
  add_section(lines, machine_header(), machine_rows(fleet["clusters"], now), width);
  add_section(lines, {"DRAIN", "BY", "STATE", "DONE", "LEFT", "AGE", "BLOCKED BY"}, drain_rows(fleet, now), width);
  return lines;
}

}  // namespace careen::app
