// What decisions take: places in budgets, by entries of the ledger; leases; observations that only one node may use.
// It counts as taken from the decision on, for all that follow, and is given back when the node does not get there.
#pragma once

#include <string>

#include "budget/admission.h"

namespace careen::budget {
class Ledger;
}

namespace careen::observe {
class PrometheusObservations;
}

namespace careen::profiles {

class BegunLeases;
class BudgetDesk;
struct Decision;

class Admissions {
 public:
  // A rehearsal uses up no observations.
  Admissions(const budget::Ledger& ledger, BudgetDesk& desk, BegunLeases& leases,
             observe::PrometheusObservations& observations, bool rehearses)
      : ledger_(ledger), desk_(desk), leases_(leases), observations_(observations), rehearses_(rehearses) {}

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
  void renew(const budget::Admission& lost);

  const budget::Ledger& ledger_;
  BudgetDesk& desk_;
  BegunLeases& leases_;
  observe::PrometheusObservations& observations_;
  bool rehearses_;
};

}  // namespace careen::profiles
