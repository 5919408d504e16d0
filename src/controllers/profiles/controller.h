// The profiles controller: decides node after node over the world in memory and carries the decisions out side by
// side. It runs on the replica that leads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/claim.h"
#include "budget/topic.h"
#include "controllers/profiles/admissions.h"
#include "controllers/profiles/begun_leases.h"
#include "controllers/profiles/budget_desk.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/controller_options.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/decision_guard.h"
#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisor_writer.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/inheritance.h"
#include "controllers/profiles/message_desk.h"
#include "controllers/profiles/node_lane.h"
#include "controllers/profiles/node_meters.h"
#include "controllers/profiles/node_reports.h"
#include "controllers/profiles/rehearsal.h"
#include "controllers/profiles/settler.h"
#include "controllers/profiles/stagger_leases.h"
#include "controllers/profiles/sweep.h"
#include "controllers/profiles/wanted_drains.h"
#include "controllers/profiles/write_slots.h"
#include "io/log.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "kube/object_writer.h"
#include "kube/queue.h"
#include "observe/prometheus_observations.h"

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::drain {
class Engine;
}

namespace careen::io {
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::kube {
class AtomPool;
class Client;
class EventRecorder;
class NodeDecoder;
class PodStore;
struct Lease;
struct Node;
struct Object;
}  // namespace careen::kube

namespace careen::limits {
class Desk;
}

namespace careen::profiles {

struct Config;
struct Limit;
struct World;

struct ControllerParts {
  io::Loop& loop;
  kube::Client& client;
  kube::AtomPool& atoms;
  kube::NodeDecoder& decoder;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  kube::Store<kube::Lease>& leases;
  kube::Store<kube::Object>& hypervisors;
  budget::Ledger& ledger;
  notify::Outside& outside;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
  // Null: a drain is refused when it is due.
  drain::Engine* engine = nullptr;
  // Null: nothing is ever paused.
  budget::Pauses* pauses = nullptr;
  std::shared_ptr<kube::WriteLanes> node_lanes = {};  // of all who write nodes
  // Null: there are no MaintenanceLimits.
  limits::Desk* limits = nullptr;
};

class Controller {
 public:
  Controller(ControllerParts parts, ControllerOptions options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();

  // Replaces the configuration; every node is decided again.
  void set_config(std::shared_ptr<const Config> config);

  // Decides and acts until cancelled or stopped. The nodes must have been listed after the ledger was taken over.
  io::Task<void> run();
  // Takes no more work, and resumes when what is under way has ended.
  io::Task<void> stop();

  // The node's latest decision, computed now; nothing is carried out.
  Decision explain(std::string_view node) const;
  // It decides: this replica leads, and knows enough to.
  bool running() const { return running_; }
  const Config* config() const { return config_.get(); }
  const Deliveries& deliveries() const { return messages_.deliveries(); }
  const Facts& facts() const { return facts_; }
  // The limits of its checks as they are in use, and who has nodes out for a profile.
  std::vector<Limit> limits() const;
  std::vector<budget::Claim> claims(const std::vector<Limit>& limits) const;
  const budget::Waiters& waiters() const { return desk_.waiters(); }
  // How much of each kind is under way. At rest nothing is: what stays then has leaked.
  std::vector<std::pair<std::string_view, size_t>> unfinished() const;

  // The leases of a namespace, the hypervisors, or the pods have been listed for the first time.
  void leases_known(const std::string& ns);
  void hypervisors_known();
  void pods_known();
  // Somebody has set the wall clock, or the machine has slept.
  void clock_stepped();

  // Called when a node has moved by our write, and when a notification about it was sent.
  std::function<void(const std::string& node, const Moved& moved)> on_moved;
  std::function<void(const std::string& node, const std::string& instance)> on_message_sent;
  // Called when a node has entered maintenance by our write.
  std::function<void(const kube::Node& node, const std::string& profile)> on_maintenance;

 private:
  void decide_all();
  World world(const kube::Json* document = nullptr) const;
  void node_changed(const kube::Node* before, const kube::Node* after);
  void lease_changed(const std::string& key);
  void observation_changed(const observe::PrometheusQuery& source);
  bool is_news(const observe::PrometheusQuery& source);
  void pods_changed(std::string_view node);
  void wake_waiting(const std::vector<budget::Topic>& topics);
  void moved(const kube::Node& node, const Moved& moved);
  void decide_one(const std::string& key);
  void schedule(const std::string& key, const Decision& decision);
  // It could move, and nothing is under way that would find out.
  bool overlooked(const std::string& node) const;

  ControllerParts p_;
  ControllerOptions options_;
  std::shared_ptr<const Config> config_;
  kube::WorkQueue queue_;
  NodeMeters meters_;
  NodeReports reports_;
  // What decisions look at.
  budget::Topics topics_;
  Fleet fleet_;
  observe::PrometheusObservations observations_;
  StaggerLeases lease_facts_;
  BudgetDesk desk_;
  Hypervisors hypervisor_facts_;
  WantedDrains drains_;
  Facts facts_;
  // Who waits for what.
  budget::TopicWaiters topic_waiters_;
  std::map<observe::PrometheusQuery, std::pair<double, std::string>>
      told_values_;  // what decisions rest on: value or error
  // What carries decisions out.
  kube::ObjectWriter<kube::Node> writer_;
  FailingNodes failing_;
  DecisionGuard guard_;
  WriteSlots slots_;
  MessageDesk messages_;
  BegunLeases begun_leases_;
  Admissions admissions_;
  Settler settler_;
  Inheritance inheritance_;
  HypervisorWriter hypervisor_writer_;
  NodeLane lane_;
  Rehearsal rehearsal_;
  Sweep sweep_;
  io::Gate configured_;
  bool stopping_ = false;
  bool running_ = false;
  std::shared_ptr<void> scrapes_;
  std::vector<io::Subscription> changes_;
  io::Scope acting_;  // last: its tasks use everything above
};

}  // namespace careen::profiles
