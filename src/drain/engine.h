// The eviction engine, shared by everything that drains. It follows pods and disruption budgets by their watches and
// sends one eviction per pod when nothing blocks; under one budget one request at a time, under different ones side by
// side. One blocked pod delays no other pod and no other node.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drain/key.h"
#include "drain/progress.h"
#include "io/log.h"
#include "io/subscription.h"
#include "io/task.h"

namespace careen::io {
class Loop;
class Metrics;
class Problems;
}  // namespace careen::io

namespace careen::kube {
class Client;
class EventRecorder;
class PodStore;
struct DisruptionBudget;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::budget {
class Pauses;
}

namespace careen::drain {

enum class DaemonSetState;
struct NodeRules;
struct Options;
struct PodRequest;

struct EngineParts {
  io::Loop& loop;
  kube::Client& client;
  kube::PodStore& pods;
  kube::Store<kube::DisruptionBudget>& budgets;
  // Whether that DaemonSet exists; not called when empty: then each one does.
  std::function<DaemonSetState(std::string_view ns, std::string_view name)> daemon_set;
  kube::EventRecorder* events = nullptr;  // null: none are written
  io::Metrics& metrics;
  io::Problems& problems;
  io::Log log;
  // Null: nothing is ever paused. A drain whose owner is paused sends nothing, and its time does not run.
  budget::Pauses* pauses = nullptr;
  // Null: that a node was created again is noticed only when it is read.
  kube::Store<kube::Node>* nodes = nullptr;
};

struct EngineOptions {
  int requests_in_flight = 32;
  bool dry_run = false;  // nothing is sent; what would be is told in the reasons
  // Our own pod, which goes last; empty when there is none.
  std::string own_namespace = {}, own_pod = {};
};

class Engine {
 public:
  Engine(EngineParts parts, EngineOptions options);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // Told whenever the progress of a drain has changed; not from within begin() or end(). Must not begin or end one.
  using Listener = std::function<void(const Key&)>;
  io::Subscription subscribe(Listener listener);

  // The cordon must have been acknowledged before. Pods know no more of their node than its name, so the drain is about
  // the node with that UID: it fails when there is another one, or none, under the name. For a running drain only the
  // options are replaced; of a drain for another node of that name nothing is left.
  void begin(const Key& key, const std::string& node_uid, Options options);
  // Requests on their way are not taken back. Nothing happens if there is no such drain.
  void end(const Key& key);
  bool has(const Key& key) const;
  // All drains there are, by node.
  std::vector<Key> keys() const;
  // Nothing when there is no such drain.
  std::optional<Progress::Phase> phase(const Key& key) const;
  // How much of each kind is under way. At rest nothing is: what stays then has leaked.
  std::vector<std::pair<std::string_view, size_t>> unfinished() const;
  // Null when there is no such drain. Lives until the engine is used again.
  const Progress* progress(const Key& key) const;

  // Pods, and budgets if they can be watched, have been listed for the first time. Nothing is sent before the pods are
  // known; without budgets a refused eviction is tried again after a while.
  void pods_known();
  void budgets_known();
  void budgets_unavailable(std::string why);
  // What is known of DaemonSets has changed: their pods are judged again.
  void daemon_sets_known();
  // The same for MachineDrainRules, as soon as it is known which there are, and whenever that changes.
  void rules_changed();
  // What they say of the node's pods, whether it is drained or not.
  NodeRules rules_of(const std::string& node) const;

  // Sends until cancelled or stopped; stop() resumes when what is under way has ended.
  io::Task<void> run();
  io::Task<void> stop();

  // Called before each request is sent. True: an event about it is somebody else's, and the engine writes none.
  std::function<bool(const PodRequest&)> on_request;
  // What MachineDrainRules say of the pods of the node of that name; not set: there are none.
  std::function<NodeRules(const std::string& node)> rules;
  // Our own pod's eviction was accepted: it is time to hand over.
  std::function<void()> on_own_eviction;

 private:
  struct Core;
  std::unique_ptr<Core> core_;
};

}  // namespace careen::drain
