// The part of the invariants that is about leases: the locks, the ledger, and who may write under them.
#include <fmt/format.h>

#include <algorithm>

#include "budget/ledger.h"
#include "budget/ledger_record.h"
#include "controllers/profiles/names.h"
#include "invariants.h"
#include "kube/lock_object.h"
#include "replica/controllers.h"

namespace careen::explore {

using kube::Json;
using kube::JsonView;
using profiles::State;

namespace {

std::optional<budget::LedgerRecord> ledger_in(const sim::Text& lease) {
  if (!lease) return std::nullopt;
  const auto document = Json::parse(*lease);
  if (!document) return std::nullopt;
  const auto record = budget::LedgerRecord::parse(
      (*document)["metadata"]["annotations"][budget::Ledger::kAnnotation].text().value_or(""));
  if (!record) return std::nullopt;
  return *record;
}

}  // namespace

std::shared_ptr<const budget::LedgerRecord> Invariants::ledger() const {
  const sim::Text text = api_.text(kLedgerPath);
  if (text == ledger_text_) return ledger_;
  const auto record = ledger_in(text);
  ledger_text_ = text;
  ledger_ = record ? std::make_shared<const budget::LedgerRecord>(*record) : nullptr;
  return ledger_;
}

// What a transition takes is in the ledger before it is taken, so that a successor finds it.
void Invariants::check_lease_recorded(const sim::Sending& sending, Process& process) {
  const auto body = Json::parse(sending.request.body);
  if (!body) return;
  const std::string path = sending.request.path.substr(0, sending.request.path.find('?'));
  std::string name = text_at((*body)["metadata"], "name");
  if (name.empty()) name = path.substr(path.rfind('/') + 1);
  const std::string node = text_at((*body)["spec"], "holderIdentity");
  if (!StaggerWatch::concerns(name) || node.empty()) return;
  const auto known = ledger();
  if (may_lack_ledger(process) || !known || known->writer != process.identity) return;
  const auto acquired = io::parse_rfc3339(text_at((*body)["spec"], "acquireTime"));
  const bool recorded = std::any_of(known->admitted.begin(), known->admitted.end(), [&](const auto& entry) {
    const auto& leases = entry.second.leases;
    return entry.second.node == node && std::any_of(leases.begin(), leases.end(), [&](const auto& lease) {
             return lease.key == "kube-system/" + name && acquired && lease.acquired == *acquired;
           });
  });
  if (!recorded) {
    violate("ledger",
            fmt::format("{} takes lease {} for node {} before that is in the ledger", sending.client, name, node));
  }
}

// Nothing is sent under a lease that may have ended, and everything is over before another can hold it.
void Invariants::check_leadership(const sim::Sending& sending, Process& process) {
  const auto blame = [&](std::string why) {
    violate("lease",
            fmt::format("{} sent {} {} {}", sending.client, sending.request.method, sending.request.path, why));
  };
  if (!process.renewed) return blame("without ever having held the lock");
  const io::Duration age = time_.now() - *process.renewed;
  if (age > kRenewDeadline) return blame(fmt::format("{} after its last renewal", io::format_duration(age)));
  if (age + sending.request.timeout > kLeaseDuration) {
    return blame(fmt::format("with a time-out of {}, {} after its last renewal",
                             io::format_duration(sending.request.timeout), io::format_duration(age)));
  }
  // Somebody who takes the lock away by hand does so without the holder's knowing.
  if (lock_tampered_ && *lock_tampered_ >= *process.renewed) return;
  if (lock_holder_ != process.identity) blame(fmt::format("while the lock was held by \"{}\"", lock_holder_));
}

void Invariants::further_lock_changed(const sim::Change& change, Process* process, kube::LockKind kind) {
  if (process && !change.by.ends_with(kLeaseConnection)) {
    return violate("foreign", fmt::format("{} changed the lock {}", change.by, change.name));
  }
  const auto object = Json::parse(*change.object);
  const kube::LockRecord record = kube::lock_object(kind).read(*object).value_or(kube::LockRecord{});
  std::string& holder = further_holders_[change.name];
  holder = change.type == sim::Change::Type::deleted ? "" : record.holder;
  if (!process || holder != process->identity) return;
  Process::Further& lock = process->further[change.name];
  const auto sent = lock.renewals.find(record.renew_time);
  if (sent != lock.renewals.end()) lock.renewed = sent->second;
  lock.renewals.clear();
}

// An admission is in the ledger before the node is written.
void Invariants::check_recorded(const sim::Sending& sending, Process& process) {
  const auto patch = Json::parse(sending.request.body);
  if (!patch || sending.request.method != "PATCH") return;
  const auto data = (*patch)["metadata"]["annotations"][profiles::kDataAnnotation].text();
  if (!data) return;
  const std::string path = sending.request.path.substr(0, sending.request.path.find('?'));
  const auto node = nodes_.find(path.substr(path.rfind('/') + 1));
  const auto wanted = profiles::parse_node_data(*data);
  if (node == nodes_.end() || !wanted) return;
  const std::string version = text_at((*patch)["metadata"], "resourceVersion");
  if (!version.empty() && version != text_at(node->second.document["metadata"], "resourceVersion")) return;
  for (const auto& [profile, entry] : wanted->profiles) {
    if (entry.current.known() != State::in_maintenance || node->second.state(profile) == State::in_maintenance)
      continue;
    check_admission_sent(sending, process, node->second, node->first, profile, entry.transition);
    const auto known = ledger();
    if (may_lack_ledger(process) || (known && known->writer != process.identity)) continue;
    if (!known || !known->admitted.contains(node->second.uid)) {
      violate("ledger", fmt::format("{} writes node {} into maintenance before that is in the ledger", sending.client,
                                    node->first));
    }
  }
}

void Invariants::lease_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  const bool lock = change.name == std::string_view(kLockPath).substr(std::string_view(kLockPath).rfind('/') + 1);
  const bool deleted = change.type == sim::Change::Type::deleted;
  if (!lock && change.name == "careen-ledger") return ledger_changed(change);
  const auto locks = replica::leader_locks();
  if (!lock && std::ranges::find(locks, replica::HomeObject{.name = change.name}) != locks.end()) {
    return further_lock_changed(change, process, kube::LockKind::lease);
  }
  if (change.ns == kNodeLeases) return maintenances_.lease_changed(change);
  if (StaggerWatch::concerns(change.name)) return stagger_.changed(change, process != nullptr, time_.now());
  if (change.name == kThreadLease && (!process || !deleted)) {
    if (!process) messages_.thread_lease_changed();
    return;
  }
  if (!lock || (process && (deleted || !change.by.ends_with(kLeaseConnection)))) {
    if (process) violate("foreign", fmt::format("{} changed lease {}", change.by, change.name));
    return;
  }
  const auto lease = Json::parse(*change.object);
  const JsonView spec = (*lease)["spec"];
  const std::string before = std::exchange(lock_holder_, deleted ? "" : text_at(spec, "holderIdentity"));
  if (before != lock_holder_) lock_taken_ = time_.now();
  if (!process || lock_holder_ != process->identity) return;
  const auto sent = process->renewals.find(text_at(spec, "renewTime"));
  if (sent != process->renewals.end()) process->renewed = sent->second;
  process->renewals.clear();
}

// The ledger goes from leader to leader, with a higher epoch each time.
void Invariants::ledger_changed(const sim::Change& change) {
  Process* process = process_of(change.by);
  if (!process) return;
  if (change.type == sim::Change::Type::deleted) {
    return violate("foreign", fmt::format("{} deleted the ledger", change.by));
  }
  const auto is = ledger_in(change.object);
  if (!is) return violate("ledger", fmt::format("{} wrote a ledger that cannot be read", change.by));
  if (std::exchange(ledger_writer_, is->writer) != is->writer) stagger_.succeeded();
  if (std::exchange(ledger_missing_, false)) ledger_back_ = time_.now();
  if (is->writer != process->identity) violate("ledger", fmt::format("{} wrote in the name of another", change.by));
  const auto was = ledger_in(change.before);
  if (!was) return;
  if (was->writer != is->writer ? is->epoch <= was->epoch : is->epoch < was->epoch) {
    violate("ledger",
            fmt::format("{} wrote epoch {} over epoch {} of {}", change.by, is->epoch, was->epoch, was->writer));
  }
}

}  // namespace careen::explore
