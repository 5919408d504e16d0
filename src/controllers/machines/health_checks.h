// Holds the NodeHealthChecks of workload clusters back (health_check.h) while Machines are out: is told of each Machine
// what was decided, and writes what follows in the Machine's cluster. It runs on the replica that leads, and only where
// it is asked for.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/machines/health_check.h"
#include "controllers/machines/lanes.h"
#include "controllers/machines/machine.h"
#include "io/log.h"
#include "kube/index.h"

namespace careen::machines {

class Workload;

struct HealthChecksParts {
  io::Loop& loop;
  io::Problems& problems;
  io::Log log;
  bool dry_run = false;
  const kube::Index<Machine>& machines;                           // by cluster
  std::function<Workload*(const std::string& cluster)> workload;  // null: it is not connected
  std::function<void()> changed;                                  // what is shown
  std::function<void(const std::string& cluster)> out_changed;    // see anybody_out()
};

class HealthChecks {
 public:
  explicit HealthChecks(HealthChecksParts parts);
  HealthChecks(const HealthChecks&) = delete;
  HealthChecks& operator=(const HealthChecks&) = delete;

  void decided(const Machine& machine, bool out);
  void forget(const std::string& machine);
  void check_changed(const std::string& cluster, const HealthCheck* before, const HealthCheck* after);
  void node_changed(const std::string& cluster, const Node* before, const Node* after);
  // It can be asked, or not any more.
  void cluster_changed(const std::string& cluster) { wake(cluster); }

  // Some Machine of that cluster is out, so it is needed.
  bool anybody_out(const std::string& cluster) const { return out_.contains(cluster); }
  // That careen holds back, by name.
  std::vector<std::string> held(const std::string& cluster) const;

  io::Task<void> lead() { return lanes_.run(); }
  io::Task<void> stop() { return lanes_.stop(); }

 private:
  struct Noted {
    std::string cluster;
    bool out = false;
  };

  void note_out(const std::string& cluster, const std::string& machine, bool out);
  void wake(const std::string& cluster);
  Lanes::Step step(const std::string& key);
  HealthCheckWorld world(const std::string& cluster, const HealthCheck& check, const Workload& workload) const;
  io::Task<kube::WriteResult> write(std::string cluster, HealthCheck check, std::vector<std::string> requests);

  HealthChecksParts p_;
  std::map<std::string, Noted, std::less<>> noted_;                             // by Machine
  std::map<std::string, std::set<std::string, std::less<>>, std::less<>> out_;  // Machines, by cluster
  Lanes lanes_;                                                                 // last: its tasks use everything above
};

}  // namespace careen::machines
