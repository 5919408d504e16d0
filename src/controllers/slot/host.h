// What a replica offers the controllers that it hosts.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "drain/filter.h"
#include "io/log.h"
#include "kube/workload.h"

namespace careen::budget {
class Ledger;
class Pauses;
}  // namespace careen::budget

namespace careen::drain {
class Engine;
}

namespace careen::io {
class Gate;
class Loop;
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
template <class T>
class Watched;
class WriteLanes;
}  // namespace careen::kube

namespace careen::controllers {

// What can be watched besides nodes. What several controllers ask for is watched once; `known` is called when the first
// list is complete.
class Watches {
 public:
  virtual ~Watches() = default;
  virtual void pods(std::function<void()> known) = 0;
  virtual void disruption_budgets() = 0;
  virtual void leases(const std::string& ns, std::function<void()> known) = 0;
  virtual void workloads(kube::WorkloadKind kind) = 0;
  // All objects of a kind of the controller's own, once it starts the watch.
  virtual std::unique_ptr<kube::Watched<kube::Object>> objects(const kube::Resource& resource) = 0;
};

struct Host {
  io::Loop& loop;
  kube::Client& client;  // writes only while the controller's lock is held
  kube::AtomPool& atoms;
  kube::NodeDecoder& decoder;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  kube::Store<kube::Lease>& leases;
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
};

}  // namespace careen::controllers
