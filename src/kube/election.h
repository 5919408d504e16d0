// Leader election on a Lease, compatible with client-go: two programs that use the same lock never lead at once.
// The clock of a leader is the moment its last successful renewal was *sent*; whatever it sends must be over
// before another may take the lock.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "io/loop.h"
#include "io/problems.h"
#include "io/random.h"
#include "io/sync.h"
#include "kube/client.h"

namespace careen::kube {

struct ElectionOptions {
  std::string ns;
  std::string name;
  std::string identity;  // <hostname>_<uuid>
  io::Duration lease_duration = io::seconds{15};
  io::Duration renew_deadline = io::seconds{10};
  io::Duration retry_period = io::seconds{5};
};

class Election {
 public:
  enum class State { standby, leading, lost, released };

  // `client` should have a connection of its own, so that a busy one cannot delay a renewal. It must not carry a
  // write guard.
  Election(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
           ElectionOptions options);

  // Campaigns, then renews; returns when the lock is lost (State::lost) or was released.
  io::Task<void> run();
  // Gives the lock back, so that a follower takes over at once. Stops renewing first.
  io::Task<void> release();

  State state() const { return state_; }
  bool leading() const { return state_ == State::leading; }
  io::Gate& leading_gate() { return leading_gate_; }
  // Who holds the lock as far as we know; empty if nobody.
  const std::string& holder() const { return holder_; }
  // The longest time a write sent now may take, or nullopt when none may be sent any more: nothing is sent later
  // than renew_deadline after the last renewal was sent, and everything is over lease_duration after it.
  std::optional<io::Duration> write_window() const;

 private:
  struct Record;
  io::Loop& loop_;
  Client& client_;
  io::Random& random_;
  io::Problems& problems_;
  io::Log log_;
  ElectionOptions options_;
  State state_ = State::standby;
  io::Gate leading_gate_;
  io::Gate stop_;
  std::string holder_;
  std::string resource_version_;
  io::Steady renewed_sent_{};
};

}  // namespace careen::kube
