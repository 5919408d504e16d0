#include "lock_watch.h"

#include <fmt/format.h>

#include <utility>

#include "kube/lock_object.h"

namespace careen::explore {

using kube::Json;

std::string_view process_behind(std::string_view client) {
  if (client.ends_with(kLeaseConnection)) client.remove_suffix(kLeaseConnection.size());
  return client;
}

void LockWatch::renewal_sent(const sim::Sending& sending) {
  const auto term = terms_.find(process_behind(sending.client));
  const auto object = Json::parse(sending.request.body);
  if (term == terms_.end() || !object) return;
  const auto record = kube::lock_object(kind_).read(*object);
  term->second.renewals.emplace(record ? record->renew_time : "", time_.now());
}

void LockWatch::changed(const sim::Change& change) {
  const auto object = Json::parse(*change.object);
  const kube::LockRecord record = kube::lock_object(kind_).read(*object).value_or(kube::LockRecord{});
  holder_ = change.type == sim::Change::Type::deleted ? std::string() : record.holder;
  const auto term = terms_.find(process_behind(change.by));
  if (term == terms_.end() || holder_ != term->second.identity) return;
  const auto sent = term->second.renewals.find(record.renew_time);
  if (sent != term->second.renewals.end()) term->second.renewed = sent->second;
  term->second.renewals.clear();
}

// Somebody who takes the lock away by hand does so without its holder's knowing.
bool LockWatch::was_tampered_with(const Term& term) const {
  return tampered_ && term.renewed && *tampered_ >= *term.renewed;
}

std::string LockWatch::objection(std::string_view process, io::Duration timeout) const {
  const Term& term = terms_.find(process)->second;
  if (!term.renewed) return "without ever having held the lock";
  const io::Duration age = time_.now() - *term.renewed;
  if (age > kRenewDeadline) return fmt::format("{} after its last renewal", io::format_duration(age));
  if (age + timeout > kLeaseDuration) {
    return fmt::format("with a time-out of {}, {} after its last renewal", io::format_duration(timeout),
                       io::format_duration(age));
  }
  if (was_tampered_with(term) || holder_ == term.identity) return {};
  return fmt::format("while the lock was held by \"{}\"", holder_);
}

bool LockWatch::may_be_lost(std::string_view process) const {
  const Term& term = terms_.find(process)->second;
  if (!term.renewed) return false;
  return was_tampered_with(term) || holder_ != term.identity || time_.now() - *term.renewed >= kRenewDeadline;
}

}  // namespace careen::explore
