// The limits of the checks as they are in use: a check that groups nodes is a limit for each group.
#pragma once

#include <string>
#include <vector>

#include "budget/key.h"
#include "io/time.h"

namespace careen::profiles {

struct World;

struct Limit {
  std::string check;  // its instance's name
  budget::Key key;    // node places, or leases
};

// In the order of the configuration, then by group; of one check no more than some hundred groups.
std::vector<Limit> limits_in_use(const World& world, io::Wall now);

}  // namespace careen::profiles
