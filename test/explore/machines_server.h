// One of the API servers of a campaign of Machines, the ways to it, and what is wrong with them at a time. A way is
// what somebody gets who knows an address and has a token: tokens are refused once they were taken back, and nobody
// answers at an address that was given up.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "sim/cluster.h"
#include "view_age.h"

namespace careen::explore {

class MachinesServer {
 public:
  // What happens to a request that somebody sends there.
  using Treat = std::function<sim::Treatment(MachinesServer& server, const sim::Sending& sending)>;
  MachinesServer(io::Loop& loop, uint64_t seed, std::string name, ViewAge known, Treat treat);
  MachinesServer(const MachinesServer&) = delete;
  MachinesServer& operator=(const MachinesServer&) = delete;

  const std::string& name() const { return name_; }  // of its cluster; empty: the management cluster
  sim::Cluster& cluster() { return cluster_; }
  sim::ApiServer& api() { return cluster_.api; }
  sim::Network& way(const std::string& address, const std::string& token);
  // Called after a request had its effect.
  void on_served(std::function<void(const sim::Sending&)> served);
  // From now on nothing happens to requests any more.
  void quit();

  // Where it is reached, and with what.
  void open(const std::string& address) { addresses_.insert(address); }
  void shut(const std::string& address);
  void accept(const std::string& token) { tokens_.insert(token); }
  void take_back(const std::string& token) { tokens_.erase(token); }

  void set_weather(sim::Network::Weather weather);
  void set_blind(std::string_view client, bool blind);
  void end_streams(bool broken);

  // What is wrong with some of the requests, or all.
  struct Trouble {
    std::function<bool(const sim::Sending&)> concerns;
    std::optional<kube::Response> answer;  // nothing: they are lost
  };
  std::list<Trouble> troubles;
  io::Duration stale{};
  int stale_windows = 0;
  ViewAge view;

 private:
  struct Way {
    std::string address, token;
    std::unique_ptr<sim::Network> own;  // null: it is the cluster's first one
    sim::Network* network = nullptr;
  };
  sim::Treatment treat(const Way& way, const sim::Sending& sending);
  Way& add_way(const std::string& address, const std::string& token);

  io::Loop& loop_;
  std::string name_;
  Treat treat_;
  std::function<void(const sim::Sending&)> served_;
  sim::Cluster cluster_;
  std::set<std::string> addresses_, tokens_;
  std::list<Way> ways_;
  sim::Network::Weather weather_;
  std::set<std::string> blind_;
};

}  // namespace careen::explore
