// The emergency stop from a terminal: careen pause and careen resume write what is paused into a Lease in careen's own
// namespace, and every other command that would begin something asks here first.
#pragma once

#include <string>
#include <vector>

#include "budget/pause.h"
#include "session/kube_session.h"

namespace careen::app {

struct PauseOptions {
  std::string ns = {};       // careen's; empty: it is looked for
  std::string profile = {};  // empty: everything
  std::string reason = {};
  bool json = false;
};

// Each returns the exit code.
io::Task<int> pause_careen(KubeSession& session, PauseOptions options);
io::Task<int> resume_careen(KubeSession& session, PauseOptions options);

// A pause of everything that stands anywhere in the cluster, in words; empty when there is none. What cannot be read
// is told as a warning.
io::Task<std::string> find_pause(KubeSession& session);

}  // namespace careen::app
