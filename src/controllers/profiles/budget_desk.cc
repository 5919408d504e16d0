#include "controllers/profiles/budget_desk.h"

#include <utility>
#include <variant>

#include "budget/ledger.h"
#include "controllers/profiles/decision.h"
#include "controllers/profiles/stagger_leases.h"
#include "io/overloaded.h"
#include "io/steady_at.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "observe/prometheus_observations.h"

namespace careen::profiles {

namespace {

// A place may become free without any change in the cluster: a maintenance grows too old to count, or a lease runs out.
bool frees_itself(const budget::Key& key) {
  const auto* const nodes = std::get_if<budget::NodePlaces>(&key);
  return nodes ? nodes->skip_after > io::Duration{0} : std::holds_alternative<budget::LeasePlaces>(key);
}

}  // namespace

BudgetDesk::BudgetDesk(io::Loop& loop, Places places, std::function<void(const std::string&)> wake)
    : loop_(loop),
      places_(places),
      wake_(std::move(wake)),
      occupancy_(places_.nodes, places_.ledger, states_),
      limit_places_(loop_, places_.limits, {places_.nodes, places_.ledger, occupancy_, states_}, wake_) {}

void BudgetDesk::rebuild() {
  occupancy_.rebuild();
  limit_places_.rebuild(config_);
}

void BudgetDesk::set_config(const Config& config) {
  config_ = &config;
  states_.set_config(config);
  rebuild();
  waiters_.clear();
  alarms_.clear();
}

void BudgetDesk::wait(const std::string& node, const Waits& waits) {
  limit_places_.wait(node, waits.limits);
  for (const budget::Key& offered : waiters_.update(node, waits.places, waits.rises)) offer(offered);
  for (const budget::Wait& wait : waits.places) {
    if (const auto alarm = alarms_.find(wait.key); alarm == alarms_.end() || !alarm->second->pending()) {
      follow_age(wait.key);
    }
  }
}

void BudgetDesk::node_changed(std::string_view node) {
  const budget::Occupancy::Changes changes = occupancy_.update(node);
  limit_places_.update(node);
  for (const budget::Scope& scope : changes.left) {
    for (const budget::Key& key : waiters_.waited_for(scope)) offer(key);
  }
  for (const auto* scopes : {&changes.left, &changes.joined, &changes.altered}) {
    for (const budget::Scope& scope : *scopes) {
      for (const budget::Key& key : waiters_.waited_for(scope)) follow_age(key);
    }
  }
  for (const budget::Scope& scope : changes.joined) {
    for (const std::string& waiting : waiters_.waiting_for_rise(scope)) wake_(waiting);
  }
}

void BudgetDesk::lease_changed(const std::string& key) {
  const auto belongs = [&](const budget::Key& budget) {
    const auto* const leases = std::get_if<budget::LeasePlaces>(&budget);
    return leases && key.starts_with(leases->group) && key[leases->group.size()] == '-';
  };
  for (const budget::Key& budget : waiters_.waited_for_if(belongs)) {
    offer(budget);
    follow_age(budget);
  }
}

void BudgetDesk::observation_changed(const observe::PrometheusQuery& source) { offer(budget::ObservedValue{source}); }

void BudgetDesk::reserve(budget::Admission admission) {
  const std::string node = admission.node;
  places_.ledger.reserve(std::move(admission));
  node_changed(node);
}

void BudgetDesk::finish(const std::string& uid) {
  places_.ledger.finish(uid);
  offer(budget::LedgerRoom{});
}

void BudgetDesk::offer(const budget::Key& key) {
  if (waiters_.waiting(key) == 0) return;
  for (const std::string& node : waiters_.offer(key, measure_use(key).free())) wake_(node);
}

budget::Use BudgetDesk::measure_use(const budget::Key& key) const {
  const io::Wall now = loop_.wall_now();
  return std::visit(io::Overloaded{
                        [&](const budget::NodePlaces& places) { return measure(occupancy_, places, now); },
                        [&](const budget::LeasePlaces& leases) { return measure(places_.leases, leases, now); },
                        [&](const budget::ObservedValue& value) {
                          const bool arrived =
                              places_.observations.state(value.source, now).kind != observe::ObservationKind::pending;
                          return budget::Use{.used = arrived ? 0 : 1, .max = 1};
                        },
                        [&](budget::LedgerRoom) { return budget::Use{.used = 0, .max = places_.ledger.room()}; },
                    },
                    key);
}

void BudgetDesk::follow_age(const budget::Key& key) {
  if (!frees_itself(key) || waiters_.waiting(key) == 0) return;
  const budget::Use use = measure_use(key);
  if (!use.free_at) return;
  auto& alarm = alarms_[key];
  if (!alarm) {
    alarm = std::make_unique<io::Alarm>(loop_, [this, key] {
      offer(key);
      follow_age(key);
    });
  }
  alarm->set(io::steady_at(loop_, *use.free_at));
}

}  // namespace careen::profiles
