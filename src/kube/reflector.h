// Keeps a cache current: a paged list, then a watch that continues from it, for ever. The protocol is a state machine
// with three states; whatever goes wrong ends in one of them, is reported once as a problem, and heals by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/log.h"
#include "io/loop.h"
#include "io/result.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "kube/resource.h"

namespace careen::io {
class Metrics;
class Problems;
class Random;
}  // namespace careen::io

namespace careen::kube {

class Client;
class RawObject;
class Sink;
enum class EventType;
struct ApiError;

struct ReflectorOptions {
  Resource resource;
  std::string ns = {};  // empty: all namespaces
  std::string label_selector = {};
  std::string field_selector = {};
  int page_size = 500;
  std::string name = {};  // in metrics and problems; the resource's plural if empty. Two reflectors need two names.
  bool optional = false;  // not every cluster serves the kind: while one does not, nothing is wrong

  // Of one object alone.
  static ReflectorOptions of_one(Resource resource, std::string ns, const std::string& object, std::string name = {});
};

class Reflector {
 public:
  enum class State {
    listing,   // reading the pages of a list
    watching,  // following changes from where the list, or the last watch, ended
    waiting,   // something failed; after a pause, on with what failed
  };

  // Everything must outlive the reflector, and the reflector its run(). It takes its problem and its series with it, so
  // the next one of its name is made when it is gone.
  Reflector(io::Loop& loop, Client& client, io::Metrics& metrics, io::Problems& problems, io::Random& random,
            Sink& sink, ReflectorOptions options, io::Log log = {});
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // Runs until cancelled.
  io::Task<void> run();

  State state() const { return state_; }
  // The first list is complete. It stays so: a cache that lost its server is stale, not empty.
  bool synced() const { return synced_.is_open(); }
  io::Gate& synced_gate() { return synced_; }
  // Since the last event, bookmark or complete list. The server sends a bookmark about every minute.
  io::Duration silent_for() const { return loop_.now() - heard_; }
  // Since the last list, or the end of the last watch that was open; none while one is.
  io::Duration blind_for() const { return open_ ? io::Duration{} : loop_.now() - saw_; }
  // Everything up to this version is in the cache.
  uint64_t position() const { return position_; }

  // Waits for a list that is taken after this call from the server's latest state (not from what it may remember),
  // however long that takes. Everything up to the
  // version returned is in the cache then.
  io::Task<uint64_t> refresh();
  // The same without waiting.
  void request_relist();

 private:
  // How a list or a watch ended.
  enum class Ending {
    complete,      // a list's last page; the regular end of a watch
    broken,        // the connection of a watch that had been open
    wanted,        // somebody wants a fresh list
    silent,        // a watch without a sign of life
    gone,          // the server forgot the position, or the continue token
    too_new,       // the server is behind what we have seen
    unreadable,    // what came makes no sense
    rejected,      // the server ends the watch with an error that no repetition heals
    failing,       // 429, 5xx
    unreachable,   // no answer
    untrusted,     // certificates do not fit
    unsendable,    // the request could not even be made: no readable credentials, say
    unknown_user,  // 401
    forbidden,     // 403
    missing,       // 404
  };
  struct Outcome {
    Ending ending = Ending::complete;
    std::string message;
    std::optional<io::Duration> retry_after;
    bool only_events_heal = false;  // lists succeed and watches open in spite of it
  };

  io::Task<Outcome> list();
  io::Task<Outcome> watch();
  io::Task<void> follow(Outcome* outcome);
  io::Task<void> watch_over(Outcome* outcome);
  io::Task<void> pause();
  void after_list(const Outcome& outcome);
  void after_watch(const Outcome& outcome);

  void start_list(std::string_view cause);
  void wait_then(State next, io::Duration pause);
  void fail_then(State next, const Outcome& outcome);
  void tell(const Outcome& outcome);
  io::Result<bool> take(EventType type, RawObject& object, Outcome& outcome);
  void heard();
  void reached();
  void healed();
  bool fresh_list_wanted() const { return asked_ > answered_; }
  io::Duration backoff(int failures, io::Duration longest);
  std::string describe(const Outcome& outcome) const;
  static Ending ending_of(io::ErrorKind kind);
  static Outcome outcome_of(const ApiError& error);

  io::Loop& loop_;
  Client& client_;
  io::Problems& problems_;
  io::Random& random_;
  Sink& sink_;
  ReflectorOptions options_;
  io::Log log_;
  std::string problem_key_;

  State state_ = State::listing;
  State after_pause_ = State::listing;
  io::Steady pause_ends_{};
  io::Gate synced_;
  io::Steady heard_;
  uint64_t position_ = 0;

  // Calls for a fresh list so far; how many of them a list has tried to answer, and has answered.
  uint64_t asked_ = 0;
  uint64_t tried_ = 0;
  uint64_t answered_ = 0;
  io::Signal wake_;
  io::Gate answered_gate_;

  // All of these count in a row.
  int failures_ = 0;
  int same_failures_ = 0;  // with the same ending
  int expired_ = 0;        // lists whose continue token did not last
  int too_new_ = 0;        // lists that the server was behind
  int silent_ = 0;         // watches without a sign of life
  int gone_ = 0;           // lists whose version the server had forgotten when the watch came

  bool consistent_ = true;  // the next list is of the server's latest state
  std::optional<uint64_t> unreadable_at_;
  std::optional<Ending> last_failure_;
  std::optional<Ending> problem_;
  bool only_events_heal_ = false;

  bool open_ = false;  // a watch
  io::Steady saw_{};
  io::Steady watch_begun_{};
  uint64_t watch_from_ = 0;
  io::Steady alive_{};  // the watch, or an event of it

  struct Meters;
  std::unique_ptr<Meters> meters_;
};

std::string_view to_string(Reflector::State state);

}  // namespace careen::kube
