// The node lane: carries decisions out, for many nodes at once and for each node one at a time. Before the node itself
// come the ledger, leases and the Hypervisor; after it, what people are told. A write whose end is not known is
// settled before anything else happens to its node.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "controllers/profiles/decision.h"
#include "controllers/profiles/decision_guard.h"
#include "io/log.h"
#include "io/sync.h"
#include "kube/error.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
class WorkQueue;
struct Lease;
template <class T>
class ObjectWriter;
}  // namespace careen::kube

namespace careen::observe {
class PrometheusObservations;
}

namespace careen::profiles {

class Admissions;
class BegunLeases;
class FailingNodes;
class HypervisorWriter;
class MessageDesk;
class NodeReports;
class Settler;
class WriteSlots;
struct NodeMeters;

struct NodeLaneParts {
  io::Loop& loop;
  const kube::Store<kube::Node>& nodes;
  const kube::Store<kube::Lease>& leases;
  kube::ObjectWriter<kube::Node>& writer;
  budget::Ledger& ledger;
  kube::WorkQueue& queue;
  WriteSlots& slots;
  DecisionGuard& guard;
  MessageDesk& messages;
  Admissions& admissions;
  BegunLeases& begun;
  HypervisorWriter& hypervisors;
  Settler& settler;
  observe::PrometheusObservations& observations;
  FailingNodes& failing;
  NodeReports& reports;
  NodeMeters& meters;
  io::Log log;
  // Told of each move of a node by our write.
  std::function<void(const kube::Node& node, const Moved& moved)> moved;
};

class NodeLane {
 public:
  explicit NodeLane(NodeLaneParts parts) : p_(std::move(parts)), acting_(p_.loop) {}

  // Hands the node's key back to the queue when it is done.
  void carry_out(std::string node, Decision decision, Basis on);
  // The node's turn is over.
  void done(const std::string& node);

 private:
  // A server's answer to the node's patch; nothing when it was not sent.
  using Answer = std::optional<kube::Result<std::string>>;

  io::Task<void> act(std::string node, Decision decision, Basis on);
  // True when the node's patch has taken effect, or still may.
  // All nodes of a fleet may wait for a slot at once: what comes after it has a frame of its own, which is not there
  // before (and which the compiler would otherwise make part of the one that waits).
  [[gnu::noinline]] io::Task<bool> write(const std::string& node, Decision& decision, const Basis& on);
  [[gnu::noinline]] io::Task<bool> is_recorded(std::string node, const Decision& decision);
  [[gnu::noinline]] io::Task<Answer> send(const std::string& node, Decision& decision, const Basis& on);
  [[gnu::noinline]] io::Task<Answer> send_in_turn(const std::string& node, Decision& decision, const Basis& on);
  io::Task<bool> take_leases(std::string node, Decision& decision);
  void retry_lease(const std::string& node, const LeaseGrab& grab);
  [[gnu::noinline]] io::Task<void> write_hypervisor(std::string node, Decision decision, Basis on);
  bool wakes_outdated(const std::string& node, const Decision& decision, const Basis& on);
  [[gnu::noinline]] io::Task<bool> refused(std::string node, const Decision& decision,
                                           const kube::Result<std::string>& answer);
  [[gnu::noinline]] io::Task<bool> find_out(std::string node, const Decision& decision,
                                            const kube::Result<std::string>& answer);
  bool took_effect(const std::string& node, const Decision& decision) const;
  void succeeded(const std::string& node, const Decision& decision);
  void gave_up(const std::string& node, const Decision& decision, const kube::ApiError& error);

  NodeLaneParts p_;
  io::Scope acting_;  // last: its tasks use the above
};

}  // namespace careen::profiles
