// Faults that stick to some requests for a while: a right that is refused, an admission webhook that is broken.
#include <fmt/format.h>

#include <algorithm>

#include "stage.h"

namespace careen::explore {

using io::seconds;

namespace {

bool is_lease_request(const sim::Sending& sending) { return sending.request.path.find("/leases") != std::string::npos; }

std::string_view path_of(const sim::Sending& sending) {
  const std::string_view path = sending.request.path;
  return path.substr(0, path.find('?'));
}

// What the refused right is about.
std::function<bool(const sim::Sending&)> resource_of(uint64_t choice, bool drains) {
  switch (choice % (drains ? 7 : 6)) {
    case 0:
      return is_lease_request;
    case 1:  // all but the lock
      return
          [](const sim::Sending& sending) { return is_lease_request(sending) && !sending.client.ends_with("/lease"); };
    case 2:
      return [](const sim::Sending& sending) { return path_of(sending).starts_with("/api/v1/nodes"); };
    case 3:
      return [](const sim::Sending& sending) { return path_of(sending).find("/pods") != std::string_view::npos; };
    case 4:
      return [](const sim::Sending& sending) { return path_of(sending).find("/events") != std::string_view::npos; };
    case 5:  // a server that has not loaded its roles yet
      return [](const sim::Sending&) { return true; };
    default:
      return [](const sim::Sending& sending) { return path_of(sending).starts_with(kMaintenances); };
  }
}

}  // namespace

void Stage::stick(std::function<bool(const sim::Sending&)> concerns, kube::Response answer, io::Duration span) {
  const auto trouble = sticky_.insert(sticky_.end(), Sticky{std::move(concerns), std::move(answer)});
  later(span, [this, trouble] { sticky_.erase(trouble); });
}

// Until it is over, and what has failed because of it has been tried again.
void Stage::strike_sticky(const Perturbation& what) {
  lasts(what.span + io::minutes{2});
  switch (what.action) {
    case Action::forbid: {
      // A process without rights loses the lock, reports nothing, and hears of nothing that it does not already watch.
      invariants.rights_refused();
      events_forbidden_ |= what.code == 403;
      see_nothing_new(what.span);
      if (what.code == 403) lacks_rights(what.span);
      const kube::Response answer = what.code == 401
                                        ? sim::ApiServer::refusal(401, "Unauthorized", "Unauthorized")
                                        : sim::ApiServer::refusal(403, "Forbidden", "it is forbidden: RBAC");
      return stick(resource_of(what.choice, case_.campaign.drains), answer, what.span);
    }
    case Action::break_node_webhook: {
      const auto stuck = stuck_nodes(what, case_.campaign);
      const auto concerns = [stuck](const sim::Sending& sending) {
        const std::string_view path = path_of(sending);
        return sending.writes() && path.starts_with("/api/v1/nodes/") &&
               stuck.contains(std::string(path.substr(path.rfind('/') + 1)));
      };
      return stick(concerns,
                   what.code == 502 ? sim::ApiServer::refusal(what.code, "", "bad gateway") : broken_webhook(),
                   what.span);
    }
    default: {
      const auto concerns = [which = what.choice % 2](const sim::Sending& sending) {
        const std::string_view path = path_of(sending);
        return path.ends_with("/eviction") && std::hash<std::string_view>{}(path) % 2 == which;
      };
      return stick(concerns,
                   what.code == 403
                       ? sim::ApiServer::refusal(403, "Forbidden",
                                                 "admission webhook \"check.example.com\" denied the request: not now")
                       : broken_webhook(),
                   what.span);
    }
  }
}

kube::Response Stage::broken_webhook() {
  return sim::ApiServer::refusal(
      500, "InternalError",
      "Internal error occurred: failed calling webhook \"check.example.com\": failed to call "
      "webhook: Post \"https://check.example.svc:443/\": connect: connection refused");
}

std::optional<kube::Response> Stage::stuck(const sim::Sending& sending) const {
  for (const Sticky& trouble : sticky_) {
    if (trouble.concerns(sending)) return trouble.answer;
  }
  return std::nullopt;
}

// One node at least, and never all of them.
std::set<std::string> stuck_nodes(const Perturbation& what, const Campaign& campaign) {
  const size_t size = campaign.nodes.size();
  const size_t count = std::clamp<size_t>(size * (what.choice % 60) / 100, 1, std::max<size_t>(1, size - 1));
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) names.insert(campaign.nodes[(what.choice / 60 + i) % size].name);
  return names;
}

}  // namespace careen::explore
