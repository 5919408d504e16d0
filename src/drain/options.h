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
  // A request that the server refuses for good is not repeated: the drain fails once the other pods are gone.
  bool give_up_on_errors = false;

  // Beyond kubectl.
  // Pods that came after the list at the beginning are evicted too, of each owner one at a time and with growing
  // pauses. The drain is complete without them all the same.
  bool chase_newcomers = false;
  // Pods are left alone if any of their owners is of the kind DaemonSet, of whatever API group, controller or not,
  // also finished ones, instead of those that a DaemonSet of the group apps controls.
  bool daemon_sets_by_kind = false;
  std::vector<kube::LabelSelector> skip;      // stay, and are not waited for
  std::vector<kube::LabelSelector> wait_for;  // are left to end by themselves (jobs), and waited for
  std::vector<kube::LabelSelector> tiers;     // those of the first leave first; what matches none leaves last
  bool by_priority = false;                   // within a tier: lower priority first, one priority after the other
  // A pod that could not be evicted for this long is deleted instead, whatever its budget says; and so is one that is
  // awaited because it says so itself.
  std::optional<io::Duration> delete_after;
  // A pod that is still there this long after its grace period ended is deleted with a grace period of 0.
  std::optional<io::Duration> kill_after;

  friend bool operator==(const Options&, const Options&) = default;
};

}  // namespace careen::drain
