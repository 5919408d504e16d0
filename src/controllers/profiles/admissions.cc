#include "controllers/profiles/admissions.h"

#include <utility>
#include <variant>

#include "budget/ledger.h"
#include "controllers/profiles/begun_leases.h"
#include "controllers/profiles/budget_desk.h"
#include "controllers/profiles/decision.h"
#include "observe/prometheus_observations.h"

namespace careen::profiles {

void Admissions::reserve(const std::string& node, const Decision& decision) {
  if (decision.keeps()) {
    use_up(node, decision);
    if (const auto* const continued = std::get_if<place::Continued>(&decision.place)) {
      renew(continued->admission);
    }
    return;
  }
  if (std::holds_alternative<place::Open>(decision.place) && leases_.has(node)) return;
  leases_.reserve(node, decision.effects.leases);
  use_up(node, decision);
  if (const budget::Admission* const admission = decision.admission()) {
    desk_.reserve(*admission);
  } else {
    release(node, decision.uid);
  }
}

void Admissions::use_up(const std::string& node, const Decision& decision) {
  if (rehearses_) return;
  for (const observe::PrometheusQuery& source : decision.effects.observed) observations_.use_up(source, node);
}

// What a transition that continues has taken stays taken.
void Admissions::renew(const budget::Admission& lost) {
  budget::Admission admission = lost;
  if (const auto known = ledger_.entries().find(lost.uid); known != ledger_.entries().end()) {
    const budget::Admission& entered = known->second.admission;
    if (entered.counts == lost.counts) return;
    admission.leases = entered.leases;
    admission.drains = entered.drains;
  }
  desk_.reserve(std::move(admission));
}

void Admissions::carried_out(const std::string& node, const Decision& decision) {
  // Any other write leaves what has begun as it is.
  if (!std::holds_alternative<place::Used>(decision.place)) return;
  leases_.spend(node);
  release(node, decision.uid);
}

void Admissions::give_up(const std::string& node, const Decision& decision) {
  if (!decision.keeps()) release(node, decision.uid);
}

void Admissions::release(const std::string& node, const std::string& uid) {
  leases_.withdraw(node);
  if (!ledger_.has(uid)) return;
  desk_.finish(uid);
  desk_.node_changed(node);
}

}  // namespace careen::profiles
