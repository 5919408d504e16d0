// Claims: who has which node out, or is about to, whoever it is: profiles, the objects of other controllers, people at
// a terminal.
#pragma once

#include <string>
#include <vector>

#include "budget/claim.h"

namespace careen::replica {
class Replica;
}

namespace careen::view {

class Work;

// A claim is shown as long as it is among these.
inline constexpr size_t kMostClaims = 200;

// Those that have lasted longest first; of unknown age before all others.
std::vector<budget::Claim> claims_of(const replica::Replica& replica, const Work& work);
// Claims: how many there are, and the first of them.
void append_claims(std::string& out, const std::vector<budget::Claim>& claims);

}  // namespace careen::view
