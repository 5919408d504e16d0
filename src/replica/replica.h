// careen as one replica of itself: caches, leader election, ledger, controllers and their configuration. It does not
// know where it runs: on a real cluster over HTTP, or on the model cluster in virtual time. Destroying it is a crash;
// what it has sent may still arrive.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/interpolate.h"
#include "controllers/profiles/controller_options.h"
#include "io/log.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/connect.h"

namespace careen::io {
class Files;
class HttpClient;
class Loop;
class MailClient;
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::kube {
class Client;
class Lock;
struct DisruptionBudget;
struct EventRecord;
struct Node;
struct Object;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::drain {
class Engine;
struct Key;
}  // namespace careen::drain

namespace careen::profiles {
class Controller;
struct Config;
struct Moved;
}  // namespace careen::profiles

namespace careen::controllers {
class Choice;
class Controller;
struct Kind;
}  // namespace careen::controllers

namespace careen::web {
struct Route;
}

namespace careen::replica {

struct ReplicaParts {
  io::Loop& loop;
  io::Files& files;
  io::Random& random;
  kube::Access access;
  kube::Connect connect;
  io::HttpClient& http;  // to everything that is no API server
  io::MailClient& mail;
  config::Environment environment;
  io::Log log;
};

struct ReplicaOptions {
  std::string config;  // path
  std::string host;    // in the identity and in events
  std::string ns;      // of the locks and the ledger
  bool profiles = true;
  std::vector<std::shared_ptr<const controllers::Choice>> controllers = {};  // besides profiles
  // Whose webhooks are answered, whether they run here or not.
  std::vector<std::shared_ptr<const controllers::Choice>> webhooks = {};
  bool leader_election = false;
  bool cache_pods = true;
  bool strict_config = false;
  std::string slack_api = {};  // empty: Slack itself
  profiles::ControllerOptions controller = {};
  std::string instance = {};  // the second part of the identity: nobody else's, ever. Empty: drawn
  std::string own_pod = {};   // its name, in `ns`, when careen runs in one
  // Changes a configuration that was read before it is taken.
  std::function<void(profiles::Config&)> adjust_config = {};
};

// What happens to a replica, for those who show it. What is not set is not called; nothing may change the replica.
struct ReplicaListener {
  std::function<void(const kube::EventRecord&)> event = {};  // recorded, repetitions too
  std::function<void(const std::string& node, const profiles::Moved&)> moved = {};
  std::function<void(const std::string& node, const std::string& instance)> message_sent = {};
  std::function<void(const drain::Key&)> drain = {};                                     // its progress has changed
  std::function<void(const std::string& key, const std::string* message)> problem = {};  // null: it is gone
  std::function<void()> configured = {};                                                 // a configuration was taken
  std::function<void(const std::string& node)> node = {};                                // changed, new or gone
  std::function<void()> pauses = {};
  std::function<void()> other = {};  // a lease, a disruption budget or an object of a controller has changed
};

// A controller that a replica hosts.
struct HostedController {
  const controllers::Kind& kind;
  controllers::Controller& controller;
};

class Replica {
 public:
  // The lock of the original, so that the two never lead at once. Other controllers have locks of their own.
  static constexpr const char* kLock = "maintenance-controller-leader-election.cloud.sap";

  Replica(ReplicaParts parts, ReplicaOptions options);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  // Called when a configuration was taken, and when the first lists are complete.
  std::function<void()> on_config;
  std::function<void()> on_synced;

  // From now on; they are told for as long as the replica lives.
  void listen(ReplicaListener listener);

  // Until stopped, or until it must not go on. The exit code.
  io::Task<int> main();
  void stop();

  io::Metrics& metrics();
  io::Problems& problems();
  const std::string& identity() const;
  // The first lock: whoever holds it leads.
  const kube::Lock& election() const;
  const budget::Ledger& ledger() const;
  const kube::Store<kube::Node>& nodes() const;
  const profiles::Controller& controller() const;
  // In the order in which their locks are taken.
  const std::vector<HostedController>& hosted() const;
  const drain::Engine& drains() const;
  const budget::Pauses& pauses() const;
  kube::Client& reader();
  // What its controllers answer when the API server asks, on every replica. It must outlive them.
  std::vector<web::Route> webhooks(io::Log log);
  io::Wall now() const;
  io::Loop& loop();
  const ReplicaOptions& options() const;
  const kube::Store<kube::DisruptionBudget>& disruption_budgets() const;
  // It decides: it leads, and knows enough to.
  bool running() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::replica
