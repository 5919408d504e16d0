// Leader election on a Lease, compatible with client-go: two programs that use the same lock never lead at once.
// The clock of a leader is the moment its last successful renewal was *sent*; whatever it sends must be over
// before another may take the lock. The lock is watched, so that a planned hand-over takes a moment.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/log.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"

namespace careen::io {
class Counter;
class Gauge;
class Loop;
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::kube {

class Client;
class Stream;
enum class EventType;
struct ApiError;

struct ElectionOptions {
  std::string ns;
  std::string name;
  std::string identity;  // <hostname>_<uuid>: nobody else's, ever
  io::Duration lease_duration = io::seconds{15};
  io::Duration renew_deadline = io::seconds{10};
  io::Duration retry_period = io::seconds{5};
  // Under which a lock that cannot be read or written is reported; of its own for each further lock.
  std::string problem = "leader election";
};

// One lock. A replica that needs further locks (those of the programs it replaces) makes an Election for each, and
// runs them only while it leads the first: then no two replicas ever hold some of them each.
class Election {
 public:
  // standby ─▶ leading ─▶ lost, and released from either of the first two, for good.
  enum class State { standby, leading, lost, released };

  // `client` should have a connection of its own, so that a busy one cannot delay a renewal. It must not carry a
  // write guard.
  Election(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log,
           ElectionOptions options);
  ~Election();
  Election(const Election&) = delete;
  Election& operator=(const Election&) = delete;

  // Shows leader_election_master_status{name} and leader_election_slowpath_total{name} from now on.
  void report_to(io::Metrics& metrics);
  // Called with "<identity> became leader" and "<identity> stopped leading", for the Lease's events.
  void on_event(std::function<void(std::string message)> listener) { on_event_ = std::move(listener); }

  // Campaigns, then renews; returns when the lock is lost (State::lost) or was released.
  io::Task<void> run();
  // Gives the lock back, so that a follower takes over at once. Stops renewing first, and the write window is closed
  // from this call on; what was sent before must be over. Tries for a few seconds, then the lock runs out by itself.
  io::Task<void> release();

  State state() const { return state_; }
  bool leading() const { return state_ == State::leading; }
  io::Gate& leading_gate() { return leading_gate_; }
  // Who holds the lock as far as we know; empty if nobody.
  const std::string& holder() const { return holder_; }
  // Of the Lease; empty until it was seen.
  const std::string& uid() const { return uid_; }
  // The longest time a write sent now may take, or nullopt when none may be sent any more: nothing is sent later
  // than renew_deadline after the last renewal was sent, and everything is over lease_duration after it. Also closed
  // while the lock is seen to be gone or another's.
  std::optional<io::Duration> write_window() const;

 private:
  struct Record;  // the Lease as the server last showed it
  struct Running;
  // A write of ours whose fate is open: its answer has not come, or said nothing. The Lease tells by renewTime
  // whether it took effect.
  struct Attempt {
    std::string renew_time;
    std::string base_version;
    io::Steady sent;
  };
  enum class Outcome { held, taken, conflict, failed };

  io::Task<void> work();
  io::Task<void> campaign();
  io::Task<void> chance();
  io::Task<void> keep();
  io::Task<void> follow();
  io::Task<void> read_events(Stream& stream);

  io::Task<Outcome> attempt(bool read);
  io::Task<Outcome> claim();
  io::Task<bool> hand_back();
  io::Task<std::optional<ApiError>> read();

  bool take_event(EventType type, std::string_view lease);
  bool older_than_known(const Record& record) const;
  void observe(std::unique_ptr<Record> record);
  void vanish();
  io::Steady claimable_at() const;
  io::Duration call_limit() const;
  io::Task<void> changed_or(io::Steady when);
  io::Duration jittered(io::Duration d);
  std::string stamp();
  void become(State next, std::string_view why);
  void complain(const ApiError& error);

  io::Loop& loop_;
  Client& client_;
  io::Random& random_;
  io::Problems& problems_;
  io::Log log_;
  ElectionOptions options_;
  io::Gauge* master_status_ = nullptr;
  io::Counter* slow_path_ = nullptr;
  std::function<void(std::string)> on_event_;

  State state_ = State::standby;
  std::optional<int> complained_;  // of which kind of error
  io::Gate leading_gate_;
  io::Gate ended_;
  io::Signal changed_;            // the watch has shown something, or has ended
  io::Scope* running_ = nullptr;  // of run()
  bool watching_ = false;
  bool doubtful_ = false;  // the watch has shown another holder since we last read

  std::unique_ptr<Record> record_;  // null when there is no Lease
  io::Steady observed_{};           // since when we have seen this spec, on our clock
  io::Steady guarded_until_{};      // a Lease that vanished protects its holder as long as if it had stayed
  std::string holder_;
  std::string uid_;
  std::vector<Attempt> open_attempts_;
  io::Steady renewed_sent_{};
  io::Wall last_stamp_{};
};

}  // namespace careen::kube
