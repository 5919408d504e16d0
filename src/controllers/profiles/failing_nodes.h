// Nodes whose decision, message or write has failed: when each is tried again, and as which problems people see it. A
// sweep that finds one of them has found nothing new: they come back by themselves.
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "io/time.h"
#include "kube/error.h"

namespace careen::io {
class Loop;
class Problems;
}  // namespace careen::io

namespace careen::kube {
class WorkQueue;
}

namespace careen::profiles {

struct Config;
struct NodeMeters;

class FailingNodes {
 public:
  FailingNodes(io::Loop& loop, kube::WorkQueue& queue, io::Problems& problems, NodeMeters& meters,
               const std::shared_ptr<const Config>& config)
      : loop_(loop), queue_(queue), problems_(problems), meters_(meters), config_(config) {}

  // Tried again after the interval that is configured; without one, only a change brings the node back.
  void wait(const std::string& node);
  void wait_until(const std::string& node, io::Steady when);
  // Its decision failed in nothing.
  void recovered(const std::string& node) { waiting_.erase(node); }

  // Its write was refused, or could not be sent: tried again less and less often.
  void write_failed(const std::string& node, const kube::ApiError& error);
  void written(const std::string& node);
  // There is nothing to be written.
  void rests(const std::string& node);
  // It is not known, and cannot be found out, whether its write took effect; until it is settled.
  void write_unsettled(const std::string& node, const kube::ApiError& error);
  void write_settled(const std::string& node);

  // It comes back by itself.
  bool contains(std::string_view node) const { return waiting_.contains(node); }
  size_t waiting() const { return waiting_.size(); }
  size_t unwritable() const { return unwritable_.size(); }

 private:
  io::Loop& loop_;
  kube::WorkQueue& queue_;
  io::Problems& problems_;
  NodeMeters& meters_;
  const std::shared_ptr<const Config>& config_;
  std::set<std::string, std::less<>> waiting_;
  std::set<std::string, std::less<>> unwritable_;  // for a reason that concerns all nodes; told as one problem
};

}  // namespace careen::profiles
