// Writes what the profiles want of a node's Hypervisor. What each of them wants is a write of its own: a refusal of one
// holds back no other.
#pragma once

#include <memory>
#include <string>

#include "controllers/profiles/decision_guard.h"
#include "io/task.h"

namespace careen::kube {
class WorkQueue;
struct Object;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

class Hypervisors;

class HypervisorWriter {
 public:
  HypervisorWriter(io::Loop& loop, kube::Store<kube::Object>& objects, Hypervisors& facts, DecisionGuard& guard,
                   kube::WorkQueue& queue, const std::shared_ptr<const Config>& config)
      : loop_(loop), objects_(objects), facts_(facts), guard_(guard), queue_(queue), config_(config) {}

  // False when something was not written: the node is decided again then. That decision finds the refusal and charges
  // it to the profile; what has been taken for the others stays taken.
  io::Task<bool> write(std::string node, const Decision& decision, const Basis& on);

 private:
  void written(const std::string& node, const std::string& profile, const Decision& decision,
               const std::string& answer);
  io::Wall next_try() const;

  io::Loop& loop_;
  kube::Store<kube::Object>& objects_;
  Hypervisors& facts_;
  DecisionGuard& guard_;
  kube::WorkQueue& queue_;
  const std::shared_ptr<const Config>& config_;
};

}  // namespace careen::profiles
