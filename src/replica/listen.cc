// Listeners that show a replica hear what happens to it.
#include <utility>

#include "replica/replica_core.h"

namespace careen::replica {

namespace {

// Leader locks lie in the same namespaces as leases that checks look at, and are renewed every few seconds.
bool only_renewed(const kube::Lease* before, const kube::Lease* after) {
  return before && after && before->uid == after->uid && before->holder == after->holder &&
         before->acquired == after->acquired && before->duration_seconds == after->duration_seconds;
}

}  // namespace

void Replica::Core::listen(ReplicaListener listener) {
  listeners_.push_back(std::move(listener));
  if (listeners_.size() > 1) return;
  // The parts are asked once, for all that listen.
  using L = ReplicaListener;
  events_.on_record([this](const kube::EventRecord& event) { tell(&L::event, event); });
  changes_.push_back(engine_.subscribe([this](const drain::Key& key) { tell(&L::drain, key); }));
  problems_.on_change([this](const std::string& key, const std::string* message) { tell(&L::problem, key, message); });
  changes_.push_back(nodes_.store().subscribe([this](const kube::Node* before, const kube::Node* after) {
    tell(&L::node, after ? after->name : before->name);
  }));
  changes_.push_back(pauses_.subscribe([this] { tell(&L::pauses); }));
  const auto other = [this](const auto*, const auto*) { tell(&L::other); };
  changes_.push_back(leases_.subscribe([this](const kube::Lease* before, const kube::Lease* after) {
    if (!only_renewed(before, after)) tell(&L::other);
  }));
  for (const controllers::HostedController& one : hosted_) one.controller.on_change([this] { tell(&L::other); });
  changes_.push_back(budgets_.store().subscribe(other));
}

}  // namespace careen::replica
