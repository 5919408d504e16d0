// What makes things happen in the demonstration, as people and machines do on a real cluster: nodes reboot into the new
// system when it is their turn, technicians repair what is broken, releases come out, somebody approves, hardware
// fails, colleagues take nodes out. All of it drawn from a seed, on the cluster's clock.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "demo/nodes.h"
#include "io/random.h"
#include "io/sync.h"
#include "sim/cluster.h"

namespace careen::app {

class DemoActors {
 public:
  // Told what they do, in a sentence for people; the node may be empty.
  using Tell = std::function<void(const std::string& node, const std::string& text)>;

  DemoActors(io::Loop& loop, sim::Cluster& cluster, DemoNodes& nodes, uint64_t seed, Tell tell);

  // Machines do their part from the beginning. This starts what happens by itself; colleagues make objects only where
  // somebody looks after them.
  void begin(bool objects);
  const std::string& newest_os() const { return newest_os_; }

 private:
  void react(const std::string& name, const DemoNode& before, const DemoNode& now);
  io::Task<void> reboot(std::string node);
  io::Task<void> repair(std::string node);
  io::Task<void> approve(std::string node);
  io::Task<void> publish_releases();
  io::Task<void> break_hardware();
  io::Task<void> take_nodes_out();
  io::Task<void> take_out(std::string node, std::string name, std::string reason);
  io::Task<void> run_jobs();
  io::Task<void> reboot_as_kured();
  io::Task<void> kured_takes(std::string node);
  // False when it still has pods that have to leave.
  bool evict_pods(const std::string& node);

  io::SleepAwaiter pause(io::Duration least, io::Duration most);
  // A node with nothing going on, or "".
  std::string any_node_at_rest();
  void label(const std::string& node, std::string_view key, kube::Json value);
  bool people_at_work_ = false;

  io::Loop& loop_;
  sim::Cluster& cluster_;
  DemoNodes& nodes_;
  io::Random random_;
  Tell tell_;
  std::string newest_os_;
  int release_ = 0;
  std::set<std::string> approving_;
  io::Signal updated_;
  io::Scope scope_;
};

}  // namespace careen::app
