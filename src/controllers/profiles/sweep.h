// The slow sweep: decides every node again now and then. What it finds should have been found before, so it counts
// that.
#pragma once

#include <functional>
#include <string>

#include "io/log.h"
#include "io/sync.h"
#include "io/time.h"

namespace careen::kube {
class WorkQueue;
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct NodeMeters;

class Sweep {
 public:
  // `overlooked`: the node could move, and nothing is under way that would find out.
  Sweep(io::Loop& loop, const kube::Store<kube::Node>& nodes, kube::WorkQueue& queue, NodeMeters& meters, io::Log log,
        std::function<bool(const std::string& node)> overlooked)
      : loop_(loop),
        nodes_(nodes),
        queue_(queue),
        meters_(meters),
        log_(std::move(log)),
        overlooked_(std::move(overlooked)) {}

  // Until it is cancelled or stopped.
  io::Task<void> run(io::Duration interval);
  void stop() { stopped_ = true; }

 private:
  io::Loop& loop_;
  const kube::Store<kube::Node>& nodes_;
  kube::WorkQueue& queue_;
  NodeMeters& meters_;
  io::Log log_;
  std::function<bool(const std::string& node)> overlooked_;
  bool stopped_ = false;
};

}  // namespace careen::profiles
