// What decisions take: places in budgets, by entries of the ledger; leases; observations that only one node may use.
// It counts as taken from the decision on, for all that follow, and is given back when the node does not get there.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "budget/admission.h"

namespace careen::budget {
class Ledger;
}

namespace careen::observe {
class PrometheusObservations;
}

namespace careen::profiles {

class BegunLeases;
struct Decision;

// Those who count places, and those who wait for one.
struct PlaceCount {
  std::function<void(std::string_view node)> refresh;  // the ledger says something else of the node
  std::function<void(const std::string& uid)> finish;  // the node's entry in the ledger ends
};

class Admissions {
 public:
  // A rehearsal uses up no observations.
  Admissions(budget::Ledger& ledger, BegunLeases& leases, observe::PrometheusObservations& observations,
             PlaceCount places, bool rehearses)
      : ledger_(ledger),
        leases_(leases),
        observations_(observations),
        places_(std::move(places)),
        rehearses_(rehearses) {}

  // What the decision takes counts as taken, and what an earlier one of the node took and this one does not is given
  // back.
  void reserve(const std::string& node, const Decision& decision);
  // The decision's patch has taken effect.
  void carried_out(const std::string& node, const Decision& decision);
  // The decision could not be carried out. What began earlier stays begun.
  void give_up(const std::string& node, const Decision& decision);
  // It is a node that will not get there by what was begun.
  void release(const std::string& node, const std::string& uid);

 private:
  void use_up(const std::string& node, const Decision& decision);
  void renew(const std::string& node, const budget::Admission& lost);
  void count(const std::string& node, budget::Admission admission);

  budget::Ledger& ledger_;
  BegunLeases& leases_;
  observe::PrometheusObservations& observations_;
  PlaceCount places_;
  bool rehearses_;
};

}  // namespace careen::profiles
