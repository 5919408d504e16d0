// The dashboard's files over HTTP. They hold no data, so everybody may read them; what they may load and where they may
// connect to is this address and nothing else.
#pragma once

#include <span>
#include <vector>

#include "web/dashboard_files.h"
#include "web/routes.h"

namespace careen::web {

// Each at its path; index.html at /, too. The files must outlive them.
std::vector<Route> file_routes(std::span<const DashboardFile> files);
// For every other path of a site with a dashboard: /static and what lies below, the page of the original, lead to it,
// and so do all unknown ones.
Route lead_to_dashboard(Access access);

}  // namespace careen::web
