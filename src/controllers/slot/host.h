// What a replica offers the controllers that it hosts.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "config/interpolate.h"
#include "drain/filter.h"
#include "io/log.h"
#include "kube/connect.h"
#include "kube/workload.h"

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::drain {
class Engine;
}

namespace careen::io {
class Files;
class Gate;
class HttpClient;
class Loop;
class MailClient;
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::limits {
class Desk;
class WebhookState;
}  // namespace careen::limits

namespace careen::kube {
class AtomPool;
class Client;
class EventRecorder;
class NodeDecoder;
class PodStore;
struct Lease;
struct Node;
struct Object;
struct ReflectorOptions;
struct WatchParts;
template <class T>
class Store;
template <class T>
class Watched;
class Workloads;
class WriteLanes;
}  // namespace careen::kube

namespace careen::controllers {

struct Entry;

// What can be watched besides nodes, from the start or from when a configuration needs it. What several controllers ask
// for is watched once; `known` is called when the first list is complete, at once if it is.
class Watches {
 public:
  virtual ~Watches() = default;
  virtual void pods(std::function<void()> known) = 0;
  virtual void disruption_budgets() = 0;
  virtual void leases(const std::string& ns, std::function<void()> known) = 0;
  virtual void workloads(kube::WorkloadKind kind) = 0;
  // Their first list is complete: numbers of all kinds are right only then.
  virtual bool knows(kube::WorkloadKind kind) const = 0;
  // Parts of nodes that are not always kept; nodes are listed again for what is new, and `known` is called once all
  // nodes have them. What the same one (`by`) asks for replaces what it asked for before.
  virtual void node_sections(std::string_view by, const std::set<std::string>& pointers,
                             std::function<void()> known) = 0;
  // For a watch of the controller's own, which it decodes itself; `name` is that of its log.
  virtual kube::WatchParts parts(std::string_view name) = 0;
  // All objects of a kind of the controller's own, once it starts the watch.
  virtual std::unique_ptr<kube::Watched<kube::Object>> objects(kube::ReflectorOptions options) = 0;
};

// What lies beyond the cluster, for a controller that reads a file or sends messages; tests of others have none of it.
struct Beyond {
  io::Files* files = nullptr;
  io::HttpClient* http = nullptr;  // to everything that is no API server
  io::MailClient* mail = nullptr;
  config::Environment environment = {};
  io::Log log = {};  // of the whole process
};

// For a controller that works in other clusters besides its own.
struct Abroad {
  kube::Connect connect = {};
  // From now on such a client writes only while the controller's lock is held.
  std::function<void(kube::Client&)> guard = {};
  kube::Client* reader = nullptr;  // of its own cluster
};

struct Host {
  io::Loop& loop;
  kube::Client& client;  // writes only while the controller's lock is held
  kube::AtomPool& atoms;
  kube::NodeDecoder& decoder;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  kube::Store<kube::Lease>& leases;
  const kube::Workloads& workloads;
  drain::Engine& engine;
  budget::Ledger& ledger;
  budget::Pauses& pauses;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;  // named after the controller
  Watches& watches;
  std::function<drain::DaemonSetState(std::string_view ns, std::string_view name)> daemon_sets;
  bool dry_run = false;
  std::shared_ptr<kube::WriteLanes> node_lanes = {};  // of all who write nodes
  Beyond beyond = {};
  std::function<void(const Entry&)> tell = {};  // a line of the timeline that stands for no event
  std::function<void()> configured = {};        // its configuration was taken: probes and views wait for that
  // Where places in MaintenanceLimits are asked for; null: nobody does, since none of the controllers here claims.
  limits::Desk* limits = nullptr;
  // The MaintenanceLimits themselves, for whoever writes their status; null with `limits`.
  kube::Store<kube::Object>* limit_objects = nullptr;
  // Whether the API server asks careen about what others do, which limits may need; null with `limits`.
  limits::WebhookState* limit_webhook = nullptr;
  Abroad abroad = {};
};

}  // namespace careen::controllers
