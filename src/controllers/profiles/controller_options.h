// What the profiles controller is told from outside.
#pragma once

#include "io/time.h"

namespace careen::profiles {

struct ControllerOptions {
  // Node writes in flight at once: enough to keep an API server busy, few enough not to queue up in it.
  int writes_in_flight = 16;
  // Everything is decided again this often; what that finds should have been found before.
  io::Duration sweep = io::minutes{10};
  // Messages are sent before the state machine moves on, and one that cannot be sent stops its profile.
  bool notify_blocking = false;
  // A drain reports its requests in events of the pods.
  bool pod_events = true;
  // After each requeue interval the nodes whose decisions stand are counted among the decisions.
  bool count_standing = true;
  // Decides and explains; writes and sends nothing.
  bool dry_run = false;
};

}  // namespace careen::profiles
