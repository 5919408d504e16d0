// The desk at which nodes get places in budgets: it knows who has one, who waits for one and since when, and offers
// each place that becomes free to whoever has waited longest. What takes or frees a place is told here, so that nobody
// waits for a place that is free.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "budget/admission.h"
#include "budget/key.h"
#include "budget/occupancy.h"
#include "budget/waiters.h"
#include "controllers/profiles/limit_places.h"
#include "controllers/profiles/profile_states.h"
#include "io/loop.h"
#include "observe/prometheus_query.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::observe {
class PrometheusObservations;
}

namespace careen::profiles {

class StaggerLeases;
struct Config;
struct Waits;

class BudgetDesk {
 public:
  // Where there are places.
  struct Places {
    const kube::Store<kube::Node>& nodes;
    budget::Ledger& ledger;
    const StaggerLeases& leases;
    const observe::PrometheusObservations& observations;
    limits::Desk* limits = nullptr;  // where places in MaintenanceLimits are asked for; null: there are none
  };
  // `wake` has a node decided again: it may take a place.
  BudgetDesk(io::Loop& loop, Places places, std::function<void(const std::string& node)> wake);

  // Who has a place is counted anew, and nobody waits any more: all nodes are about to be decided again.
  void set_config(const Config& config);
  // Counts anew.
  void rebuild();

  // What the node waits for after its latest decision: places that become free, and scopes that fill.
  void wait(const std::string& node, const Waits& waits);

  // These have changed.
  void node_changed(std::string_view node);
  void lease_changed(const std::string& key);
  void observation_changed(const observe::PrometheusQuery& source);

  // The node has a place from now on.
  void reserve(budget::Admission admission);
  // Its place in the ledger is another's. Whoever calls it tells of the node's change.
  void finish(const std::string& uid);

  const budget::Occupancy& occupancy() const { return occupancy_; }
  const budget::Waiters& waiters() const { return waiters_; }
  const LimitPlaces& limit_places() const { return limit_places_; }

 private:
  budget::Use measure_use(const budget::Key& key) const;
  void offer(const budget::Key& key);
  void follow_age(const budget::Key& key);

  io::Loop& loop_;
  Places places_;
  std::function<void(const std::string& node)> wake_;
  const Config* config_ = nullptr;
  ProfileStates states_;
  budget::Occupancy occupancy_;
  budget::Waiters waiters_;
  LimitPlaces limit_places_;
  // For places that become free by themselves: when the next one does.
  std::map<budget::Key, std::unique_ptr<io::Alarm>> alarms_;
};

}  // namespace careen::profiles
