// The part of the invariants that is about limits of profiles: who was let in before whom, and with which limit.
#include <fmt/format.h>

#include <algorithm>

#include "controllers/profiles/names.h"
#include "invariants.h"

namespace careen::explore {

Limit Invariants::limit_for(const Plan& plan, const std::string& zone, io::Steady decided) const {
  Limit limit = plan.limit;
  if (limit.percent == 0) return limit;
  std::string fact = fmt::format("size {}", limit.by_zone ? zone : "");
  if (limit.own_profile) fact += " " + plan.name;
  limit.max = std::max(1, largest(fact, decided) * limit.percent / 100);
  return limit;
}

void Invariants::admit(const sim::Change& change, Process& process, const Plan& plan, const NodeFacts& after) {
  const io::Wall since = after.profile(plan.name)->transition;
  const io::Steady decided = decided_at(process, since);
  // What was in a ledger that somebody deleted, the next leader does not know; that is the price of deleting it.
  const bool forgotten = ledger_missing_ || (ledger_back_ && decided <= *ledger_back_);
  if (forgotten && ledger_writer_ != process.identity) return;
  // Nor does a process that has created it again know that somebody had taken the lock from it by hand.
  const bool unfenced = lock_tampered_ && ledger_back_ && *lock_tampered_ <= *ledger_back_;
  if (unfenced && lock_holder_ != process.identity) return;
  const std::string zone = after.label(kZone);
  admitted_[change.name] = {plan.name, change.by, decided, since, limit_for(plan, zone, decided), zone, false};
  check_limits();
}

bool Invariants::counts_for(const Admitted& asking, const std::string& node, const Admitted& other) const {
  if (&asking == &other || other.altered || other.decided > asking.decided) return false;
  // In the same instant: whichever of two profiles came first, the limit of the first did not count the second.
  if (other.decided == asking.decided && other.profile != asking.profile) return false;
  const NodeFacts& facts = nodes_.find(node)->second;
  if (asking.limit.by_zone && !asking.zone.empty() && facts.label(kZone) != asking.zone) return false;
  if (asking.limit.own_profile) {
    const auto names = facts.named_profiles();
    if (!facts.labelled(profiles::kProfileLabel)) return false;
    if (std::find(names.begin(), names.end(), asking.profile) == names.end()) return false;
  }
  // A limit on one profile with skipAfter takes the age from that profile, even for a node that another profile keeps.
  if (asking.limit.skip_after > io::Duration{0} && asking.limit.own_profile && other.profile != asking.profile) {
    return false;
  }
  return asking.limit.skip_after <= io::Duration{0} || other.since + asking.limit.skip_after > asking.since;
}

// A node in maintenance was let in when those let in before it, and still in, left a place. Late writes arrive in any
// order, so all nodes are looked at again.
void Invariants::check_limits() {
  for (const auto& [name, asking] : admitted_) {
    if (asking.altered || asking.limit.max > static_cast<int>(admitted_.size())) continue;
    int others = 0, max = asking.limit.max;
    std::string who;
    for (const auto& [node, other] : admitted_) {
      if (!counts_for(asking, node, other)) continue;
      ++others;
      who += fmt::format(" {} (let in by {} at {})", node, other.process,
                         io::format_duration(other.decided.time_since_epoch()));
      // Decided in the same instant, perhaps on both sides of a change of the limit.
      if (other.decided == asking.decided && other.profile == asking.profile) max = std::max(max, other.limit.max);
    }
    if (others < max) continue;
    violate("limit", fmt::format("node {} was let into maintenance by {} at {} over a limit of {}, with{}", name,
                                 asking.process, io::format_duration(asking.decided.time_since_epoch()), max, who));
    return;
  }
}

}  // namespace careen::explore
