// Transitions that take more than one write, and writes whose end is not known: what has begun is brought to an end,
// by this process or by the one that takes over from it.
#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "controllers/profiles/config.h"
#include "controllers/profiles/controller_meters.h"
#include "controllers/profiles/data.h"
#include "controllers/profiles/drains.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/stagger_leases.h"
#include "io/problems.h"
#include "kube/client.h"
#include "kube/decode.h"
#include "kube/json.h"

namespace careen::profiles {

using io::Task;

namespace {
constexpr io::Duration kFirstSettlePause = io::seconds{1};
constexpr io::Duration kLongestSettlePause = io::seconds{10};
// The API server ends every request after a minute, and proxies do so sooner or not much later: what has not been
// applied by then never will be.
constexpr io::Duration kLongestFlight = io::minutes{10};

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

// False when the transition cannot continue; then the node has to be decided again, or the reason has been reported. A
// node that moves after its lease has run out moves beside the next one that takes it: the decision ends with the
// lease.
Task<bool> Controller::take_leases(std::string key, Decision& decision) {
  for (const LeaseGrab& grab : decision.effects.leases) {
    const io::Wall acquired = in_microseconds(decision.admission()->since);
    // Whether or not the answer comes, it may be ours from now on.
    begun_with(key, grab.key()).acquired.push_back(acquired);
    const io::Wall held_until = io::add(in_microseconds(p_.loop.wall_now()), grab.duration);
    const auto outcome = co_await taker_.take(grab, key, acquired);
    if (!outcome && outcome.error().not_leader()) {  // nothing was sent
      queue_.wake_after_failure(key);
      co_return false;
    }
    if (!outcome) {
      give_up(key, decision);
      failed(key, outcome.error());
      co_return false;
    }
    if (*outcome == LeaseTaker::Outcome::lost) {
      retry_lease(key, grab);
      co_return false;
    }
    decision.effects.valid_until = std::min(decision.effects.valid_until.value_or(held_until), held_until);
    begun_with(key, grab.key()).acquired = {acquired};
    lease_facts_.begin(grab.key(), key, acquired);
  }
  co_return true;
}

Controller::Begun& Controller::begun_with(const std::string& key, const std::string& lease) {
  std::vector<Begun>& begun = begun_[key];
  const auto known = std::find_if(begun.begin(), begun.end(), [&](const Begun& other) { return other.lease == lease; });
  return known != begun.end() ? *known : begun.emplace_back(Begun{lease, {}, false});
}

// If the lease has changed, the node is decided again at once; if it is the same, only time can help.
void Controller::retry_lease(const std::string& key, const LeaseGrab& grab) {
  const kube::Lease* lease = p_.leases.find(grab.key());
  if ((lease ? lease->version : 0) == grab.version) {
    queue_.wake_after_failure(key);
  } else {
    queue_.wake(key);
  }
}

// The transition has happened, or may have: its leases are spent and run out by themselves.
void Controller::spend(const std::string& key) {
  const auto found = begun_.find(key);
  if (found == begun_.end()) return;
  const std::vector<Begun> begun = std::move(found->second);
  begun_.erase(found);
  for (const Begun& lease : begun) {
    lease_facts_.ended(lease.lease);
    lease_facts_.give_back(lease.lease);
    lease_changed(lease.lease);
  }
}

void Controller::withdraw(const std::string& key, const std::vector<LeaseGrab>& kept) {
  const auto found = begun_.find(key);
  if (found == begun_.end()) return;
  const auto is_kept = [&](const Begun& lease) {
    return std::any_of(kept.begin(), kept.end(), [&](const LeaseGrab& grab) { return grab.key() == lease.lease; });
  };
  const auto end = std::partition(found->second.begin(), found->second.end(), is_kept);
  const std::vector<Begun> ended(end, found->second.end());
  found->second.erase(end, found->second.end());
  if (found->second.empty()) begun_.erase(found);
  for (const Begun& lease : ended) {
    lease_facts_.ended(lease.lease);
    lease_facts_.give_back(lease.lease);
    if (!lease.acquired.empty() && !lease.may_be_used)
      acting_.spawn(taker_.give_back(lease.lease, key, lease.acquired));
    lease_changed(lease.lease);
  }
}

// What a predecessor's transition had taken stays with the node for its next decision, unless the node has moved.
// It is no longer known whether a node that is gone moved before it went: its leases are left to run out. What is
// written on a node is no proof either: only the ledger shows that a lease is unused.
Task<void> Controller::inherit(budget::Admission admission) {
  // Our cache may not have heard of the predecessor's last writes.
  for (const budget::HeldLease& lease : admission.leases) co_await taker_.read(lease.key);
  p_.ledger.settled(admission.uid);
  const kube::Node* node = p_.nodes.find(admission.node);
  const bool gone = !node || node->uid != admission.uid;
  // The move would have ended the cordon that it begins with.
  const bool drains = !gone && has_begun(*node);
  const bool unused = drains && admission.drains;
  const bool leased = !gone && !admission.leases.empty() && !has_moved_since(*node, admission.leases.front().acquired);
  const bool begun = p_.ledger.has(admission.uid) && (drains || leased);
  if (!begun) {
    finish(admission.uid);
    refresh_occupancy(admission.node);
    co_return;
  }
  if (!unused && !leased) co_return;
  for (const budget::HeldLease& lease : admission.leases) {
    // However long it takes, nobody else gets the lease.
    if (drains) lease_facts_.take(lease.key, admission.node);
    Begun& with = begun_with(admission.node, lease.key);
    with.acquired = {lease.acquired};
    with.may_be_used = !unused;
    lease_facts_.begin(lease.key, admission.node, lease.acquired);
  }
}

// What each profile wants is a write of its own: a refusal of one holds back no other. The next decision finds the
// refusal and charges it to the profile; what has been taken for the others stays taken.
Task<bool> Controller::write_hypervisor(std::string key, const Decision& decision, const Basis& on) {
  std::map<std::string, kube::Json> patches;  // by profile
  for (const auto& [field, wish] : decision.effects.hypervisor) {
    patches.try_emplace(wish.profile, kube::Json::object()).first->second.set({"spec", field}, wish.value);
  }
  for (const auto& [profile, patch] : patches) {
    const auto answer = co_await write(kHypervisorResource, key, patch.dump(), decision, on);
    if (answer) {
      hypervisor_written(key, profile, decision, *answer);
      continue;
    }
    if (answer.error().not_leader()) {
      queue_.wake_after_failure(key);
      co_return false;
    }
    const bool moot = answer.error().too_late() || budget::PauseGuard::interrupted(answer.error());
    if (!moot) hypervisor_facts_.refuse(key, profile, {answer.error().message, next_try()});
    queue_.wake(key);
    co_return false;
  }
  co_return true;
}

void Controller::hypervisor_written(const std::string& key, const std::string& profile, const Decision& decision,
                                    const std::string& answer) {
  hypervisor_facts_.accept(key, profile);
  auto object = kube::decode_object(answer);
  if (!object) return;
  for (const auto& [field, wish] : decision.effects.hypervisor) {
    if (wish.profile == profile) hypervisor_facts_.told(key, object->version, field, wish.value);
  }
  p_.hypervisors.put(std::move(*object));
}

// When what has failed is tried again. Without a time in the configuration only changes bring a node back; but not at
// once.
io::Wall Controller::next_try() const {
  constexpr io::Duration kWithoutRequeue = io::minutes{1};
  const io::Duration pause = config_->requeue > io::Duration{0} ? config_->requeue : kWithoutRequeue;
  return io::add(p_.loop.wall_now(), pause);
}

// A chain that continues with a drain may change nothing but the hypervisor.
Task<void> Controller::tell_hypervisor(std::string key, Decision decision, Basis on) {
  const auto slot = co_await slots_for(key).acquire();
  if (!outdated(key, decision, on) && !co_await write_hypervisor(key, decision, on)) co_return;
  queue_.wake(key);
}

Task<Controller::Fate> Controller::settle_in_time(std::string name, std::string uid,
                                                  std::optional<uint64_t> precondition) {
  const io::Steady over = p_.loop.now() + kLongestFlight;
  for (io::Duration pause = kFirstSettlePause;; pause = std::min<io::Duration>(2 * pause, kLongestSettlePause)) {
    const Fate fate = co_await settle(name, uid, precondition);
    if (fate == Fate::over || fate == Fate::never) co_return fate;
    if (fate == Fate::pending && p_.loop.now() >= over) {
      p_.log.warn(
          "a write without an answer has not been applied for so long that it is taken for lost; its place is free",
          "node", name, "after", io::format_duration(kLongestFlight));
      co_return Fate::over;
    }
    co_await io::sleep_for(p_.loop, pause);
  }
}

Task<Controller::Fate> Controller::settle(std::string name, std::string uid, std::optional<uint64_t> precondition) {
  const auto found = co_await p_.client.get(kube::resources::nodes, "", name);
  if (!found) {
    if (found.error().not_found()) co_return Fate::over;
    report_unsettled(name, found.error());
    co_return Fate::unread;
  }
  if (!enter_world(*found)) co_return Fate::unread;
  const kube::Node* node = p_.nodes.find(name);
  if (!node || node->uid != uid) co_return Fate::over;
  // Any change since makes the late write conflict.
  if (precondition && node->version != *precondition) co_return Fate::over;
  if (!precondition && is_where_it_was_admitted_to(name, uid)) co_return Fate::over;
  kube::Json touch = kube::Json::object();
  touch.set({"metadata", "resourceVersion"}, std::to_string(node->version));
  touch.set({"metadata", "annotations", kTouchAnnotation}, io::format_rfc3339(p_.loop.wall_now()));
  const auto touched = co_await p_.client.patch(kube::resources::nodes, "", name, kube::PatchType::merge, touch.dump());
  if (touched) {
    meters_->writes("touch").add();
    enter_world(*touched);
    co_return precondition ? Fate::never : Fate::over;
  }
  if (touched.error().not_found()) co_return Fate::over;
  if (!touched.error().conflict()) report_unsettled(name, touched.error());
  co_return Fate::pending;
}

bool Controller::is_where_it_was_admitted_to(const std::string& name, const std::string& uid) const {
  const auto entry = p_.ledger.entries().find(uid);
  if (entry == p_.ledger.entries().end() || !entry->second.admission.counts) return false;
  const Occupancy::Members& members = occupancy_.members({});
  const auto member = members.find(name);
  return member != members.end() && member->second.in_state;
}

void Controller::report_unsettled(const std::string& node, const kube::ApiError& error) {
  p_.problems.raise("write node/" + node,
                    fmt::format("it is not known whether the last write of node {} took effect: {}; the node is left "
                                "alone and keeps its place until it is",
                                node, error.message));
}

// Also of a ledger that could not be read at first.
Task<void> Controller::settle_all_inherited() {
  for (;;) {
    for (const auto& [uid, entry] : p_.ledger.entries()) {
      if (!entry.inherited || !settling_.insert(uid).second) continue;
      refresh_occupancy(entry.admission.node);
      acting_.spawn(settle_inherited(entry.admission));
    }
    co_await p_.ledger.inherited().wait();
  }
}

Task<void> Controller::settle_inherited(budget::Admission admission) {
  co_await settle_in_time(admission.node, admission.uid, std::nullopt);
  p_.problems.clear("write node/" + admission.node);
  co_await inherit(admission);
  settling_.erase(admission.uid);
  queue_.wake(admission.node);
}

}  // namespace careen::profiles
