// How long maintenance took in the cluster's own latest round, as far as the nodes' annotations tell: they hold when a
// node left maintenance, and when people were told that it had entered.
#pragma once

#include <map>
#include <string>

#include "controllers/profiles/config.h"
#include "io/time.h"
#include "plan/snapshot.h"

namespace careen::plan {

struct Learned {
  io::Duration median{};  // in whole seconds
  size_t nodes = 0;
};

// By profile; those of which nothing is known are not there.
std::map<std::string, Learned> learned_durations(const Snapshot& snapshot, const profiles::Config& config);

}  // namespace careen::plan
