// A lock in the cluster that says which program may write: what all kinds of it share. A lock is campaigned for, kept,
// and given back; the clock of its holder is the moment the last request that proved it was *sent*, and whatever the
// holder sends must be over before another may take the lock. The object is watched, so that a planned hand-over takes
// a moment. Election renews a record; LeaderForLife holds what its Pod owns; Locks puts several in order.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "io/log.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/resource.h"

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
struct CallOptions;
struct ObjectReference;

struct LockTiming {
  io::Duration lease_duration = io::seconds{15};
  io::Duration renew_deadline = io::seconds{10};
  io::Duration retry_period = io::seconds{5};
};

class Lock {
 public:
  // standby ─▶ leading ─▶ lost, and released from either of the first two, for good.
  enum class State { standby, leading, lost, released };

  virtual ~Lock();
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  // Shows leader_election_master_status{name} and leader_election_slowpath_total{name} from now on.
  void report_to(io::Metrics& metrics);
  // Called with "<identity> became leader" and "<identity> stopped leading", for the object's events.
  void on_event(std::function<void(std::string message)> listener) { on_event_ = std::move(listener); }

  // Campaigns, then keeps it; returns when the lock is lost (State::lost) or was released.
  io::Task<void> run();
  // Gives the lock back, so that a follower takes over at once. Stops keeping it first, and the write window is closed
  // from this call on; what was sent before must be over. Tries for a few seconds; then the lock ends by itself.
  io::Task<void> release();

  State state() const { return state_; }
  bool leading() const { return state_ == State::leading; }
  io::Gate& leading_gate() { return leading_gate_; }
  // Who holds the lock as far as we know; empty if nobody.
  const std::string& holder() const { return holder_; }
  const std::string& ns() const { return place_.ns; }
  const std::string& name() const { return place_.name; }
  // Of its object; empty until it was seen.
  const std::string& uid() const { return uid_; }
  // Its object, as events refer to it.
  ObjectReference reference() const;
  // The longest time a write sent now may take, or nullopt when none may be sent any more: nothing is sent later
  // than renew_deadline after the last proof was sent, and everything is over lease_duration after it. Also closed
  // while the lock is seen to be gone or another's.
  std::optional<io::Duration> write_window() const;

 protected:
  struct Place {
    Resource resource;
    std::string noun;  // in messages: "lease"
    std::string ns;
    std::string name;
  };
  enum class Outcome { held, taken, conflict, failed };

  // `client` should have a connection of its own, so that a busy one cannot delay a renewal. It must not carry a
  // write guard. `identity` is ours as holder() shows it; `problem`, under which a lock that cannot be used is
  // reported, of its own for each lock.
  Lock(io::Loop& loop, Client& client, io::Random& random, io::Problems& problems, io::Log log, Place place,
       LockTiming timing, std::string identity, std::string problem);
  // What the kinds do differently.
  // One try: looks at the lock (or trusts what we know of it), and takes or keeps it if it is ours to.
  virtual io::Task<Outcome> attempt(bool look) = 0;
  // From when on the next try may succeed, as far as is known.
  virtual io::Steady claimable_at() const = 0;
  // Whether a write of ours may have made, or may still make, us the holder.
  virtual bool may_be_held() const = 0;
  // One try to give it back; true when there is nothing left to do.
  virtual io::Task<bool> hand_back() = 0;
  virtual void take_event(EventType type, std::string_view object) = 0;
  // A watch that is silent for longer must be broken.
  virtual io::Duration longest_silence() const = 0;

  // Something was seen; `doubtful`: it may not be ours any more, so it is read before anything else.
  void seen(bool doubtful);
  void proven(io::Steady sent);
  io::Steady proven_at() const { return proven_; }
  // Of one request to the API server: one attempt, short enough for another one before the deadline.
  CallOptions call_options() const;
  io::Duration jittered(io::Duration d);
  // Why the lock cannot be used now; it is told anew only when the trouble is of another kind.
  struct Trouble {
    int kind = 0;
    std::string message;
  };
  static Trouble trouble_of(const ApiError& error);
  static Trouble unreadable(std::string message);
  void complain(const Trouble& trouble);
  void content();  // nothing to complain about any more
  // Resource versions of one server grow. Zero for one that is no number: it cannot be compared.
  static uint64_t as_number(std::string_view version);

  io::Loop& loop_;
  Client& client_;
  io::Log log_;
  const Place place_;
  const LockTiming timing_;
  const std::string identity_;
  std::string holder_;
  std::string uid_;

 private:
  struct Running;

  io::Task<void> work();
  io::Task<void> campaign();
  io::Task<void> chance();
  io::Task<void> keep();
  io::Task<void> follow();
  io::Task<void> read_events(Stream& stream);
  io::Task<void> changed_or(io::Steady when);
  void become(State next, std::string_view why);

  io::Random& random_;
  io::Problems& problems_;
  std::string problem_;
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
  bool doubtful_ = false;
  io::Steady proven_{};  // when the last request that proved the lock ours was sent
};

}  // namespace careen::kube
