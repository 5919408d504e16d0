#include "web/server.h"

#include <set>
#include <utility>

#include "web/start_page.h"

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

Server serve(io::RealLoop& loop, const std::string& address, io::ServerHandler answer) {
  if (address.empty() || address == "0") return nullptr;
  io::ServerOptions options;
  options.address = address;
  // Nobody has anything to tell us here.
  options.max_body = 64 << 10;
  return io::serve_http(loop, std::move(options), std::move(answer));
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
                                         const std::function<void()>& on_scrape, InfoApi* info) {
  if (request.path == "/metrics") return at_once(answer_metrics(request, metrics, on_scrape));
  if (auto refused = refuse_writes(request)) return at_once(std::move(*refused));
  if (request.path != InfoApi::kPath) return at_once(answer_start_page(request));
  if (!info) return at_once(not_found("/metrics and /static/"));
  return info->answer(std::move(request));
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

Server serve_metrics(io::RealLoop& loop, const std::string& address, io::Metrics& metrics,
                     std::function<void()> on_scrape, InfoApi* info) {
  Server server = serve(loop, address, [&metrics, on_scrape = std::move(on_scrape), info](io::ServerRequest request) {
    return answer_site(std::move(request), metrics, on_scrape, info);
  });
  if (info && server && *server) info->set_port((*server)->port());
  return server;
}

Server serve_probes(io::RealLoop& loop, const std::string& address, const Probes& probes) {
  return serve(loop, address,
               [&probes](const io::ServerRequest& request) { return at_once(answer_probes(request, probes)); });
}

}  // namespace careen::web
