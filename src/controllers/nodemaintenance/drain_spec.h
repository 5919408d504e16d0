// spec.drain of a NodeMaintenance: how the node is drained, where it is not as the original operator does it.
#pragma once

#include "drain/options.h"
#include "io/result.h"
#include "kube/json.h"

namespace careen::nodemaintenance {

// Without any: every pod but those of DaemonSets and mirror pods is evicted, with its own grace period, for as long as
// it takes. The error names the field: spec.drain.tiers[1]: …
io::Result<drain::Options> drain_options(kube::JsonView spec);

}  // namespace careen::nodemaintenance
