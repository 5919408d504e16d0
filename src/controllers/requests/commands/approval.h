// Waiting for the answer to a request: one watch of that object, its message live on a terminal, or a line whenever it
// changes elsewhere.
#pragma once

#include <optional>
#include <string>

#include "controllers/requests/commands/own_requests.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::requests {

struct Approval {
  enum class End { approved, in_progress, rejected, completed, gone, timed_out, interrupted };
  End end = End::timed_out;
  OwnRequest request;  // as it was last seen
};

// Where what happens meanwhile is told: a command that has an output of its own keeps it clean.
enum class Tell { output, notes, nothing };

// 0: no limit.
io::Task<Approval> wait_for_approval(app::KubeSession& session, OwnRequest request, io::Duration limit, Tell tell);

// place 3 in limit workers (4 of 4: …); the phase where nobody says more.
std::string waits_for(const OwnRequest& request);

}  // namespace careen::requests
