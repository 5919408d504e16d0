#include "troubles.h"

#include <fmt/format.h>

namespace careen::scenarios {

namespace {

bool concerns(const Disturbance& d, const sim::Sending& sending) {
  using Requests = Disturbance::Requests;
  if (d.requests == Requests::writes && !sending.writes()) return false;
  if (d.requests == Requests::reads && (sending.writes() || sending.stream)) return false;
  if (d.requests == Requests::watches && !sending.stream) return false;
  if (!d.resource.empty() && plural_of(sending.request.path) != d.resource) return false;
  // A replica's connections are its name, and its name with something behind a slash.
  return d.from.empty() || sending.client.substr(0, sending.client.find('/')) == d.from;
}

std::string_view reason_of(int code) {
  switch (code) {
    case 403:
      return "Forbidden";
    case 409:
      return "Conflict";
    case 410:
      return "Expired";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "Failure";
  }
}

void apply(const Disturbance& d, sim::Treatment& treatment) {
  switch (d.what) {
    case Disturbance::What::refuse:
      treatment.refuse = sim::ApiServer::refusal(d.code, reason_of(d.code), "refused by the scenario");
      break;
    case Disturbance::What::delay:
      treatment.before = d.delay;
      break;
    case Disturbance::What::lose:
      treatment.lost = true;
      break;
    case Disturbance::What::unanswered:
      treatment.unanswered = true;
      break;
    case Disturbance::What::cut:
      treatment.cut = true;
      break;
  }
}

}  // namespace

std::string collection_of(const std::string& plural) {
  if (plural.empty()) return {};
  if (plural == "leases") return "/apis/coordination.k8s.io/v1/leases";
  return "/api/v1/" + plural;
}

std::string plural_of(std::string_view path) {
  path = path.substr(0, path.find('?'));
  // /api/v1/… or /apis/group/version/…
  size_t skip = path.starts_with("/apis/") ? 3 : 2;
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    if (skip > 0) {
      --skip;
    } else {
      parts.push_back(part);
    }
  }
  if (parts.size() > 2 && parts[0] == "namespaces") return std::string(parts[2]);
  return parts.empty() ? std::string() : std::string(parts[0]);
}

Troubles::Troubles(io::Loop& loop, sim::Cluster& cluster, Timeline& timeline, uint64_t seed)
    : loop_(loop), cluster_(cluster), timeline_(timeline), random_(seed) {
  cluster_.network.treat = [this](const sim::Sending& sending) { return treat(sending); };
}

sim::Treatment Troubles::treat(const sim::Sending& sending) {
  sim::Treatment treatment;
  for (const Active& active : active_) {
    if (loop_.now() >= active.until || !concerns(active.disturbance, sending)) continue;
    if (active.disturbance.percent < 100 && random_.unit() * 100 >= active.disturbance.percent) continue;
    apply(active.disturbance, treatment);
  }
  return treatment;
}

void Troubles::after(io::Duration span, std::string what, std::function<void()> then) {
  auto alarm = std::make_unique<io::Alarm>(loop_, [this, what = std::move(what), then = std::move(then)] {
    timeline_.add({loop_.now(), "fault", what, {}, {}});
    then();
  });
  alarm->set(loop_.now() + span);
  alarms_.push_back(std::move(alarm));
}

void Troubles::disturb(const Disturbance& disturbance) {
  active_.push_back({disturbance, loop_.now() + disturbance.lasts});
  after(disturbance.lasts, "is over: requests are treated as before", [] {});
}

// The weather of a collection hides that of all; so "all" has to be said to each that ever had its own.
void Troubles::set_weather(const std::string& collection, sim::Network::Weather weather) {
  cluster_.network.set_weather(collection, weather);
  if (!collection.empty()) with_weather_.insert(collection);
  if (!collection.empty()) return;
  for (const std::string& own : with_weather_) cluster_.network.set_weather(own, weather);
}

void Troubles::hold_watches(const std::string& resource, io::Duration delay, bool frozen, io::Duration lasts) {
  const std::string collection = collection_of(resource);
  set_weather(collection, {delay, frozen});
  after(lasts, "is over: watches flow again", [this, collection] { set_weather(collection, {}); });
}

}  // namespace careen::scenarios
