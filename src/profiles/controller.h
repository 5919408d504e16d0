// The profiles controller: decides node after node over the world in memory and carries the decisions out side by
// side. It runs on the replica that leads.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "budget/ledger.h"
#include "io/metrics.h"
#include "io/problems.h"
#include "io/sync.h"
#include "kube/atoms.h"
#include "kube/cache.h"
#include "kube/client.h"
#include "kube/events.h"
#include "kube/queue.h"
#include "profiles/budget_waiters.h"
#include "profiles/config.h"
#include "profiles/decide.h"
#include "profiles/occupancy.h"

namespace careen::profiles {

struct ControllerParts {
  io::Loop& loop;
  kube::Client& client;
  kube::AtomPool& atoms;
  kube::Store<kube::Node>& nodes;
  budget::Ledger& ledger;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Log log;
};

struct ControllerOptions {
  // Node writes in flight at once: enough to keep an API server busy, few enough not to queue up in it.
  int writes_in_flight = 16;
  // Everything is decided anew this often; what that finds should have been found before.
  io::Duration sweep = io::minutes{10};
};

class Controller {
 public:
  Controller(ControllerParts parts, ControllerOptions options);
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();

  // Replaces the configuration; every node is decided anew.
  void set_config(std::shared_ptr<const Config> config);

  // Decides and acts until cancelled or stopped. The nodes must have been listed after the ledger was taken over.
  io::Task<void> run();
  // Takes no more work, and resumes when what is under way has ended.
  io::Task<void> stop();

  // The node's latest decision, computed now; nothing is carried out.
  Decision explain(std::string_view node) const;

 private:
  struct Meters;
  void node_changed(const kube::Node* before, const kube::Node* after);
  void refresh_occupancy(std::string_view node);
  void offer(const BudgetKey& key);
  void follow_age(const BudgetKey& key);
  io::Steady steady(io::Wall when) const;
  void schedule(const std::string& key, const Decision& decision);
  void report_failures(const std::string& key, const Decision& decision);
  void record(const kube::Node& node, std::string reason, std::string note);
  void decide_one(const std::string& key);
  io::Task<void> act(std::string key, Decision decision);
  io::Task<void> carry_out(std::string key, Decision decision);
  io::Task<bool> read_again(std::string key, uint64_t version);
  void succeeded(const std::string& key, const Decision& decision);
  void failed(const std::string& key, const kube::ApiError& error);
  void release(const std::string& key, const std::string& uid);
  // A write of this node may still be on its way. Finds that it has happened, or changes the node so that it must
  // fail. True when settled; false when nothing can be said, and the admission has to stay.
  io::Task<bool> settle(std::string node, std::string uid, std::optional<uint64_t> precondition);
  io::Task<void> settle_inherited(std::string node, std::string uid);
  io::Task<void> settle_all_inherited();
  void report_unsettled(const std::string& node, const kube::ApiError& error);
  bool enter_world(const std::string& body);
  // It could move, and nothing is under way that would find out.
  bool overlooked(const std::string& node) const;
  io::Task<void> sweep();

  ControllerParts p_;
  ControllerOptions options_;
  std::shared_ptr<const Config> config_;
  Occupancy occupancy_;
  BudgetWaiters waiters_;
  kube::WorkQueue queue_;
  io::Semaphore slots_;
  io::Gate configured_;
  bool stopping_ = false;
  std::set<std::string, std::less<>> unwritable_;  // for a reason that concerns all nodes; told as one problem
  std::set<std::string, std::less<>> held_;        // failing; they come back by themselves
  std::set<std::string> settling_;                 // by UID: admissions of a predecessor
  // For budgets that forget old maintenances: when the next one is forgotten.
  std::map<BudgetKey, std::unique_ptr<io::Alarm>> alarms_;
  std::unique_ptr<Meters> meters_;
  io::Scope acting_;  // last: its tasks use everything above
};

}  // namespace careen::profiles
