// NodeMaintenances as the commands about them show them.
#pragma once

#include <string>
#include <vector>

#include "controllers/nodemaintenance/maintenance.h"
#include "session/progress_view.h"

namespace careen::nodemaintenance {

// What to say to whoever needs the kind on a cluster that does not know it.
std::string missing_kind();
// nodemaintenance.nodemaintenance.medik8s.io/x, as kubectl names it.
std::string full_name(const std::string& name);

app::NodeView view_of(const Maintenance& maintenance, io::Wall now);

}  // namespace careen::nodemaintenance
