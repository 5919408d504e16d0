#include "replica/gate.h"

#include <utility>

#include "io/loop.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "limits/desk.h"
#include "turnstile/question.h"
#include "web/admission.h"

namespace careen::replica {

using io::Task;

Gate::Gate(GateParts parts)
    : p_(std::move(parts)),
      places_({p_.loop, p_.nodes, p_.desk, p_.ledger, p_.log}),
      turnstile_({.loop = p_.loop,
                  .reader = p_.cluster.client(),
                  .decoder = p_.cluster.node_decoder(),
                  .nodes = p_.nodes,
                  .pods = p_.pods,
                  .desk = p_.desk,
                  .places = places_,
                  .events = p_.events,
                  .metrics = p_.metrics,
                  .problems = p_.problems,
                  .log = p_.log,
                  .break_glass_group = p_.break_glass_group,
                  .decides = [this] { return decides(); },
                  .knows_nodes = p_.knows_nodes,
                  .knows_pods = p_.knows_pods,
                  .ask_leader = [this](std::string path, std::string review) -> Task<io::Result<std::string>> {
                    if (!reach_.ask_leader) return no_way();
                    return reach_.ask_leader(std::move(path), std::move(review));
                  }}),
      registration_(
          {p_.loop, p_.cluster.client(), p_.client, p_.desk, p_.state, p_.metrics, p_.problems, p_.random, p_.log},
          p_.configuration),
      governors_({p_.loop, p_.client, p_.nodes, p_.desk, p_.ledger, p_.problems, p_.log}),
      needed_(p_.loop) {}

Task<io::Result<std::string>> Gate::no_way() {
  co_return io::fail(io::ErrorKind::connect, "this replica serves no webhook, so it asks no other");
}

std::vector<web::Route> Gate::webhooks(io::Log log) {
  const web::WebhookParts parts{p_.loop, p_.cluster.client(), p_.metrics, std::move(log), web::Denials::quiet};
  const auto route = [&](std::string_view path, auto judge) {
    return web::webhook_route(parts, std::string(path), [this, judge](const kube::AdmissionRequest& request) {
      return (turnstile_.*judge)(request);
    });
  };
  using turnstile::Turnstile;
  return {route(turnstile::kEvictionPath, &Turnstile::judge_eviction),
          route(turnstile::kCordonPath, &Turnstile::judge_cordon),
          route(turnstile::kDeletionPath, &Turnstile::judge_deletion)};
}

void Gate::served(turnstile::Reach reach) {
  reach_ = std::move(reach);
  registration_.reach(reach_.client_config);
}

Task<void> Gate::run() {
  changes_ = p_.desk.on_change([this] { look_whether_it_is_needed(); });
  look_whether_it_is_needed();
  co_await needed_.wait();
  co_await turnstile_.run();
}

// Pods are many, so nobody keeps them who is asked nothing.
void Gate::look_whether_it_is_needed() {
  if (needed_.is_open() || !turnstile::wanted_by(p_.desk).evictions) return;
  needed_.open();
  p_.watch_pods();
}

Task<void> Gate::lead() {
  leading_ = true;
  leading_since_ = p_.loop.now();
  io::Scope scope(p_.loop);
  scope.spawn(places_.run());
  scope.spawn(registration_.run());
  scope.spawn(governors_.run());
  co_await scope.join();
}

bool Gate::decides() const {
  if (!leading_ || !p_.leads() || !p_.desk.is_known() || !p_.knows_pods()) return false;
  return p_.others_know() || p_.loop.now() - leading_since_ >= kWaitsForOthers;
}

}  // namespace careen::replica
