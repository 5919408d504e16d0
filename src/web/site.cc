#include "web/site.h"

#include <set>
#include <string>
#include <utility>

#include "web/start_page.h"
#include "web/static_files.h"

namespace careen::web {

namespace {

void append(std::vector<Route>& routes, std::vector<Route> more) {
  for (Route& route : more) routes.push_back(std::move(route));
}

}  // namespace

Route metrics_route(io::Metrics& metrics, std::function<void()> on_scrape, Access access) {
  const auto answer = [&metrics, on_scrape = std::move(on_scrape)](const io::ServerRequest&) {
    io::ServerResponse response;
    response.content_type = "text/plain; version=0.0.4; charset=utf-8";
    response.body = metrics.expose();
    if (on_scrape) on_scrape();
    return response;
  };
  return {.path = exactly("/metrics"),
          .access = std::move(access),
          .answer = at_once(answer),
          .listing = {"/metrics", "Numbers about this replica, for Prometheus."}};
}

std::vector<Route> site_routes(io::Metrics& metrics, std::function<void()> on_scrape, const Site& site,
                               const Access& readers) {
  std::vector<Route> routes;
  routes.push_back(site.info ? site.info->route(readers) : InfoApi::nowhere(readers));
  routes.push_back(metrics_route(metrics, std::move(on_scrape), readers));
  if (site.view) append(routes, site.view->routes());
  if (site.files.empty()) {
    append(routes, start_page(routes, readers));
  } else {
    append(routes, file_routes(site.files));
    routes.push_back(lead_to_dashboard(readers));
  }
  return routes;
}

void show_problems(io::Metrics& metrics, const io::Problems& problems) {
  const std::string name = "careen_problem";
  metrics.before_scrape([&metrics, &problems, name, shown = std::set<std::string>()]() mutable {
    std::erase_if(shown, [&](const std::string& key) {
      const bool gone = !problems.open().contains(key);
      if (gone) metrics.drop_gauge(name, {{"key", key}});
      return gone;
    });
    for (const auto& [key, message] : problems.open()) {
      metrics.gauge(name, "Something is wrong now; the probes' details and the log say what.", {{"key", key}}).set(1);
      shown.insert(key);
    }
  });
}

}  // namespace careen::web
