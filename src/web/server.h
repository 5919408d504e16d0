// The addresses of a replica: metrics, the info document and the dashboard with its API on one, probes on another, what
// the API server calls on a third. What is answered there is registered (routes.h); here is what clients may have
// careen keep for them before they have shown who they are.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "io/http_server.h"
#include "web/routes.h"
#include "web/serving_tls.h"

namespace careen::web {

// Each listens until its server is destroyed. An address that is empty or "0" means none: the pointer is null.
using Server = io::Result<std::unique_ptr<io::HttpServer>>;

struct SiteTls {
  ServingTls usual;
  // By which the other replicas know this one (replica_key.h).
  std::shared_ptr<const io::KeyPair> replica_pair = {};
};
// Without `tls`: plain HTTP.
Server serve_metrics(io::RealLoop& loop, const std::string& address, Routes routes, std::optional<SiteTls> tls = {},
                     io::Log log = {});
Server serve_probes(io::RealLoop& loop, const std::string& address, Routes routes);
Server serve_webhooks(io::RealLoop& loop, const std::string& address, const ServingTls& tls, Routes routes,
                      io::Log log = {});

}  // namespace careen::web
