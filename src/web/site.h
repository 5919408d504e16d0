// What the address of the metrics serves: /metrics, the info document, the view API, and the dashboard or a start page.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "io/metrics.h"
#include "io/problems.h"
#include "web/dashboard_files.h"
#include "web/info.h"
#include "web/routes.h"
#include "web/view_api.h"

namespace careen::web {

// All must outlive the routes.
struct Site {
  InfoApi* info = nullptr;                    // /api/v1/info
  ViewApi* view = nullptr;                    // /careen/v1
  std::span<const DashboardFile> files = {};  // none: a start page instead, to which every unknown path leads
};
// `readers` may read what has no policy of its own. The dashboard's files hold no data and are open to everybody; its
// API has a guard of its own.
std::vector<Route> site_routes(io::Metrics& metrics, std::function<void()> on_scrape, const Site& site,
                               const Access& readers);

// /metrics in Prometheus' text format; `on_scrape` (may be empty) is called for each.
Route metrics_route(io::Metrics& metrics, std::function<void()> on_scrape, Access access);

// Shows careen_problem{key} = 1 for each open problem, while `metrics` lives.
void show_problems(io::Metrics& metrics, const io::Problems& problems);

}  // namespace careen::web
