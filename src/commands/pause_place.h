// Where careen keeps what is paused: its own namespace, which is found by the objects it has there, and the Lease in
// it.
#pragma once

#include <optional>
#include <string>

#include "budget/pause.h"
#include "session/kube_session.h"

namespace careen::app {

// careen's namespace: `wanted` if that says one, otherwise where its locks and ledgers lie; with a note, the
// kubeconfig's own when there are none. Nothing when it cannot be said; then it has been told why.
io::Task<std::optional<std::string>> find_careen(KubeSession& session, std::string wanted);

// The Lease as it is stored.
struct PauseLease {
  std::string version;                        // empty: there is none
  std::optional<budget::PauseRecord> record;  // nothing when it cannot be read
  std::string mistake;                        // then: why
};
io::Task<kube::Result<PauseLease>> read_pause_lease(KubeSession& session, std::string ns);
// Replaces what was read by the record, unless somebody else has done so meanwhile.
io::Task<kube::Result<std::string>> write_pause_lease(KubeSession& session, std::string ns, PauseLease stored,
                                                      budget::PauseRecord record);

}  // namespace careen::app
