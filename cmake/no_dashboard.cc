// What a build without Node.js has of the dashboard.
#include "web/dashboard_files.h"

namespace careen::web {

std::span<const DashboardFile> dashboard_files() { return {}; }

}  // namespace careen::web
