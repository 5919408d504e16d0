// The profiles controller: decides node after node over the world in memory and carries the decisions out side by
// side. It runs on the replica that leads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "budget/admission.h"
#include "budget/claim.h"
#include "budget/pause_guard.h"
#include "budget/topic.h"
#include "controllers/profiles/budget_desk.h"
#include "controllers/profiles/check_context.h"
#include "controllers/profiles/controller_options.h"
#include "controllers/profiles/decide.h"
#include "controllers/profiles/fleet.h"
#include "controllers/profiles/hypervisors.h"
#include "controllers/profiles/lease_taker.h"
#include "controllers/profiles/outbox.h"
#include "controllers/profiles/stagger_leases.h"
#include "drain/key.h"
#include "drain/options.h"
#include "drain/progress.h"
#include "io/log.h"
#include "io/sync.h"
#include "kube/error.h"
#include "kube/json.h"
#include "kube/queue.h"
#include "notify/courier.h"
#include "notify/ration.h"
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
struct Resource;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class Drains;
struct Config;
struct Limit;
struct NotifyInstance;

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
  // Null: a drain is refused when it is due. It must not tell of changes after the controller is gone.
  drain::Engine* engine = nullptr;
  // Null: nothing is ever paused. Must not tell of changes after the controller is gone.
  budget::Pauses* pauses = nullptr;
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
  const Deliveries& deliveries() const { return deliveries_; }
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
  struct Meters;
  // What a transition that has begun has taken.
  struct Begun {
    std::string lease;
    std::vector<io::Wall> acquired;  // when: what it was, or may have been, written with
    bool may_be_used = false;        // a move may have been made by it: it is not given back
  };
  void decide_all();
  World world(const kube::Json* document = nullptr) const;
  void node_changed(const kube::Node* before, const kube::Node* after);
  void lease_changed(const std::string& key);
  void observation_changed(const observe::PrometheusQuery& source);
  bool is_news(const observe::PrometheusQuery& source);
  void pods_changed(std::string_view node);
  void wake_waiting(const std::vector<budget::Topic>& topics);
  void schedule(const std::string& key, const Decision& decision);
  void report_failures(const std::string& key, const Decision& decision);
  void record(const kube::Node& node, std::string reason, std::string note, std::string type = "Normal");
  void decide_one(const std::string& key);
  void done(const std::string& key);
  void rehearse(const std::string& key, const Decision& decision);
  void reserve(const std::string& key, const Decision& decision);
  Begun& begun_with(const std::string& key, const std::string& lease);
  // What a decision rests on besides the node: with another configuration, or other pauses, it is made again.
  struct Basis {
    std::shared_ptr<const Config> config;
    uint64_t pauses = 0;
    bool operator==(const Basis&) const = default;
  };
  Basis basis() const { return {config_, pause_guard_.changes()}; }
  io::Task<void> act(std::string key, Decision decision, Basis basis);
  // True when the node's patch has taken effect.
  io::Task<bool> carry_out(std::string key, Decision decision, Basis basis);
  io::Task<std::optional<kube::Result<std::string>>> send(std::string key, Decision& decision, const Basis& on);
  io::Task<bool> find_out(std::string key, const Decision& decision, const kube::Result<std::string>& answer);
  bool took_effect(const std::string& key, const Decision& decision) const;
  bool outdated(const std::string& key, const Decision& decision, const Basis& on) const;
  budget::PauseGuard::Write write(kube::Resource resource, std::string key, std::string patch, const Decision& decision,
                                  const Basis& on);
  io::Task<bool> take_leases(std::string key, Decision& decision);
  io::Task<bool> write_hypervisor(std::string key, const Decision& decision, const Basis& on);
  io::Task<void> tell_hypervisor(std::string key, Decision decision, Basis on);
  void hypervisor_written(const std::string& key, const std::string& profile, const Decision& decision,
                          const std::string& answer);
  io::Wall next_try() const;
  io::Task<void> send_first(std::string key, const Decision& decision, Basis basis);
  io::Task<void> fetch_document(std::string key);
  void report_failure(const std::string& key, const Failure& failure);
  // Gives back what the node's transition had begun to take, except for what `kept` takes (again).
  void withdraw(const std::string& key, const std::vector<LeaseGrab>& kept);
  void spend(const std::string& key);
  void retry_lease(const std::string& key, const LeaseGrab& grab);
  io::Task<void> inherit(budget::Admission admission);
  io::Task<bool> read_again(std::string key);

  // Messages: what lies in a node's outbox is given to the courier, once.
  void collect_messages(const kube::Node& node);
  void collect_all_messages();
  void collect_rationed();
  bool has_turn(const kube::Node& node, const std::string& id);
  void arm_ration();
  void end_ration(const std::string& node);
  bool has_text(const kube::Node& node, const OutboxMessage& message, const NotifyInstance& instance);
  io::Task<void> render_whole(std::string node, std::string uid, std::string id);
  void keep_texts(const std::string& key, const Decision& decision);
  void drop_messages(const std::string& uid, const std::vector<OutboxMessage>& except);
  void message_sent(const std::string& id);
  void message_failed(const std::string& id, const notify::Courier::Failure& failure);
  io::Task<void> end_messages();
  io::Task<void> remove_sent(std::string node);
  void report_dropped(const kube::Node& node, const std::vector<OutboxMessage>& dropped);
  io::Semaphore& slots_for(const std::string& key);
  void succeeded(const std::string& key, const Decision& decision);
  void failed(const std::string& key, const kube::ApiError& error);
  void give_up(const std::string& key, const Decision& decision);
  void release(const std::string& key, const std::string& uid);

  // Drains: what the latest decision wants runs, and nothing else of profiles.
  void follow_drains(const std::string& key, const Decision& decision);
  void begin_drain(const std::string& key, const std::string& uid, const DrainWanted& wanted);
  void drain_changed(const drain::Key& key);
  bool lacks_drain(const std::string& key, const Decision& decision) const;
  // What a transition has taken that goes on stays taken.
  void keep(const std::string& key, const Decision& decision);

  // What is known of a write without an answer.
  enum class Fate {
    unread,   // nothing: the node cannot be read
    pending,  // it has not been applied yet, and may be
    over,     // it has been applied or never will be
    never,    // it has not been applied, and never will be
  };
  // A write of this node may still be on its way. Finds that it has happened, or changes the node so that it must
  // fail.
  io::Task<Fate> settle(std::string node, std::string uid, std::optional<uint64_t> precondition);
  // The same until it is settled, or until so late that nothing can be on its way any more.
  io::Task<Fate> settle_in_time(std::string node, std::string uid, std::optional<uint64_t> precondition);
  io::Task<void> settle_inherited(budget::Admission admission);
  io::Task<void> settle_all_inherited();
  bool is_where_it_was_admitted_to(const std::string& name, const std::string& uid) const;
  void report_unsettled(const std::string& node, const kube::ApiError& error);
  bool enter_world(const std::string& body);
  // It could move, and nothing is under way that would find out.
  bool overlooked(const std::string& node) const;
  bool waits_for_settling(std::string_view node) const;
  io::Task<void> sweep();
  // Counts, after each requeue interval, the nodes whose decisions stand.
  io::Task<void> count_standing();

  ControllerParts p_;
  ControllerOptions options_;
  std::shared_ptr<const Config> config_;
  budget::PauseGuard pause_guard_;
  budget::Topics topics_;
  Fleet fleet_;
  observe::PrometheusObservations observations_;
  StaggerLeases lease_facts_;
  Hypervisors hypervisor_facts_;
  BudgetDesk desk_;
  std::unique_ptr<const Drains> drains_;  // null: nothing can be drained
  Facts facts_;
  Deliveries deliveries_;
  LeaseTaker taker_;
  budget::TopicWaiters topic_waiters_;
  kube::WorkQueue queue_;
  io::Semaphore slots_;
  io::Semaphore retry_slots_;
  io::Semaphore sends_;  // of messages that go before the state machine
  notify::Courier courier_;
  notify::Ration ration_;
  std::map<std::string, io::Steady> rationed_;  // nodes that have sent very many messages: when they may go on
  io::Alarm ration_alarm_;                      // when the first of them may
  io::Gate configured_;
  bool stopping_ = false;
  bool running_ = false;
  std::map<std::string, std::vector<Begun>, std::less<>> begun_;  // by node
  struct Draining {
    std::string node_uid;
    drain::Options options;
    std::optional<drain::Progress::Phase> phase;  // that decisions know of
    bool overdue_told = false;
  };
  std::map<std::string, std::map<std::string, Draining>, std::less<>> draining_;  // by node and owner
  struct Parcel {
    std::string node, uid, message, instance;
    std::shared_ptr<const notify::Sender> sender;
  };
  std::map<std::string, Parcel, std::less<>> parcels_;        // with the courier, by their id there
  std::set<std::string> rendering_;                           // by the same id: the node is being fetched
  std::map<std::string, kube::Json, std::less<>> documents_;  // nodes that were fetched for a message
  std::map<observe::PrometheusQuery, std::pair<double, std::string>>
      told_values_;                                            // what decisions rest on: value or error
  std::map<std::string, std::string, std::less<>> rehearsed_;  // dry run: what was told last of a node
  std::set<std::string, std::less<>> unwritable_;  // for a reason that concerns all nodes; told as one problem
  std::set<std::string, std::less<>> held_;        // failing; they come back by themselves
  std::set<std::string> settling_;                 // by UID: admissions of a predecessor
  std::unique_ptr<Meters> meters_;
  io::Scope acting_;  // last: its tasks use everything above
};

}  // namespace careen::profiles
