// An admission: a node that may go on against a budget, who let it, and the leases that it has taken for that.
#pragma once

#include <string>
#include <vector>

#include "io/time.h"

namespace careen::budget {

// A lease that belongs to a transition which has begun.
struct HeldLease {
  std::string key;      // namespace/name
  io::Wall acquired{};  // in whole microseconds, as the lease shows it
  bool operator==(const HeldLease&) const = default;
};

struct Admission {
  std::string uid;   // of the node
  std::string node;  // its name, for people and for finding it
  std::string by;    // "profile/flatcar"
  io::Wall since{};
  bool counts = true;  // against budgets: the node is on its way into maintenance, not merely on its way
  std::vector<HeldLease> leases = {};
  bool drains = false;  // the node has not moved by it: first it is drained, and the move is an admission of its own
  bool operator==(const Admission&) const = default;
};

}  // namespace careen::budget
