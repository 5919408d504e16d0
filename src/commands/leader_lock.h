// The lock of the careen that leads, found in the cluster. Anybody who may write Leases in some namespace can put one
// of that name there, so the name alone says nothing: when more than one namespace has a held lock, a person has to say
// which one is meant. Locks in ConfigMaps are looked at where no Lease is held.
#pragma once

#include <string>

#include "commands/view_source.h"
#include "io/time.h"

namespace careen::app {

struct LeaderLock {
  std::string ns, name;
  std::string_view kind = "Lease";
  std::string holder;  // as it stands there, unchecked
};

struct LockSearch {
  kube::Transport& api;
  io::Wall now;
  std::string ns = {};  // only there; empty: in all namespaces
};

// The status of the error when several namespaces have a lock that is held.
inline constexpr int kSeveralLocks = 409;
io::Task<ViewResult<LeaderLock>> find_leader_lock(LockSearch search);

// The document at that path of the API server.
io::Task<ViewResult<kube::Json>> read_document(kube::Transport& api, std::string path);

}  // namespace careen::app
