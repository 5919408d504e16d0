// Everything a scenario plays on: virtual time, the model cluster, careen's replicas, troubles, and who watches.
#pragma once

#include "crew.h"
#include "io/virtual_time.h"
#include "scenario.h"
#include "sim/cluster.h"
#include "timeline.h"
#include "troubles.h"
#include "witness.h"

namespace careen::scenarios {

// Of scenarios that do not say: 2026-01-01T00:00:00Z, a Thursday.
inline constexpr io::Wall kStart{std::chrono::days{20454}};

struct Stage {
  Stage(const Scenario& scenario, uint64_t seed)
      : time(seed, scenario.start.value_or(kStart)),
        loop(time.make_loop()),
        cluster(*loop, seed),
        troubles(*loop, cluster, timeline, seed),
        crew(time, cluster, timeline, scenario.careen, seed),
        witness(*loop, cluster, timeline,
                [this](const std::string& replica, const std::string& node) { return crew.explain(replica, node); }) {}

  Mark mark() const {
    return {witness.events().size(),           witness.writes().size(),        crew.logs().size(),
            cluster.outside.messages().size(), cluster.outside.asked().size(), witness.pods().evictions().size()};
  }

  Timeline timeline;
  io::VirtualTime time;
  std::unique_ptr<io::Loop> loop;
  sim::Cluster cluster;
  Troubles troubles;
  Crew crew;
  Witness witness;
};

}  // namespace careen::scenarios
