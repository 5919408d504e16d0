// The workload controllers of the model: Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs that make pods and
// replace those that go. A change wakes only the owners concerned, a little later; nothing polls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "io/loop.h"
#include "sim/api_server.h"
#include "sim/workload_world.h"

namespace careen::sim {

class Workloads {
 public:
  Workloads(io::Loop& loop, ApiServer& api);
  Workloads(const Workloads&) = delete;
  Workloads& operator=(const Workloads&) = delete;

 private:
  enum class Kind { deployment, replica_set, stateful_set, daemon_set, job };
  struct Key {
    Kind kind;
    std::string path;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  // Who controls an object, among the kinds tended here.
  struct Owner {
    std::string uid;
    Key key;
  };
  struct KindTraits;
  static const KindTraits* traits(Kind kind);
  std::optional<Owner> owner_of(const Text& text) const;
  // The change leaves the owners as they were.
  bool same_owners(const Change& change) const;

  void note(const Change& change);
  void note_dependent(const Change& change, const std::string& path);
  void wake(const Key& key, io::Duration in);
  void run();
  void read_nodes();
  void tend(const Key& key);

  io::Loop& loop_;
  ApiServer& api_;
  WorkloadWorld world_;
  io::Alarm next_;
  io::Alarm next_nodes_;
  std::map<Key, io::Steady> due_;
  std::set<std::pair<io::Steady, Key>> by_time_;
  std::unordered_map<std::string, Owner> owners_;  // of pods and ReplicaSets, by path
  // Nodes are followed while there are DaemonSets.
  std::set<Key> daemon_sets_;
  bool following_nodes_ = false;
  std::set<std::string> changed_nodes_;
};

}  // namespace careen::sim
