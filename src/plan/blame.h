// What keeps a node from moving on: the checks that would have to answer otherwise, taken from the reasons that a
// decision gives.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "controllers/profiles/config.h"
#include "controllers/profiles/decision.h"

namespace careen::plan {

struct Blamed {
  std::string what;      // stagger one_by_one; "another profile of the node"
  std::string reason;    // the facts, for people
  bool outside = false;  // a fact that only somebody outside changes
  bool failed = false;   // it is no answer but an error
};

struct Blame {
  std::vector<Blamed> all;       // at least one unless the node moves
  std::optional<io::Wall> wake;  // it could move by itself then
  std::string text() const;      // for people, in one sentence; only what others have to change, if there is such
};

// Why the node is kept from leaving `from` by this profile towards `target`. `facts` is the configuration of
// examine_facts(), in which the checks are those of the decision.
Blame blame(const profiles::Config& facts, const profiles::Decision& decision, const std::string& profile,
            profiles::State from, profiles::State target);

}  // namespace careen::plan
