// What goes wrong between careen and the API server for a while: requests refused, lost, slow or unanswered, and
// watches that tell nothing or tell late.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "io/loop.h"
#include "io/random.h"
#include "sim/cluster.h"
#include "timeline.h"

namespace careen::scenarios {

struct Disturbance {
  enum class What { refuse, delay, lose, unanswered, cut };
  enum class Requests { all, writes, reads, watches };
  What what = What::refuse;
  int code = 503;
  io::Duration delay{};
  Requests requests = Requests::all;
  std::string resource;  // plural; empty: all
  std::string from;      // replica; empty: all
  double percent = 100;
  io::Duration lasts{};
};

class Troubles {
 public:
  Troubles(io::Loop& loop, sim::Cluster& cluster, Timeline& timeline, uint64_t seed);

  void disturb(const Disturbance& disturbance);
  // Watches of a resource (plural; empty: all) show nothing, or show everything later by `delay`.
  void hold_watches(const std::string& resource, io::Duration delay, bool frozen, io::Duration lasts);

 private:
  struct Active {
    Disturbance disturbance;
    io::Steady until;
  };
  sim::Treatment treat(const sim::Sending& sending);
  void set_weather(const std::string& collection, sim::Network::Weather weather);
  void after(io::Duration span, std::string what, std::function<void()> then);

  io::Loop& loop_;
  sim::Cluster& cluster_;
  Timeline& timeline_;
  io::Random random_;
  std::vector<Active> active_;
  std::set<std::string> with_weather_;  // collections that have, or had, a weather of their own
  std::vector<std::unique_ptr<io::Alarm>> alarms_;
};

// "/api/v1/nodes" for nodes; empty for empty.
std::string collection_of(const std::string& plural);
// The plural in a request's path: nodes, leases, events.
std::string plural_of(std::string_view path);

}  // namespace careen::scenarios
