// What a drain is told: kubectl's options under kubectl's names, and what people ask for beyond them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "io/time.h"
#include "kube/label_selector.h"

namespace careen::drain {

struct Options {
  // kubectl drain's.
  bool force = false;                       // also pods that nobody makes anew, and those of DaemonSets that are gone
  bool ignore_daemon_sets = false;          // leave pods of DaemonSets alone instead of refusing the drain
  bool delete_emptydir_data = false;        // also pods with local storage
  bool disable_eviction = false;            // DELETE, which no disruption budget holds back
  int64_t grace_seconds = -1;               // negative: the pod's own
  io::Duration skip_wait_for_delete{};      // what has been terminating for longer is not waited for; 0: all are
  io::Duration timeout{};                   // after it the drain has failed; 0: never
  std::optional<kube::LabelSelector> only;  // no other pods are touched or waited for

  // Beyond kubectl.
  std::vector<kube::LabelSelector> skip;      // stay, and are not waited for
  std::vector<kube::LabelSelector> wait_for;  // are left to end by themselves (jobs), and waited for
  std::vector<kube::LabelSelector> tiers;     // those of the first leave first; what matches none leaves last
  bool by_priority = false;                   // within a tier: lower priority first, one priority after the other
  // A pod that could not be evicted for so long is deleted instead, whatever its budget says.
  std::optional<io::Duration> delete_after;
  // A pod that is still there so long after its grace period ended is deleted with a grace period of 0.
  std::optional<io::Duration> kill_after;

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace careen::drain
