#include "web/server.h"

#include <set>
#include <utility>

#include "web/replica_key.h"
#include "web/start_page.h"
#include "web/static_files.h"

namespace careen::web {

namespace {

io::ServerResponse not_found(std::string_view what_exists) {
  io::ServerResponse response;
  response.status = 404;
  response.body = "not found; this address serves " + std::string(what_exists) + "\n";
  return response;
}

std::optional<io::ServerResponse> refuse_writes(const io::ServerRequest& request) {
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  io::ServerResponse response;
  response.status = 405;
  response.headers.emplace_back("Allow", "GET, HEAD");
  response.body = "only GET and HEAD are answered here\n";
  return response;
}

io::Task<io::ServerResponse> at_once(io::ServerResponse response) { co_return response; }

// Where nobody has anything to tell us.
constexpr size_t kShortBody = 64 << 10;
// A little more than a review may have, so that one that is a little too long is answered with a review.
constexpr size_t kReviewBody = kLongestReview + (256 << 10);
// What clients may have careen keep for them before they have shown who they are. Each address has connections, and
// memory, of its own.
constexpr int kConnections = 256, kProbeConnections = 64;
constexpr size_t kHeld = 16 << 20, kHeldReviews = 8 << 20, kHeldByProbes = 1 << 20;
// The API server drops connections it has not used for 90 s; it is better that it does than we.
constexpr io::Duration kWebhookIdle = io::seconds{120};

// Of what is guarded as the metrics are, and what is not.
bool has_own_guard(const io::ServerRequest& request, const Site& site) {
  return (site.view && request.path.starts_with(ViewApi::kPrefix)) || find_file(site.files, request.path);
}

bool nowhere(const std::string& address) { return address.empty() || address == "0"; }

io::ServerOptions options_for(const std::string& address, int connections, size_t held) {
  io::ServerOptions options;
  options.address = address;
  options.max_body = kShortBody;
  options.max_connections = connections;
  options.max_per_peer = connections / 2;
  // However many addresses have something answered that takes its time, there is room for others to come.
  options.max_handling = connections / 2;
  options.max_handling_per_peer = connections / 4;
  options.max_held = held;
  return options;
}

}  // namespace

io::ServerResponse answer_metrics(const io::ServerRequest& request, io::Metrics& metrics,
                                  const std::function<void()>& on_scrape) {
  if (request.path != "/metrics") return not_found("/metrics");
  if (auto refused = refuse_writes(request)) return std::move(*refused);
  io::ServerResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = metrics.expose();
  if (on_scrape) on_scrape();
  return response;
}

io::Task<io::ServerResponse> answer_site(io::ServerRequest request, io::Metrics& metrics,
                                         const std::function<void()>& on_scrape, const Site& site) {
  if (request.path == "/metrics") return at_once(answer_metrics(request, metrics, on_scrape));
  if (auto refused = refuse_writes(request)) return at_once(std::move(*refused));
  if (request.path == InfoApi::kPath) {
    if (!site.info) return at_once(not_found("/metrics and /static/"));
    return site.info->answer(std::move(request));
  }
  if (site.view && request.path.starts_with(ViewApi::kPrefix)) return site.view->answer(std::move(request));
  if (site.files.empty()) return at_once(answer_start_page(request));
  if (const DashboardFile* file = find_file(site.files, request.path)) return at_once(answer_file(request, *file));
  return at_once(lead_to_dashboard());
}

io::ServerResponse answer_probes(const io::ServerRequest& request, const Probes& probes) {
  if (!Probes::serves(request.path)) return not_found("/healthz and /readyz");
  if (auto refused = refuse_writes(request)) return std::move(*refused);
  return probes.answer(request);
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

io::Task<io::ServerResponse> answer_webhooks(io::ServerRequest request,
                                             const std::vector<AdmissionEndpoint*>& endpoints) {
  for (AdmissionEndpoint* endpoint : endpoints) {
    if (endpoint->path() == request.path) return endpoint->answer(std::move(request));
  }
  return at_once(not_found("admission webhooks"));
}

Server serve_metrics(io::RealLoop& loop, const std::string& address, io::Metrics& metrics,
                     std::function<void()> on_scrape, Site site, MetricsSecurity security) {
  if (nowhere(address)) return nullptr;
  io::ServerOptions options = options_for(address, kConnections, kHeld);
  options.log = std::move(security.log);
  if (security.tls) security.tls->apply_to(options);
  options.named_host = kReplicaHost;
  options.named_pair = std::move(security.replica_pair);
  io::ServerHandler answer = [&metrics, on_scrape = std::move(on_scrape), site](io::ServerRequest request) {
    return answer_site(std::move(request), metrics, on_scrape, site);
  };
  if (security.auth) {
    answer = [guarded = security.auth->guard(answer), answer, site](io::ServerRequest request) {
      return has_own_guard(request, site) ? answer(std::move(request)) : guarded(std::move(request));
    };
  }
  return io::serve_http(loop, std::move(options), std::move(answer));
}

Server serve_probes(io::RealLoop& loop, const std::string& address, const Probes& probes) {
  if (nowhere(address)) return nullptr;
  return io::serve_http(
      loop, options_for(address, kProbeConnections, kHeldByProbes),
      [&probes](const io::ServerRequest& request) { return at_once(answer_probes(request, probes)); });
}

Server serve_webhooks(io::RealLoop& loop, const std::string& address, const ServingTls& tls,
                      std::vector<AdmissionEndpoint*> endpoints, io::Log log) {
  if (nowhere(address)) return nullptr;
  io::ServerOptions options = options_for(address, kConnections, kHeldReviews);
  options.max_body = kReviewBody;
  options.idle_timeout = kWebhookIdle;
  options.log = std::move(log);
  tls.apply_to(options);
  return io::serve_http(loop, std::move(options), [endpoints = std::move(endpoints)](io::ServerRequest request) {
    return answer_webhooks(std::move(request), endpoints);
  });
}

}  // namespace careen::web
