// What a replica does about those who are not careen, when it hosts the controller that keeps MaintenanceLimits: it
// answers the API server about them (turnstile), and while it leads it keeps their places and their line, and has the
// API server ask as long as some limit makes others wait.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/log.h"
#include "io/sync.h"
#include "limits/foreign_places.h"
#include "limits/webhook_state.h"
#include "turnstile/governors.h"
#include "turnstile/registration.h"
#include "turnstile/turnstile.h"
#include "web/routes.h"

namespace careen::kube {
class Cluster;
class EventRecorder;
}  // namespace careen::kube

namespace careen::replica {

struct GateParts {
  io::Loop& loop;
  kube::Cluster& cluster;
  kube::Client& client;  // writes only while this replica leads
  kube::Store<kube::Node>& nodes;
  const kube::PodStore& pods;
  limits::Desk& desk;
  limits::WebhookState& state;
  budget::Ledger& ledger;
  kube::EventRecorder& events;
  io::Metrics& metrics;
  io::Problems& problems;
  io::Random& random;
  io::Log log;
  std::string configuration;          // name of the ValidatingWebhookConfiguration
  std::string break_glass_group;      // empty: none
  std::function<bool()> leads;        // the lock is held now
  std::function<bool()> others_know;  // the controllers here have taken the places that were theirs
  std::function<void()> watch_pods;   // from now on
  std::function<bool()> knows_nodes, knows_pods;
};

class Gate {
 public:
  explicit Gate(GateParts parts);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // It must outlive them.
  std::vector<web::Route> webhooks(io::Log log);
  void served(turnstile::Reach reach);
  // On every replica, until cancelled.
  io::Task<void> run();
  // The ledger is ours, and nobody has decided yet.
  void take_over() { places_.take_over(); }
  // While this replica leads; until cancelled.
  io::Task<void> lead();

 private:
  bool decides() const;
  static io::Task<io::Result<std::string>> no_way();
  void look_whether_it_is_needed();

  // A controller that takes longer to know its own is not waited for: its nodes show what they are.
  static constexpr io::Duration kWaitsForOthers = io::seconds{60};

  GateParts p_;
  limits::ForeignPlaces places_;
  turnstile::Reach reach_;
  turnstile::Turnstile turnstile_;
  turnstile::Registration registration_;
  turnstile::Governors governors_;
  io::Subscription changes_;
  io::Gate needed_;  // some limit makes others wait, or has
  bool leading_ = false;
  io::Steady leading_since_{};
};

}  // namespace careen::replica
