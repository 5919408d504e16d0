// careen as one replica of itself: caches, leader election, ledger and controllers. It does not know where it runs: on
// a real cluster over HTTP, or on the model cluster in virtual time. Destroying it is a crash; what it has sent may
// still arrive.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/interpolate.h"
#include "io/log.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/connect.h"
#include "limits/facts.h"

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
class Cluster;
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

namespace careen::limits {
class Desk;
}

namespace careen::drain {
class Engine;
struct Key;
}  // namespace careen::drain

namespace careen::limits {
class Desk;
}

namespace careen::controllers {
class Choice;
struct Entry;
struct HostedController;
}  // namespace careen::controllers

namespace careen::turnstile {
struct Reach;
}

namespace careen::web {
struct Route;
}

namespace careen::replica {

// For a replica that works in a workload cluster, by the one in whose process it lives: that one leads for both, in the
// management cluster, where this one has its ledger, its limits and its pauses.
struct Above {
  std::string cluster;  // namespace/name
  kube::Cluster& home;
  kube::Lock& lock;
  // How long a write may take that is sent now; nothing: none may be sent.
  std::function<std::optional<io::Duration>()> write_window;
  budget::Pauses& pauses;
  io::Metrics& metrics;
  io::Problems& problems;
};

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
  const Above* above = nullptr;  // it outlives the replica
};

class Hub;

struct HubOptions {
  std::string selector;  // of labels
  std::vector<std::shared_ptr<const controllers::Choice>> controllers = {};
};

struct ReplicaOptions {
  std::string host;  // in the identity and in events
  std::string ns;    // of the locks and the ledger
  // In the order in which their locks are taken: as replica/controllers.h has them, profiles first.
  std::vector<std::shared_ptr<const controllers::Choice>> controllers = {};
  // Whose webhooks are answered, whether they run here or not.
  std::vector<std::shared_ptr<const controllers::Choice>> webhooks = {};
  bool leader_election = false;
  bool dry_run = false;       // decides and explains; writes and sends nothing
  std::string instance = {};  // the second part of the identity: nobody else's, ever. Empty: drawn
  std::string own_pod = {};   // its name, in `ns`, when careen runs in one
  bool awaits_pauses = true;  // false: that they may not be read is known, and a first refusal tells no news
  // The ValidatingWebhookConfiguration by which others wait their turn, and the group that never has to.
  std::string limit_webhook = "careen-limits";
  std::string break_glass_group = {};
  // Taints that count in limits besides those that are known.
  std::vector<limits::CountedTaint> counted_taints = {};
  // It runs controllers in workload clusters, too, whose Cluster objects have these labels; nothing: it does not.
  std::optional<HubOptions> hub = {};
};

// What happens to a replica, for those who show it. What is not set is not called; nothing may change the replica.
struct ReplicaListener {
  std::function<void(const kube::EventRecord&)> event = {};  // recorded, repetitions too
  std::function<void(const controllers::Entry&)> told = {};  // by a controller: what stands for no event
  std::function<void(const drain::Key&)> drain = {};         // its progress has changed
  std::function<void(const std::string& key, const std::string* message)> problem = {};  // null: it is gone
  std::function<void()> configured = {};                                                 // a configuration was taken
  std::function<void(const std::string& node)> node = {};                                // changed, new or gone
  std::function<void()> pauses = {};
  std::function<void()> other = {};  // a lease, a disruption budget or an object of a controller has changed
};

class Replica {
 public:
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
  // In the order in which their locks are taken.
  const std::vector<controllers::HostedController>& hosted() const;
  const drain::Engine& drains() const;
  const budget::Pauses& pauses() const;
  // Where its controllers ask for places in MaintenanceLimits; null: none of them asks.
  limits::Desk* limits();
  const limits::Desk* limits() const;
  const kube::Store<kube::Object>* limit_objects() const;
  kube::Client& reader();
  // What its controllers answer when the API server asks, on every replica. It must outlive them.
  std::vector<web::Route> webhooks(io::Log log);
  // How they are reached, from now on.
  void webhooks_served(turnstile::Reach reach);
  // With a hub: what it runs. Null: it runs none.
  Hub* hub();
  const Hub* hub() const;
  // The cluster is asked with other credentials, or at another address, from now on.
  void change(kube::Access access);
  io::Wall now() const;
  io::Loop& loop();
  const ReplicaOptions& options() const;
  const kube::Store<kube::DisruptionBudget>& disruption_budgets() const;
  // The first of its controllers decides: it leads, and knows enough to.
  bool running() const;

 private:
  class Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::replica
