// Drains of the profiles: the engine runs what the latest decision of a node wants, and says when a decision could
// change.
#include <algorithm>

#include "budget/ledger.h"
#include "controllers/profiles/controller.h"
#include "drain/engine.h"

namespace careen::profiles {

void Controller::keep(const std::string& key, const Decision& decision) {
  if (!options_.dry_run) {
    for (const observe::PrometheusQuery& source : decision.effects.observed) observations_.use_up(source, key);
  }
  const auto* const continued = std::get_if<place::Continued>(&decision.place);
  if (!continued) return;
  const auto known = p_.ledger.entries().find(decision.uid);
  if (known != p_.ledger.entries().end() && known->second.admission.counts == continued->admission.counts) return;
  budget::Admission admission = continued->admission;
  if (known != p_.ledger.entries().end()) {
    admission.leases = known->second.admission.leases;
    admission.drains = known->second.admission.drains;
  }
  p_.ledger.reserve(std::move(admission));
  refresh_occupancy(key);
}

void Controller::follow_drains(const std::string& key, const Decision& decision) {
  // Nothing was decided.
  if (!p_.engine || options_.dry_run || decision.needs_document()) return;
  for (const DrainWanted& wanted : decision.effects.drains) begin_drain(key, decision.uid, wanted);
  const auto found = draining_.find(key);
  if (found == draining_.end()) return;
  std::erase_if(found->second, [&](const auto& entry) {
    const std::string& owner = entry.first;
    const bool wanted = std::any_of(decision.effects.drains.begin(), decision.effects.drains.end(),
                                    [&](const DrainWanted& one) { return one.owner == owner; });
    const bool undecided = std::find(decision.effects.drains_left.begin(), decision.effects.drains_left.end(), owner) !=
                           decision.effects.drains_left.end();
    // A drain of a node that has since been created again belongs to nobody any more.
    const bool stays = entry.second.node_uid == decision.uid && (wanted || undecided);
    if (!stays) p_.engine->end({key, owner});
    return !stays;
  });
  if (found->second.empty()) draining_.erase(found);
}

void Controller::begin_drain(const std::string& key, const std::string& uid, const DrainWanted& wanted) {
  std::map<std::string, Draining>& running = draining_[key];
  const auto known = running.find(wanted.owner);
  if (known != running.end() && known->second.node_uid != uid) known->second = {};
  if (known == running.end() || known->second.node_uid != uid || known->second.options != wanted.options) {
    p_.engine->begin({key, wanted.owner}, uid, wanted.options);
    running[wanted.owner].node_uid = uid;
    running[wanted.owner].options = wanted.options;
  }
  Draining& draining = running[wanted.owner];
  if (!wanted.overdue || draining.overdue_told) return;
  draining.overdue_told = true;
  report_failure(key, *wanted.overdue);
}

// A decision looks at how it ends, and not at the pods on the way.
void Controller::drain_changed(const drain::Key& key) {
  const auto node = draining_.find(key.node);
  if (node == draining_.end()) return;
  const auto draining = node->second.find(key.owner);
  if (draining == node->second.end()) return;
  const drain::Progress* const progress = p_.engine->progress(key);
  if (!progress || progress->phase == draining->second.phase) return;
  draining->second.phase = progress->phase;
  queue_.wake(key.node);
}

bool Controller::lacks_drain(const std::string& key, const Decision& decision) const {
  if (!p_.engine || options_.dry_run) return false;
  return std::any_of(decision.effects.drains.begin(), decision.effects.drains.end(),
                     [&](const DrainWanted& wanted) { return !p_.engine->has({key, wanted.owner}); });
}

}  // namespace careen::profiles
