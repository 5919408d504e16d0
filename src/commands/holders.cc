#include "commands/holders.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/terminal_table.h"
#include "replica/controllers.h"

namespace careen::app {

std::vector<Holder> cordon_holders(const kube::Node& node, const std::vector<JobOfKind>& jobs) {
  std::vector<Holder> holders;
  for (const auto& [owner, hold] : drain::holds_of(node).by_owner) {
    if (hold.items.cordon && !owner.starts_with(drain::kTerminalPrefix)) holders.push_back({owner, hold.since});
  }
  for (const JobOfKind& one : jobs) {
    if (one.job.node != node.name || !one.job.holds_node()) continue;
    const std::string owner = one.owner();
    const bool known =
        std::any_of(holders.begin(), holders.end(), [&](const Holder& holder) { return holder.owner == owner; });
    if (known) continue;
    holders.push_back({owner, one.job.created == io::Wall{} ? std::nullopt : std::optional(one.job.created)});
  }
  return holders;
}

std::string holder_text(const Holder& holder, io::Wall now) {
  if (!holder.since) return holder.owner;
  const auto since = std::chrono::floor<io::seconds>(*holder.since);
  return fmt::format("{} since {} ({})", holder.owner, io::format_rfc3339(since), age_text(now - *holder.since));
}

std::string way_out(const Holder& holder, const std::string& node) {
  const controllers::Kind* kind = replica::find_holder(holder.owner);
  return kind && kind->way_out ? kind->way_out(node) : "it lets go when it is done";
}

std::string items_text(const drain::Items& items) {
  std::vector<std::string> parts;
  if (items.cordon) parts.push_back("cordon");
  if (!items.taints.empty()) parts.push_back(count_text(items.taints.size(), "taint"));
  if (!items.labels.empty()) parts.push_back(count_text(items.labels.size(), "label"));
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace careen::app
