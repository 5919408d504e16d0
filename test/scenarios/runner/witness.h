// Sees what reaches the API server: nodes as they are, events, careen's writes, who went into maintenance when. It asks
// for careen's reasons at the moment of a write, before careen itself sees the result.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "controllers/profiles/decision.h"
#include "pods_seen.h"
#include "sim/cluster.h"
#include "timeline.h"

namespace careen::controllers {
struct Kind;
}

namespace careen::scenarios {

struct NodeView {
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  bool cordoned = false;
  bool ready = false;
  std::vector<std::string> taints;  // key=value:Effect

  // By careen's label; empty as long as there is none.
  std::string state() const;
};

struct EventSeen {
  io::Steady at{};
  std::string reason;
  std::string about;  // name of the object
  std::string note;
  int times = 1;
};

struct WriteSeen {
  io::Steady at{};
  std::string replica;
  std::string resource;  // plural
};

struct Entry {
  io::Steady at{};
  std::string node;
};

class Witness {
 public:
  using Explain = std::function<std::optional<profiles::Decision>(const std::string& replica, const std::string& node)>;
  Witness(io::Loop& loop, sim::Cluster& cluster, Timeline& timeline, Explain explain);

  const std::map<std::string, NodeView>& nodes() const { return nodes_; }
  const std::vector<EventSeen>& events() const { return events_; }
  // Of careen, that the server accepted.
  const std::vector<WriteSeen>& writes() const { return writes_; }
  // Nodes as they went into maintenance.
  const std::vector<Entry>& entries() const { return entries_; }

  const PodsSeen& pods() const { return pods_; }

  // Called after every change of a node, and of anything but careen's lock; also when something reaches the outside.
  std::function<void()> on_node;
  std::function<void()> on_change;

 private:
  void see(const sim::Change& change);
  void see_node(const sim::Change& change);
  void see_event(const sim::Change& change);
  void see_lock(const sim::Change& change, std::string_view what);
  void see_job(const sim::Change& change, const controllers::Kind& kind);
  void hear(const sim::Outside& outside, const sim::Outside::Message& message);
  void tell_of_readiness(const sim::Change& change, const NodeView& before, const NodeView& after);
  void tell_of_node(const sim::Change& change, const NodeView& before, const NodeView& after);

  io::Loop& loop_;
  Timeline& timeline_;
  Explain explain_;
  std::map<std::string, NodeView> nodes_;
  std::vector<EventSeen> events_;
  std::map<std::string, int> event_counts_;  // by path
  std::vector<WriteSeen> writes_;
  std::vector<Entry> entries_;
  std::map<std::string, std::string> holders_;  // of the locks
  PodsSeen pods_;
  std::set<std::string> lost_;  // nodes that were ready and are not
};

}  // namespace careen::scenarios
