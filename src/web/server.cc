#include "web/server.h"

#include <utility>

#include "web/replica_key.h"

namespace careen::web {

namespace {

// What clients may have careen keep for them before they have shown who they are. Each address has connections, and
// memory, of its own.
constexpr int kConnections = 256, kProbeConnections = 64;
constexpr size_t kHeld = 16 << 20, kHeldReviews = 8 << 20, kHeldByProbes = 1 << 20;
// The API server drops connections it has not used for 90 s; it is better that it does than we.
constexpr io::Duration kWebhookIdle = io::seconds{120};

bool nowhere(const std::string& address) { return address.empty() || address == "0"; }

io::ServerOptions options_for(const std::string& address, int connections, size_t held) {
  io::ServerOptions options;
  options.address = address;
  options.max_connections = connections;
  options.max_per_peer = connections / 2;
  // However many addresses have something answered that takes its time, there is room for others to come.
  options.max_handling = connections / 2;
  options.max_handling_per_peer = connections / 4;
  options.max_held = held;
  return options;
}

Server serve(io::RealLoop& loop, io::ServerOptions options, Routes registered) {
  options.max_body = registered.max_body();
  const auto routes = std::make_shared<const Routes>(std::move(registered));
  return io::serve_http(loop, std::move(options),
                        [routes](io::ServerRequest request) { return routes->answer(std::move(request)); });
}

}  // namespace

Server serve_metrics(io::RealLoop& loop, const std::string& address, Routes routes, std::optional<SiteTls> tls,
                     io::Log log) {
  if (nowhere(address)) return nullptr;
  io::ServerOptions options = options_for(address, kConnections, kHeld);
  options.log = std::move(log);
  options.named_host = kReplicaHost;
  if (tls) {
    tls->usual.apply_to(options);
    options.named_pair = std::move(tls->replica_pair);
  }
  return serve(loop, std::move(options), std::move(routes));
}

Server serve_probes(io::RealLoop& loop, const std::string& address, Routes routes) {
  if (nowhere(address)) return nullptr;
  return serve(loop, options_for(address, kProbeConnections, kHeldByProbes), std::move(routes));
}

Server serve_webhooks(io::RealLoop& loop, const std::string& address, const ServingTls& tls, Routes routes,
                      io::Log log) {
  if (nowhere(address)) return nullptr;
  io::ServerOptions options = options_for(address, kConnections, kHeldReviews);
  options.idle_timeout = kWebhookIdle;
  options.log = std::move(log);
  tls.apply_to(options);
  return serve(loop, std::move(options), std::move(routes));
}

}  // namespace careen::web
