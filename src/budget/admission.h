// An admission: a node that may go on against a budget, who let it, and the leases that it has taken for that. A node
// has one for all profiles, and one for each other owner that claims a place for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::budget {

// A lease that belongs to a transition which has begun.
struct HeldLease {
  std::string key;      // namespace/name
  io::Wall acquired{};  // in whole microseconds, as the lease shows it
  bool operator==(const HeldLease&) const = default;
};

// Owners that may let the same node go on at the same time each have a claim of their own. All profiles are one owner.
inline std::string claim_key(std::string_view by, std::string_view uid) {
  std::string key = by.starts_with("profile/") ? std::string() : std::string(by) + "@";
  return key.append(uid);
}

struct Admission {
  std::string uid;   // of the node
  std::string node;  // its name, for people and for finding it
  std::string by;    // "profile/flatcar", or the name of another controller
  io::Wall since{};
  bool counts = true;  // against budgets: the node is on its way into maintenance, not merely on its way
  std::vector<HeldLease> leases = {};
  bool drains = false;  // the node has not moved by it: first it is drained, and the move is an admission of its own
  std::vector<std::string> groups = {};  // of limits, in which a node is missing that is gone itself
  bool operator==(const Admission&) const = default;

  // Under which the ledger has it: of profiles the UID.
  std::string key() const { return claim_key(by, uid); }
};

}  // namespace careen::budget
