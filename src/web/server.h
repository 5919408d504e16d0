// The HTTP surface of a replica: metrics, the info document and the dashboard with its API on one address, probes on
// another, admission webhooks on a third.
// What is answered is decided by plain functions of the request; the servers only carry them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "io/http_server.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "web/admission.h"
#include "web/dashboard_files.h"
#include "web/info.h"
#include "web/probes.h"
#include "web/serving_tls.h"
#include "web/token_auth.h"
#include "web/view_api.h"

namespace careen::web {

// /metrics in Prometheus' text format; `on_scrape` (may be empty) is called for each. Anything else is not found.
io::ServerResponse answer_metrics(const io::ServerRequest& request, io::Metrics& metrics,
                                  const std::function<void()>& on_scrape);
// What the metrics' address serves besides /metrics. All must live as long as the server.
struct Site {
  InfoApi* info = nullptr;                    // /api/v1/info
  ViewApi* view = nullptr;                    // /careen/v1
  std::span<const DashboardFile> files = {};  // none: a start page instead, to which every unknown path leads
};
io::Task<io::ServerResponse> answer_site(io::ServerRequest request, io::Metrics& metrics,
                                         const std::function<void()>& on_scrape, const Site& site);
// The probes; anything else is not found.
io::ServerResponse answer_probes(const io::ServerRequest& request, const Probes& probes);

// The webhook whose path it is; anything else is not found.
io::Task<io::ServerResponse> answer_webhooks(io::ServerRequest request,
                                             const std::vector<AdmissionEndpoint*>& endpoints);

// Shows careen_problem{key} = 1 for each open problem, for as long as `metrics` lives.
void show_problems(io::Metrics& metrics, const io::Problems& problems);

// Each listens until its server is destroyed. An address that is empty or "0" means none: the pointer is null.
using Server = io::Result<std::unique_ptr<io::HttpServer>>;
// Who may read the metrics' address, and how it is carried.
struct MetricsSecurity {
  std::optional<ServingTls> tls = {};  // none: plain HTTP
  TokenAuth* auth = nullptr;           // null: everybody may read. It must live as long as the server.
  // With TLS: by which the other replicas know this one (replica_key.h).
  std::shared_ptr<const io::KeyPair> replica_pair = {};
  io::Log log = {};
};
// The dashboard's files hold no data and are open to everybody; its API has a guard of its own.
Server serve_metrics(io::RealLoop& loop, const std::string& address, io::Metrics& metrics,
                     std::function<void()> on_scrape = {}, Site site = {}, MetricsSecurity security = {});
Server serve_probes(io::RealLoop& loop, const std::string& address, const Probes& probes);
// The endpoints must live as long as the server.
Server serve_webhooks(io::RealLoop& loop, const std::string& address, const ServingTls& tls,
                      std::vector<AdmissionEndpoint*> endpoints, io::Log log = {});

}  // namespace careen::web
