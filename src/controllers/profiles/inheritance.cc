#include "controllers/profiles/inheritance.h"

#include <algorithm>
#include <vector>

#include "budget/ledger.h"
#include "controllers/profiles/begun_leases.h"
#include "controllers/profiles/budget_desk.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/failing_nodes.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/profile_states.h"
#include "controllers/profiles/settler.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/queue.h"

namespace careen::profiles {

using io::Task;

namespace {
// The node has moved since then, or its data are gone or spoilt and nobody can tell.
bool has_moved_since(const kube::Node& node, io::Wall then) {
  const std::string* text = node.annotation(kDataAnnotation);
  if (!text) return node.label(kStateLabel) != nullptr;
  const auto data = parse_node_data(*text);
  if (!data) return true;
  return std::any_of(data->profiles.begin(), data->profiles.end(),
                     [&](const auto& profile) { return profile.second.transition >= then; });
}
}  // namespace

Task<void> Inheritance::run() {
  for (;;) {
    for (const auto& [uid, entry] : p_.ledger.entries()) {
      if (!entry.inherited || !is_of_profile(entry.admission) || !unsettled_.insert(uid).second) continue;
      p_.desk.node_changed(entry.admission.node);
      settling_.spawn(settle_inherited(entry.admission));
    }
    co_await p_.ledger.inherited().wait();
  }
}

bool Inheritance::holds_up(std::string_view name) const {
  const kube::Node* node = p_.nodes.find(name);
  const auto entry = p_.ledger.entries().find(node ? node->uid : std::string());
  return entry != p_.ledger.entries().end() && entry->second.inherited;
}

Task<void> Inheritance::settle_inherited(budget::Admission admission) {
  UnansweredWrite write{admission.node, admission.uid};
  write.has_arrived = [this, admission] { return is_where_it_was_admitted_to(admission); };
  co_await p_.settler.settle(std::move(write));
  p_.failing.write_settled(admission.node);
  co_await inherit(admission);
  unsettled_.erase(admission.uid);
  p_.queue.wake(admission.node);
}

bool Inheritance::is_where_it_was_admitted_to(const budget::Admission& admission) const {
  const auto entry = p_.ledger.entries().find(admission.uid);
  if (entry == p_.ledger.entries().end() || !entry->second.admission.counts) return false;
  const budget::Occupancy::Members& members = p_.desk.occupancy().members({});
  const auto member = members.find(admission.node);
  return member != members.end() && member->second.in_state;
}

// What a predecessor's transition had taken stays with the node for its next decision, unless the node has moved.
// It is no longer known whether a node that is gone moved before it went: its leases are left to run out. What is
// written on a node is no proof either: only the ledger shows that a lease is unused.
Task<void> Inheritance::inherit(budget::Admission admission) {
  std::vector<std::string> leases;
  for (const budget::HeldLease& lease : admission.leases) leases.push_back(lease.key);
  co_await p_.leases.look(std::move(leases));
  p_.ledger.settled(admission.uid);
  const kube::Node* node = p_.nodes.find(admission.node);
  const bool gone = !node || node->uid != admission.uid;
  // The move would have ended the cordon that it begins with.
  const bool drains = !gone && has_begun(*node);
  const bool unused = drains && admission.drains;
  const bool leased = !gone && !admission.leases.empty() && !has_moved_since(*node, admission.leases.front().acquired);
  const bool begun = p_.ledger.has(admission.uid) && (drains || leased);
  if (!begun) {
    p_.desk.finish(admission.uid);
    p_.desk.node_changed(admission.node);
  } else if (unused || leased) {
    p_.leases.inherit(admission, unused ? BegunLeases::Use::none : BegunLeases::Use::possible, drains);
  }
}

}  // namespace careen::profiles
