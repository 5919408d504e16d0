#include "commands/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"

namespace careen::app {

std::vector<Holder> cordon_holders(const kube::Node& node, const std::vector<Maintenance>& maintenances) {
  std::vector<Holder> holders;
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) {
    if (hold.items.cordon && !owner.starts_with(drain::kTerminalPrefix)) holders.push_back({owner, hold.since});
  }
  for (const Maintenance& maintenance : maintenances) {
    if (maintenance.node != node.name || maintenance.deleting || maintenance.given_up()) continue;
    const std::string owner = "nodemaintenance/" + maintenance.name;
    const bool known =
        std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) { return holder.owner == owner; });
    if (!known) holders.push_back({owner, io::parse_rfc3339(maintenance.created)});
  }
  return holders;
}

std::string holder_text(const Holder& holder, io::Wall now) {
  if (!holder.since) return holder.owner;
  const auto since = std::chrono::floor<io::seconds>(*holder.since);
  return fmt::format("{} since {} ({})", holder.owner, io::format_rfc3339(since), age_text(now - *holder.since));
}

std::string way_out(const Holder& holder, const std::string& node) {
  if (holder.owner.starts_with("nodemaintenance/")) return fmt::format("\"careen release {}\" ends it", node);
  return "it lets go when it is done";
}

std::string items_text(const drain::Items& items) {
  std::vector<std::string> parts;
  if (items.cordon) parts.push_back("cordon");
  if (!items.taints.empty()) parts.push_back(count_text(items.taints.size(), "taint"));
  if (!items.labels.empty()) parts.push_back(count_text(items.labels.size(), "label"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace careen::app
