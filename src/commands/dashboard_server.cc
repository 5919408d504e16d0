#include "commands/dashboard_server.h"

#include <unistd.h>

#include <utility>

#include "cli/environment.h"
#include "controllers/profiles/hosted.h"
#include "kube/lock.h"
#include "plan/upcoming.h"
#include "replica/hub.h"
#include "version_info.h"
#include "view/info_source.h"
#include "view/shown.h"
#include "view/view_answers.h"
#include "web/replica_token.h"
#include "web/view_token.h"

namespace careen::app {

using io::Task;

namespace {

std::unique_ptr<web::TokenAuth> make_auth(const DashboardParts& parts) {
  if (!parts.reviewer) return nullptr;
  return std::make_unique<web::TokenAuth>(
      *parts.reviewer, web::TokenAuthOptions{.audience = std::string(web::kViewAudience)}, parts.log);
}

view::Shown what_is_shown(const DashboardParts& parts, const DashboardOptions& options,
                          const view::Chronicle& chronicle) {
  return {parts.replica, chronicle, CAREEN_VERSION, options.speed};
}

std::function<Task<std::string>(int)> plans_of(plan::Upcoming* upcoming) {
  if (!upcoming) return {};
  return [upcoming](int hours) { return upcoming->document(hours); };
}

}  // namespace

struct DashboardServer::Elsewhere {
  Elsewhere(DashboardServer& whole, std::shared_ptr<replica::Replica> whose)
      : replica(std::move(whose)),
        chronicle(*replica),
        changes(whole.p_.loop, {*replica, chronicle, CAREEN_VERSION, whole.options_.speed}),
        upcoming(whole.upcoming(*replica)),
        answers(view::view_answers({*replica, chronicle, CAREEN_VERSION, whole.options_.speed}, changes,
                                   plans_of(upcoming.get()))) {}

  std::shared_ptr<replica::Replica> replica;
  view::Chronicle chronicle;
  view::Changes changes;
  std::unique_ptr<plan::Upcoming> upcoming;
  web::ViewAnswers answers;
};

std::unique_ptr<plan::Upcoming> DashboardServer::upcoming(replica::Replica& replica) {
  if (!options_.config || !profiles::options_in(replica.options().controllers)) return nullptr;
  const bool is_own = &replica == &p_.replica;
  return std::make_unique<plan::Upcoming>(plan::UpcomingParts{.loop = p_.loop,
                                                              .reader = replica.reader(),
                                                              .config = options_.config,
                                                              .environment = read_environment,
                                                              .limits = is_own ? nullptr : &p_.replica.reader()});
}

web::ViewAnswers DashboardServer::answers() {
  web::ViewAnswers own =
      view::view_answers(what_is_shown(p_, options_, chronicle_), changes_, plans_of(upcoming_.get()));
  replica::Hub* const hub = p_.replica.hub();
  if (!hub) return own;
  hub->on_change([this](const std::string& cluster, std::shared_ptr<replica::Replica> replica) {
    elsewhere_.erase(cluster);
    if (replica) elsewhere_.emplace(cluster, std::make_shared<Elsewhere>(*this, std::move(replica)));
  });
  own.of_cluster = [this](std::string_view cluster) -> std::shared_ptr<const web::ViewAnswers> {
    const auto found = elsewhere_.find(cluster);
    if (found == elsewhere_.end()) return nullptr;
    return {found->second, &found->second->answers};
  };
  return own;
}

DashboardServer::DashboardServer(DashboardParts parts, DashboardOptions options)
    : p_(std::move(parts)),
      options_(std::move(options)),
      chronicle_(p_.replica),
      changes_(p_.loop, what_is_shown(p_, options_, chronicle_)),
      upcoming_(upcoming(p_.replica)),
      leader_(
          p_.loop, p_.replica.reader(), p_.http, [this] { return p_.replica.election().holder(); },
          p_.replica.options().ns, options_.tls.has_value()),
      info_(p_.loop, leader_, view::info_source(p_.replica)),
      auth_(make_auth(p_)),
      view_(p_.loop, leader_, answers(), web::ViewGuard(options_.policy, auth_.get()), p_.own_authorization) {}

DashboardServer::~DashboardServer() {
  if (replica::Hub* const hub = p_.replica.hub()) hub->on_change({});
}

void DashboardServer::for_each_chronicle(
    const std::function<void(const std::string&, const view::Chronicle&)>& visit) const {
  visit("", chronicle_);
  for (const auto& [cluster, one] : elsewhere_) visit(cluster, one->chronicle);
}

std::vector<web::Route> DashboardServer::routes() {
  const web::Access readers = options_.tls && auth_ ? auth_->access() : web::Access::anybody();
  return web::site_routes(p_.replica.metrics(), options_.on_scrape,
                          {.info = &info_, .view = &view_, .files = web::dashboard_files()}, readers);
}

io::Result<void> DashboardServer::open() {
  std::optional<web::SiteTls> tls;
  if (options_.tls) tls = {*options_.tls, options_.replica_pair};
  auto server = web::serve_metrics(p_.loop, options_.address, {p_.log, routes()}, std::move(tls), p_.log);
  if (!server) return tl::make_unexpected(std::move(server.error()));
  server_ = std::move(*server);
  leader_.set_port(port());
  leave_record();
  return {};
}

std::optional<std::string> DashboardServer::local_url() const {
  if (!server_ || options_.tls) return std::nullopt;
  return loopback_url(options_.address, port());
}

void DashboardServer::leave_record() {
  const auto url = local_url();
  if (options_.known_as.empty() || !url) return;
  auto record = LocalRecord::leave(record_folder(read_environment), {*url, options_.known_as, ::getpid()});
  if (record) {
    record_ = std::move(*record);
  } else {
    p_.log.debug("\"--server auto\" will not find this careen", "reason", record.error().message);
  }
}

bool DashboardServer::has_dashboard() const { return !web::dashboard_files().empty(); }

}  // namespace careen::app
