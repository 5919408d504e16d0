// When Cluster API may begin to upgrade a workload cluster: in the window that its Cluster object names, and while
// careen is not paused. A pure function from the Cluster to whether its door is shut, which is careen's own hook there.
// An upgrade that has begun goes on, whatever the door: Cluster API asks for it only before the control plane.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/result.h"
#include "io/time.h"
#include "kube/atoms.h"
#include "kube/objects.h"
#include "windows/time_window.h"

namespace careen::budget {
struct Pause;
}

namespace careen::kube {
class RawObject;
}

namespace careen::machines {

// A Cluster of Cluster API, with the fields that its door needs.
struct ManagedCluster {
  std::string name;
  kube::Atom ns;
  std::string uid;
  uint64_t version = 0;
  std::string window;         // the annotation, without the blanks around it; empty: there is none
  bool shut = false;          // has careen's hook, whatever its value
  bool has_topology = false;  // it is upgraded by Cluster API, and not by hand
  bool deleting = false;

  std::string key() const { return kube::object_key(ns.view(), name); }
  bool same_facts(const ManagedCluster& other) const;
};

io::Result<ManagedCluster> read_cluster(kube::RawObject& raw, kube::AtomPool& atoms);
io::Result<ManagedCluster> read_cluster(std::string_view json, kube::AtomPool& atoms);

struct DoorWorld {
  const ManagedCluster* cluster = nullptr;
  const io::Result<windows::TimeWindow>* window =
      nullptr;  // that it names, or what is wrong with it; null: it names none
  const budget::Pause* pause = nullptr;
};

// What its user has to know; each is told once, as an event on the Cluster with that reason.
struct DoorTrouble {
  std::string_view reason;
  std::string message;
};

struct Door {
  bool shut = false;                   // as it ought to be
  std::optional<bool> hook;            // put there, or taken away
  std::optional<io::Wall> changes_at;  // when the window says something else
  std::string why;                     // for people; empty: the Cluster has no window
  std::optional<DoorTrouble> trouble;
};

// A window that cannot be read holds the door shut: whoever names one means that not every hour is right.
Door decide_door(const DoorWorld& world, io::Wall now);

}  // namespace careen::machines
