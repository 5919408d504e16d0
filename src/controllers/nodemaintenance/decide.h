// decide(): what should happen next to one NodeMaintenance, given the world and the time, and why. A pure function: no
// I/O, no clock. It names one write at a time; what the server answers is in the world before the next decision.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "controllers/nodemaintenance/maintenance.h"
#include "controllers/nodemaintenance/survey.h"
#include "controllers/slot/why.h"
#include "drain/holds.h"
#include "drain/key.h"
#include "drain/options.h"
#include "io/time.h"
#include "limits/place.h"

namespace careen::budget {
class Ledger;
struct Pause;
}  // namespace careen::budget

namespace careen::drain {
struct NodeRules;
struct Progress;
}  // namespace careen::drain

namespace careen::kube {
class AtomPool;
struct Lease;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {
class Desk;
}

namespace careen::nodemaintenance {

class Roster;

// A write that failed: in whose words, how often in a row, and when to try again.
struct Trouble {
  std::string what;
  int failures = 0;
  io::Wall retry_at{};
};

// What this process knows of an object beyond what the API server keeps.
struct Memory {
  std::string uid;                    // of the object
  io::Wall met{};                     // when this process first looked at it
  Status written;                     // as it was last to be, whatever the server made of it, or as others wrote it
  io::Wall written_at{};              // by this process
  uint64_t written_version = 0;       // of the object, when that was written or found
  bool bare = false;                  // the status was found without conditions: the CRD may know none
  std::string leased_for;             // UID of the node the lease was last requested for, by this process
  std::optional<io::Wall> lost_at;    // the last attempt that found the lease lost
  std::string held_uid;               // of the node that was held
  io::Wall held_at{};                 // when it was last written
  std::string counted_uid;            // of the node that the counts in the status are about; empty: that is not known
  std::optional<io::Wall> undrained;  // since when pods are there again
  std::optional<io::Wall> departing;  // since when the deletion is known
  bool lease_stays = false;           // it can be neither deleted nor freed
  bool lifecycle_stays = false;       // the node's conditions cannot be written
  Trouble trouble;                    // with the object, its node or its lease
  Trouble status_trouble;

  // Its times are those of our own wall clock. They move along with it, so that a wait of a minute takes neither an
  // hour nor no time at all.
  void clock_stepped(io::Duration by);
};

struct World {
  const Roster& roster;
  const kube::Store<kube::Node>& nodes;
  const kube::Store<kube::Lease>& leases;
  bool leases_known = false;
  std::string_view lease_namespace;
  std::function<const drain::Progress*(const drain::Key&)> progress;
  kube::AtomPool& atoms;
  bool node_conditions = false;
  const budget::Pause* pause = nullptr;  // of everything; null: none
  const kube::PodStore* pods = nullptr;  // null: not known yet
  DaemonSets daemon_sets = {};
  bool correct_drift = true;               // what somebody takes away from a node that is held is put back
  bool restore_cordon = true;              // a cordon from before the maintenance stays at its end
  const limits::Desk* limits = nullptr;    // null: there are no MaintenanceLimits
  const budget::Ledger* ledger = nullptr;  // null: it has room for everybody
  std::function<drain::NodeRules(const std::string& node)> drain_rules = {};  // empty: there are none
};

// Our finalizer and our mark are put there.
struct Enlist {};
// The mark alone, on what the original operator began.
struct Mark {};
struct WriteStatus {
  Status status;
  bool urgent = false;          // not to be delayed by the pace of progress writes
  bool counts_attempt = false;  // it says that the lease was found lost once more
  std::string counted = {};     // UID of the node whose pods were counted for it; empty: they were not
};
struct RequestLease {
  bool create = false;
  std::string body;
  std::string node_uid;
};
struct HoldNode {
  drain::NodeChange change;
  uint64_t version = 0;
  std::string node_uid;
};
struct ReleaseNode {
  drain::NodeChange change;
  uint64_t version = 0;
};
struct GiveLeaseBack {
  std::string uid;
  uint64_t version = 0;
  std::string surrender;  // the patch where it cannot be deleted
};
struct TellLifecycle {
  std::string patch;
};
struct Discharge {};  // our finalizer is removed

using Effect = std::variant<Enlist, Mark, WriteStatus, RequestLease, HoldNode, ReleaseNode, GiveLeaseBack,
                            TellLifecycle, Discharge>;

struct Decision {
  bool gone = false;                    // no such object
  std::optional<drain::Options> drain;  // the node is to be drained so; nullopt: nothing is to be evicted
  std::optional<Effect> effect;         // the next write
  bool undrained = false;               // it had succeeded, and pods are there again
  bool place = false;                   // it has its node out, or may take it: a place is its own from now on
  bool held = false;                    // the node shows that
  std::optional<limits::Asking> asks;   // it waits for a place in MaintenanceLimits
  std::optional<io::Wall> wake;         // when the decision could change by itself
  Why why;
};

// Who holds a node, in the words of its record.
std::string hold_owner(std::string_view maintenance);
// The other way round; nothing when somebody else holds it.
std::optional<std::string_view> maintenance_of(std::string_view owner);
drain::Key drain_key(const Maintenance& maintenance);

Decision decide(const World& world, std::string_view name, const Memory& memory, io::Wall now);

// A hold on the node whose NodeMaintenance is gone without having let go: somebody took its finalizer, or it is about
// another node now. Empty when there is none.
std::string orphaned_hold(const World& world, const kube::Node& node);

drain::EarlierCordon earlier_cordon(const World& world);

// Undoes what the original operator did to a node, as if careen had held it: one change.
drain::NodeChange undo_predecessor(const kube::Node& node, const Maintenance& maintenance, io::Wall now,
                                   kube::AtomPool& atoms);
drain::Hold wanted_hold(const Maintenance& maintenance, io::Wall now);

}  // namespace careen::nodemaintenance
