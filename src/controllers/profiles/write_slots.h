// How many nodes are written at once. Nodes whose last write failed have slots of their own, so that they hold up
// nobody else.
#pragma once

#include <string>

#include "controllers/profiles/hypervisors.h"
#include "io/sync.h"
#include "kube/queue.h"

namespace careen::profiles {

class WriteSlots {
 public:
  WriteSlots(io::Loop& loop, int in_flight, const kube::WorkQueue& queue, const Hypervisors& hypervisors)
      : queue_(queue), hypervisors_(hypervisors), regular_(loop, in_flight), retries_(loop, kRetriesInFlight) {}

  io::Semaphore& regular() { return regular_; }
  io::Semaphore& of(const std::string& node) {
    return queue_.is_failing(node) || hypervisors_.is_failing(node) ? retries_ : regular_;
  }

 private:
  static constexpr int kRetriesInFlight = 4;

  const kube::WorkQueue& queue_;
  const Hypervisors& hypervisors_;
  io::Semaphore regular_;
  io::Semaphore retries_;
};

}  // namespace careen::profiles
