// What a check sees and what it answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/key.h"
#include "budget/topic.h"
#include "controllers/profiles/check.h"
#include "controllers/profiles/info_value.h"
#include "controllers/profiles/lease_grab.h"
#include "io/time.h"
#include "observe/prometheus_query.h"

namespace careen::budget {
class Occupancy;
}

namespace careen::observe {
class PrometheusObservations;
}  // namespace careen::observe

namespace careen::profiles {

class Drains;
class Fleet;
class Hypervisors;
class LimitPlaces;
class NodeDraft;
class StaggerLeases;
struct ProfileData;

// What there is to look at besides the node.
struct Facts {
  const budget::Occupancy& occupancy;
  const Fleet& fleet;
  const StaggerLeases& leases;
  const Hypervisors& hypervisors;
  const observe::PrometheusObservations& observations;
  budget::Topics& topics;               // gives numbers to facts; the only thing a check may add to
  const Drains* drains = nullptr;       // null: nothing can be drained
  const LimitPlaces* limits = nullptr;  // null: there are no MaintenanceLimits
};

struct CheckContext {
  const NodeDraft& node;
  std::string_view profile;
  const ProfileData& data;
  const Facts& facts;
  io::Wall now;
  bool explain = true;  // fill in reason and info
};

struct CheckResult {
  bool passed = false;
  std::string error;     // not empty: no answer, and why
  bool pending = false;  // no answer yet: what it looks at has not been read, or is being asked for
  std::string reason;    // the facts behind the answer, for people
  // For the info document: what the original reports.
  std::vector<std::pair<std::string, InfoValue>> info;
  // Without any change, the answer may be another from this time on.
  std::optional<io::Wall> changes_at;
  // Facts about more than this node that the answer rests on.
  std::vector<budget::Topic> topics;
  // The limit that was asked, and how much of it is used.
  std::optional<std::pair<budget::Key, budget::Use>> budget;
  // The lease that is free, to be taken if the transition happens.
  std::optional<LeaseGrab> lease;
  // The observation that was looked at; it is used up if the transition happens.
  std::optional<observe::PrometheusQuery> observed;
};

}  // namespace careen::profiles
