// What a replica knows of pauses: it follows the one Lease whose annotation says what somebody has stopped, and reports
// it in the log, in a metric and, while it is the replica that decides, by events on the Lease.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "budget/pause.h"
#include "io/sync.h"
#include "kube/cluster.h"
#include "kube/events.h"
#include "kube/objects.h"
#include "kube/steady_refusal.h"

namespace careen::replica {

struct PauseWatchParts {
  kube::Cluster& cluster;
  kube::EventRecorder& events;
  io::Log log;
};

struct PauseWatchOptions {
  std::string ns;
  std::string identity;  // in events
  // One refusal proves nothing, so it has to last for minutes; unless it is known from elsewhere that the right is
  // missing.
  bool patient = true;
};

class PauseWatch {
 public:
  // `writes_events`: whether this replica is the one that tells the cluster of it.
  PauseWatch(PauseWatchParts parts, PauseWatchOptions options, std::function<bool()> writes_events);
  PauseWatch(const PauseWatch&) = delete;
  PauseWatch& operator=(const PauseWatch&) = delete;

  // Until cancelled.
  io::Task<void> run();
  // Resumes when it is known what is paused at this moment or later. Without the right to read it that is never known:
  // when minutes of steady refusal have shown that, what was paused when it was last read stays so, and a problem says
  // so.
  io::Task<void> fresh();

  budget::Pauses& pauses() { return pauses_; }
  const budget::Pauses& pauses() const { return pauses_; }

 private:
  std::string place() const;
  const kube::Lease* known_lease() const;
  void read_anew();
  io::Task<void> look_why_not();
  void stand_still(const kube::ApiError& error);
  void go_on_without(const kube::ApiError& error);
  void take(const kube::Lease* lease);
  void announce();
  void tell(const budget::Pause& pause);
  void tell_resumed(const budget::Pause& pause);
  void record(std::string reason, std::string note);

  PauseWatchParts p_;
  io::Loop& loop_;
  PauseWatchOptions options_;
  std::function<bool()> writes_events_;
  budget::Pauses pauses_;
  kube::Watched<kube::Lease> lease_;
  io::Gate known_;
  kube::SteadyRefusal refusals_;
  bool unread_ = true;                         // what is known is too old
  io::Gate refused_;                           // the right to read it is missing
  std::map<std::string, budget::Pause> told_;  // by profile
  io::Subscription lease_changes_;
  std::string uid_;  // of the Lease, as it was last seen
};

}  // namespace careen::replica
