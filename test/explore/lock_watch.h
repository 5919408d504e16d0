// A lock of careen's as it is in the cluster: who holds it, and since when each process may rely on it. Its clock runs
// from the moment at which the last renewal that took effect was sent.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "io/virtual_time.h"
#include "kube/lock_kind.h"
#include "sim/api_server.h"
#include "sim/network.h"

namespace careen::explore {

inline constexpr io::Duration kRenewDeadline = io::seconds{10};
inline constexpr io::Duration kLeaseDuration = io::seconds{15};
inline constexpr std::string_view kLeaseConnection = "/lease";

// The process behind a connection.
std::string_view process_behind(std::string_view client);

class LockWatch {
 public:
  LockWatch(const io::VirtualTime& time, kube::LockKind kind) : time_(time), kind_(kind) {}

  void started(std::string_view process, const std::string& identity) { terms_[std::string(process)] = {identity}; }
  // Somebody else writes it.
  void tampered() { tampered_ = time_.now(); }
  // By a process, over the connection that is kept for it.
  void renewal_sent(const sim::Sending& sending);
  void changed(const sim::Change& change);

  const std::string& holder() const { return holder_; }
  // What speaks against a process' sending something that may take so long; empty: nothing.
  std::string objection(std::string_view process, io::Duration timeout) const;
  // The process has a reason to give up: it cannot rely on the lock, or does not hold it.
  bool may_be_lost(std::string_view process) const;

 private:
  struct Term {
    std::string identity;
    std::map<std::string, io::Steady> renewals = {};  // when they were sent, by renewTime
    std::optional<io::Steady> renewed = {};           // when the last one that took effect was sent
  };
  bool was_tampered_with(const Term& term) const;

  const io::VirtualTime& time_;
  kube::LockKind kind_;
  std::map<std::string, Term, std::less<>> terms_;  // by process
  std::string holder_;
  std::optional<io::Steady> tampered_;
};

}  // namespace careen::explore
