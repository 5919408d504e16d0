// Who has nodes out for a profile, or is about to: nodes say that they are in maintenance, and the ledger says who is
// on the way there.
#pragma once

#include <vector>

#include "budget/claim.h"
#include "io/time.h"

namespace careen::profiles {

struct Limit;
struct World;

// `limits` are those in use: each claim names the checks in whose limit it counts.
std::vector<budget::Claim> claims_of_profiles(const World& world, const std::vector<Limit>& limits, io::Wall now);

}  // namespace careen::profiles
