// What people are told of nodes as they are decided: events, log lines, problems, and the counters that alerts rest on.
#pragma once

#include <string>

#include "io/log.h"

namespace careen::io {
class Problems;
}

namespace careen::kube {
class EventRecorder;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct Decision;
struct Failure;
struct NodeMeters;

class NodeReports {
 public:
  // A rehearsal leaves no events in the cluster.
  NodeReports(const kube::Store<kube::Node>& nodes, kube::EventRecorder& events, NodeMeters& meters,
              io::Problems& problems, io::Log log, bool rehearses)
      : nodes_(nodes),
        events_(events),
        meters_(meters),
        problems_(problems),
        log_(std::move(log)),
        rehearses_(rehearses) {}

  void event(const kube::Node& node, std::string reason, std::string note, std::string type = "Normal");
  // Something failed for a profile of the node, which stays in its state.
  void failure(const std::string& node, const Failure& failure);
  // What is wrong with the node's data, and what failed in the decision.
  void decided(const std::string& node, const Decision& decision);

 private:
  const kube::Store<kube::Node>& nodes_;
  kube::EventRecorder& events_;
  NodeMeters& meters_;
  io::Problems& problems_;
  io::Log log_;
  bool rehearses_;
};

// Somebody has asked for the reasons of all decisions about the node.
bool wants_details(const kube::Node& node);

}  // namespace careen::profiles
