// Admissions of a predecessor: none of their nodes is decided before it is certain that no write of the predecessor is
// still on its way. Then its place is free, or what its transition has begun stays with the node for its next decision.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>

#include "budget/admission.h"
#include "io/sync.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
class WorkQueue;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class BegunLeases;
class BudgetDesk;
class FailingNodes;
class Settler;

struct InheritanceParts {
  io::Loop& loop;
  const kube::Store<kube::Node>& nodes;
  budget::Ledger& ledger;
  BudgetDesk& desk;
  kube::WorkQueue& queue;
  BegunLeases& leases;
  Settler& settler;
  FailingNodes& failing;
};

class Inheritance {
 public:
  explicit Inheritance(InheritanceParts parts) : p_(std::move(parts)), settling_(p_.loop) {}

  // Settles all there are, and all that come, until it is cancelled: the ledger may be unreadable at first.
  io::Task<void> run();
  // The node is decided when its predecessor's admission is settled.
  bool holds_up(std::string_view node) const;
  size_t unsettled() const { return unsettled_.size(); }

 private:
  io::Task<void> settle_inherited(budget::Admission admission);
  bool is_where_it_was_admitted_to(const budget::Admission& admission) const;
  io::Task<void> inherit(budget::Admission admission);

  InheritanceParts p_;
  std::set<std::string> unsettled_;  // by UID
  io::Scope settling_;               // last: its tasks use the above
};

}  // namespace careen::profiles
