// The NodeMaintenance controller: each object has its node cordoned, tainted, labelled and drained for as long as it
// exists. It runs on the replica that leads; every maintenance advances on its own.
#pragma once

#include <memory>

#include "controllers/nodemaintenance/controller_options.h"
#include "controllers/nodemaintenance/survey.h"
#include "io/log.h"
#include "io/task.h"

namespace careen::io {
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
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::budget {
class Pauses;
}

namespace careen::drain {
class Engine;
}

namespace careen::nodemaintenance {

struct ControllerParts {
  io::Loop& loop;
  kube::Client& client;
  kube::AtomPool& atoms;
  kube::NodeDecoder& decoder;
  kube::Store<kube::Object>& maintenances;
  kube::Store<kube::Node>& nodes;
  kube::PodStore& pods;
  kube::Store<kube::Lease>& leases;  // of the lease namespace, and maybe others
  drain::Engine& engine;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
  // Null: nothing is ever paused.
  budget::Pauses* pauses = nullptr;
  DaemonSets daemon_sets = {};
};

class Controller {
 public:
  Controller(ControllerParts parts, ControllerOptions options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Until cancelled or stopped. The maintenances and nodes must have been listed under this leadership.
  io::Task<void> run();
  io::Task<void> stop();
  // The leases of the namespace have been listed for the first time; no lease is taken before.
  void leases_known();
  // Somebody has set the wall clock, or the machine has slept.
  void clock_stepped(io::Duration by);
  // Pods have been listed for the first time; their number is not told before.
  void pods_known();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace careen::nodemaintenance
