// View documents without a running careen: a replica inside this process reads the cluster and the configuration,
// decides and explains, and writes and sends nothing.
#pragma once

#include <memory>
#include <string>

#include "commands/view_source.h"
#include "kube/credentials.h"

namespace careen::app {

// With the options' configuration, in the namespace that they name or where careen leads. Resumes when the replica
// knows enough to decide; the error says what is wrong with the configuration, or what could not be read in time.
io::Task<ViewResult<std::unique_ptr<ViewSource>>> view_computed_here(ViewParts parts, kube::Access access,
                                                                     ViewOptions given);

}  // namespace careen::app
