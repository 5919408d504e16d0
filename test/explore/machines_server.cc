#include "machines_server.h"

#include <algorithm>
#include <utility>

namespace careen::explore {

MachinesServer::MachinesServer(io::Loop& loop, uint64_t seed, std::string name, ViewAge known, Treat treat)
    : view(std::move(known)),
      loop_(loop),
      name_(std::move(name)),
      treat_(std::move(treat)),
      cluster_(loop, seed, sim::ControlPlane::api_server_alone) {
  // careen needs neither an address nor a token for its own cluster.
  open("");
  accept("");
  Way& first = ways_.emplace_back();
  first.network = &cluster_.network;
  cluster_.network.treat = [this, &first](const sim::Sending& sending) { return this->treat(first, sending); };
}

sim::Network& MachinesServer::way(const std::string& address, const std::string& token) {
  const auto known =
      std::ranges::find_if(ways_, [&](const Way& way) { return way.address == address && way.token == token; });
  return known == ways_.end() ? *add_way(address, token).network : *known->network;
}

// What happens to all streams happens to those that come later, too.
MachinesServer::Way& MachinesServer::add_way(const std::string& address, const std::string& token) {
  Way& way = ways_.emplace_back(Way{address, token, std::make_unique<sim::Network>(loop_, cluster_.api)});
  way.network = way.own.get();
  way.network->treat = [this, &way](const sim::Sending& sending) { return this->treat(way, sending); };
  way.network->served = [this](const sim::Sending& sending, const kube::Response&) { served_(sending); };
  way.network->set_weather("", weather_);
  for (const std::string& client : blind_) way.network->set_blind(client, true);
  return way;
}

void MachinesServer::on_served(std::function<void(const sim::Sending&)> served) {
  served_ = std::move(served);
  for (const Way& way : ways_) {
    way.network->served = [this](const sim::Sending& sending, const kube::Response&) { served_(sending); };
  }
}

void MachinesServer::quit() {
  for (const Way& way : ways_) {
    way.network->treat = nullptr;
    way.network->served = nullptr;
  }
}

sim::Treatment MachinesServer::treat(const Way& way, const sim::Sending& sending) {
  sim::Treatment treatment = treat_(*this, sending);
  treatment.stale = stale;
  for (const Trouble& trouble : troubles) {
    if (!trouble.concerns(sending)) continue;
    if (trouble.answer) treatment.refuse = trouble.answer;
    treatment.lost |= !trouble.answer;
  }
  if (!tokens_.contains(way.token)) treatment.refuse = sim::ApiServer::refusal(401, "Unauthorized", "Unauthorized");
  treatment.lost |= !addresses_.contains(way.address);
  return treatment;
}

void MachinesServer::shut(const std::string& address) {
  addresses_.erase(address);
  for (const Way& way : ways_) {
    if (way.address == address) way.network->end_streams("", true);
  }
}

void MachinesServer::set_weather(sim::Network::Weather weather) {
  weather_ = weather;
  for (const Way& way : ways_) way.network->set_weather("", weather);
}

void MachinesServer::set_blind(std::string_view client, bool blind) {
  if (blind) {
    blind_.emplace(client);
  } else {
    blind_.erase(std::string(client));
  }
  for (const Way& way : ways_) way.network->set_blind(client, blind);
}

void MachinesServer::end_streams(bool broken) {
  for (const Way& way : ways_) way.network->end_streams("", broken);
}

}  // namespace careen::explore
