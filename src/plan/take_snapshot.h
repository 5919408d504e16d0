// Takes a snapshot of a cluster through its API server: a list of each kind a plan needs, page by page. What may not be
// read, or does not exist there, is left out and said so; only the nodes have to be readable.
#pragma once

#include <functional>
#include <string_view>

#include "io/task.h"
#include "kube/error.h"
#include "plan/snapshot.h"

namespace careen::kube {
class Client;
}

namespace careen::plan {

struct SnapshotScope {
  bool pods = true;     // and what makes, owns and protects them
  int page_size = 500;  // objects of one answer
  std::string careen;   // our version
  // Of the cluster that has the MaintenanceLimits, where that is another one: those of a workload cluster are its
  // hub's.
  kube::Client* limits = nullptr;
  // Called before each kind is read.
  std::function<void(std::string_view section)> progress = {};
};

io::Task<kube::Result<Snapshot>> take_snapshot(kube::Client& client, SnapshotScope scope);

}  // namespace careen::plan
