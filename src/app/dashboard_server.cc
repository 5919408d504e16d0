#include "app/dashboard_server.h"

#include <utility>

#include "version_info.h"
#include "view/info_source.h"
#include "view/view_source.h"
#include "web/replica_token.h"

namespace careen::app {

namespace {

std::unique_ptr<web::TokenAuth> make_auth(const DashboardParts& parts) {
  if (!parts.reviewer) return nullptr;
  return std::make_unique<web::TokenAuth>(
      *parts.reviewer, web::TokenAuthOptions{.audience = std::string(web::kViewAudience)}, parts.log);
}

view::Shown shown(const DashboardParts& parts, const DashboardOptions& options, const view::Chronicle& chronicle) {
  return {parts.replica, chronicle, CAREEN_VERSION, options.speed};
}

}  // namespace

DashboardServer::DashboardServer(DashboardParts parts, DashboardOptions options)
    : p_(std::move(parts)),
      options_(std::move(options)),
      chronicle_(p_.replica),
      changes_(p_.loop, shown(p_, options_, chronicle_)),
      leader_(
          p_.loop, p_.replica.reader(), p_.http, [this] { return p_.replica.election().holder(); },
          p_.replica.options().ns),
      info_(p_.loop, leader_, view::info_source(p_.replica)),
      auth_(make_auth(p_)),
      view_(p_.loop, leader_, view::view_source(shown(p_, options_, chronicle_), changes_, options_.plan),
            web::ViewGuard(options_.policy, auth_.get()), p_.own_authorization) {}

DashboardServer::~DashboardServer() = default;

io::Result<void> DashboardServer::open() {
  web::MetricsSecurity security;
  if (options_.tls) security = {options_.tls, auth_.get(), p_.log};
  auto server =
      web::serve_metrics(p_.loop, options_.address, p_.replica.metrics(), options_.on_scrape,
                         {.info = &info_, .view = &view_, .files = web::dashboard_files()}, std::move(security));
  if (!server) return tl::make_unexpected(std::move(server.error()));
  server_ = std::move(*server);
  leader_.set_port(port());
  return {};
}

bool DashboardServer::has_dashboard() const { return !web::dashboard_files().empty(); }

}  // namespace careen::app
