// Keeps the doors of all Clusters as their windows say (upgrade_door.h): follows the Clusters, opens and shuts each
// door at its time, and tells people. It runs on the replica that leads, and only where it is asked for.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "budget/pause_guard.h"
#include "controllers/machines/lanes.h"
#include "controllers/machines/upgrade_door.h"
#include "io/log.h"
#include "io/subscription.h"
#include "kube/cache.h"
#include "kube/object_writer.h"
#include "kube/resource.h"
#include "kube/watched.h"

namespace careen::budget {
class Pauses;
}

namespace careen::kube {
class AtomPool;
class EventRecorder;
}  // namespace careen::kube

namespace careen::machines {

struct UpgradeDoorsParts {
  io::Loop& loop;
  kube::Client& client;  // writes only while this process leads
  kube::AtomPool& atoms;
  budget::Pauses& pauses;
  kube::EventRecorder& events;
  io::Problems& problems;
  io::Log log;
  bool dry_run = false;
  std::function<kube::WatchParts(std::string_view name)> watch;  // parts of one more watch
  std::function<void()> changed;                                 // what is shown of one of them
};

class UpgradeDoors {
 public:
  explicit UpgradeDoors(UpgradeDoorsParts parts);
  UpgradeDoors(const UpgradeDoors&) = delete;
  UpgradeDoors& operator=(const UpgradeDoors&) = delete;

  // The Clusters are watched in that version of their kind from now on.
  void follow(const std::string& version);
  io::Task<void> lead() { return lanes_.run(); }
  io::Task<void> stop() { return lanes_.stop(); }
  void clock_stepped() { wake_all(); }
  // How the door of that Cluster ought to be, for people; empty: it has no window.
  std::string shown(std::string_view cluster) const;

 private:
  using Window = io::Result<windows::TimeWindow>;
  using Writer = kube::ObjectWriter<ManagedCluster>;

  void cluster_changed(const ManagedCluster* before, const ManagedCluster* after);
  void wake_all();
  Door door_of(const ManagedCluster& cluster) const;
  Lanes::Step step(const std::string& key);
  void tell(const ManagedCluster& cluster, const Door& door);
  io::Task<kube::WriteResult> write(ManagedCluster cluster, Door door, uint64_t pauses);
  void record(const ManagedCluster& cluster, std::string_view type, std::string_view reason, std::string note);

  UpgradeDoorsParts p_;
  kube::Resource resource_;
  kube::Store<ManagedCluster> clusters_;
  std::unique_ptr<kube::Watch> watch_;
  std::shared_ptr<Writer> writer_;  // whoever writes holds it
  // Of the Clusters that name one.
  std::map<std::string, Window, std::less<>> windows_;
  std::map<std::string, std::string, std::less<>> told_;  // troubles
  budget::PauseGuard pause_guard_;
  io::Subscription changes_, pauses_;
  Lanes lanes_;  // last: its tasks use everything above
};

}  // namespace careen::machines
