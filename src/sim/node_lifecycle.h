// What the control plane does about nodes besides their health: cordoned ones get a taint, which goes with the cordon,
// and pods of nodes that are gone are removed.
#pragma once

#include <map>
#include <set>
#include <string>

#include "io/loop.h"
#include "sim/api_server.h"

namespace careen::sim {

class NodeLifecycle {
 public:
  NodeLifecycle(io::Loop& loop, ApiServer& api);
  NodeLifecycle(const NodeLifecycle&) = delete;
  NodeLifecycle& operator=(const NodeLifecycle&) = delete;

  // How long after a change it acts.
  void set_delay(io::Duration delay) { delay_ = delay; }

 private:
  void note(const Change& change);
  void run();
  void settle_taint(const std::string& node);
  void collect_orphans();

  io::Loop& loop_;
  ApiServer& api_;
  io::Duration delay_ = io::milliseconds{5};
  io::Alarm next_;
  std::set<std::string> changed_;
  std::map<std::string, io::Steady> gone_;  // nodes, and when their pods go
  io::Alarm collect_;
};

}  // namespace careen::sim
