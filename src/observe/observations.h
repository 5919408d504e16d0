// What careen knows of facts that cannot be watched: the last value of each source, with its age. Asking is driven by
// demand: a source is asked while decisions want it, once an interval, and never otherwise. An observation that let a
// node pass is used up by it: the next node needs one that was asked for after that node's write.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/loop.h"
#include "io/sync.h"
#include "io/time.h"
#include "observe/prometheus.h"

namespace careen::io {
class HttpClient;
class Metrics;
}  // namespace careen::io

namespace careen::observe {

struct Observation {
  double value = 0;  // when there is no error
  std::vector<std::string> warnings;
  std::string error;
  io::Wall asked_at{};  // when the request was sent
  io::Wall answered_at{};
  uint64_t serial = 0;  // of the answers of all sources; a newer one has a larger number
};

// What a decision may make of a source at a moment.
struct ObservationState {
  enum class Kind {
    usable,   // `observation` holds a value
    failed,   // `observation` holds an error
    pending,  // there is nothing to decide on yet; `why` says what is waited for
  };
  Kind kind = Kind::pending;
  const Observation* observation = nullptr;  // usable, failed; valid until the loop's next turn
  std::string why;
  io::Wall usable_until = io::Wall::max();  // usable, failed: pending after this moment, if nothing else happens
};

class Observations {
 public:
  struct Options {
    // How old an observation may be, and how often a source is asked that somebody wants.
    io::Duration interval = io::seconds{60};
    // Requests in flight at once to one endpoint; more wait for their turn.
    int in_flight_per_endpoint = 4;
  };
  using OnChange = std::function<void(const Source&)>;

  // `on_change` is called for a source whose state() may have changed, through an answer or settled(); not for the mere
  // passing of time (see usable_until), nor for what the caller does itself. It may call back.
  Observations(io::Loop& loop, io::HttpClient& http, io::Metrics& metrics, Options options, OnChange on_change);
  ~Observations();

  void set_interval(io::Duration interval);

  // Somebody's decision needs the source. It is asked at once when nothing usable is there, and again an interval after
  // the last answer; without a new want() since that answer it is not asked again, and forgotten.
  void want(const Source& source);

  ObservationState state(const Source& source, io::Wall now) const;
  // The last answer, however old or used up; nullptr when there is none. Valid until the loop's next turn.
  const Observation* latest(const Source& source) const;

  // The node's pending write rests on the observation: nobody else may use it until settled() is called.
  void use_up(const Source& source, std::string_view node);
  // How the node's write ended. Acknowledged: only what is asked for from now on counts.
  // Surely not happened: what was used up is usable again while it is fresh. As long as it is unknown, do not call.
  void settled(std::string_view node, bool acknowledged);

 private:
  enum class Asking { no, queued, sent };
  struct Entry {
    Observation latest;
    uint64_t latest_request = 0;  // the number of the request that gave `latest`; 0: there was none
    uint64_t outdated_to = 0;     // answers to requests up to this number are of before an admission
    Asking asking = Asking::no;
    uint64_t request = 0;                      // the number of the request that is sent
    io::Wall asked_at{};                       // of the request that is sent
    io::Steady sent{};                         // the same
    io::Steady answered{};                     // of `latest`; its age, whoever sets the clock
    bool wanted = false;                       // since the last answer
    io::Steady due = io::kNever;               // when to ask again, or to forget
    std::set<std::string, std::less<>> users;  // nodes whose pending writes rest on it
  };

  io::Duration age(const Entry& entry) const;
  bool is_fresh(const Entry& entry) const;
  std::string why_pending(const Source& source, const Entry& entry) const;
  void ask_if_needed(const Source& source, Entry& entry);
  void ask(const Source& source, Entry& entry);
  io::Task<void> observe(Source source);
  void answered(const Source& source, InstantAnswer answer);
  void count(const Source& source, const InstantAnswer& answer, io::Duration took);
  io::Semaphore& turns(const Source& source);
  bool has_free_turn(const Source& source) const;
  void on_due();
  void rearm();

  io::Loop& loop_;
  io::HttpClient& http_;
  io::Metrics& metrics_;
  Options options_;
  OnChange on_change_;
  std::map<Source, Entry> entries_;
  std::map<std::string, std::unique_ptr<io::Semaphore>, std::less<>> turns_;  // by endpoint
  uint64_t requests_ = 0;
  uint64_t answers_ = 0;
  io::Alarm alarm_;
  io::Scope asking_;  // last: its tasks use all of the above
};

}  // namespace careen::observe
