// Who has nodes out for a profile, or is about to: nodes say that they are in maintenance, and the ledger says who is
// on the way there.
#pragma once

#include <vector>

#include "budget/claim.h"
#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::profiles {

struct Config;
struct Limit;
struct World;

// Of a node that says that it is in maintenance: for which of its profiles. Without a configuration every profile
// counts that the node's label names.
std::vector<budget::Claim> claims_of_node(const kube::Node& node, const Config* config);

// `limits` are those in use: each claim names the checks in whose limit it counts.
std::vector<budget::Claim> claims_of_profiles(const World& world, const std::vector<Limit>& limits, io::Wall now);

}  // namespace careen::profiles
