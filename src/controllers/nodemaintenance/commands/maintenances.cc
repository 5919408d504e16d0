#include "controllers/nodemaintenance/commands/maintenances.h"

#include <fmt/format.h>

#include <algorithm>

#include "controllers/nodemaintenance/names.h"

namespace careen::nodemaintenance {

std::string missing_kind() {
  return fmt::format(
      "the cluster does not know {}.{}: its CustomResourceDefinition is not installed; \"careen drain\" works without "
      "it",
      kResource.plural, kResource.group);
}

std::string full_name(const std::string& name) { return fmt::format("nodemaintenance.{}/{}", kResource.group, name); }

app::NodeView view_of(const Maintenance& maintenance, io::Wall now) {
  const auto& status = maintenance.status;
  const auto pending = static_cast<int>(status.pending.size());
  app::NodeView view;
  view.node = maintenance.node;
  view.total = static_cast<int>(status.eviction_pods);
  view.gone = std::max(0, view.total - pending);
  view.state = status.phase == Phase::none ? "not taken up yet" : "";
  view.elapsed = now - io::parse_rfc3339(maintenance.created).value_or(now);
  if (const std::string& why = maintenance.blocked_by(); !why.empty()) view.held.push_back({"blocked:", why, true});
  return view;
}

}  // namespace careen::nodemaintenance
