// When each source of observations is asked, and what may be made of its last answer: all of Observations that does not
// depend on what the sources and their values are. A source is known here by a number, its value as a pointer.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "io/loop.h"
#include "io/result.h"
#include "io/sync.h"
#include "io/time.h"
#include "observe/observation.h"

namespace careen::io {
class Metrics;
class Random;
}  // namespace careen::io

namespace careen::observe {

enum class SourceId : uint64_t {};

// How sources that somebody follows are asked.
struct StandingPace {
  io::Random& random;
  // From one answer to the next request.
  io::Duration interval = io::seconds{60};
  // The share of it by which each pause is longer or shorter, so that sources do not stay in step.
  double jitter = 0.1;
  // With each error in a row after the first the pause doubles, up to this.
  io::Duration longest_pause = io::minutes{10};
};

struct ObservationOptions {
  // How old an observation that a decision rests on may be, and how often a source that decisions want is asked.
  io::Duration interval = io::seconds{60};
  // Requests in flight at once to one endpoint; more wait for their turn.
  int in_flight_per_endpoint = 4;
  // A source that has not answered by then has failed.
  io::Duration longest_answer = io::seconds{60};
  // Known at once. What is wanted beyond them is not asked.
  std::size_t most_sources = 1000;
  // For follow().
  std::optional<StandingPace> standing = std::nullopt;
};

class ObservationSchedule {
 public:
  using Answer = io::Result<std::shared_ptr<const void>>;
  // The part that knows what the sources are.
  class Sources {
   public:
    virtual ~Sources() = default;
    virtual io::Task<Answer> ask(SourceId id) = 0;
    // See Observations. It may call back.
    virtual void changed(SourceId id) = 0;
    virtual void forgotten(SourceId id) = 0;
  };

  // Somebody's interest in a source, see follow(). It must end before the schedule does.
  class Interest {
   public:
    Interest(ObservationSchedule& schedule, SourceId id);
    Interest(Interest&& other) noexcept : schedule_(std::exchange(other.schedule_, nullptr)), id_(other.id_) {}
    Interest& operator=(Interest&& other) noexcept {
      std::swap(schedule_, other.schedule_);
      std::swap(id_, other.id_);
      return *this;
    }
    ~Interest();

   private:
    ObservationSchedule* schedule_;
    SourceId id_;
  };

  ObservationSchedule(io::Loop& loop, io::Metrics& metrics, ObservationOptions options, Sources& sources);
  ~ObservationSchedule();

  void set_interval(io::Duration interval);

  // A source that is not known yet; nullopt when there is no room for it. It is forgotten when nobody asks for it,
  // wants it or follows it, and its last answer is older than the interval.
  std::optional<SourceId> add(const std::string& endpoint);

  void want(SourceId id);
  Interest follow(SourceId id) { return {*this, id}; }
  ObservationState<void> state(SourceId id, io::Wall now) const;
  std::optional<Observation<void>> latest(SourceId id) const;
  void use_up(SourceId id, std::string_view node);
  void settled(std::string_view node, bool acknowledged);

  // Why a source that is not known is pending.
  std::string why_unknown() const;

 private:
  enum class Asking { no, queued, sent };
  struct Endpoint {
    Endpoint(io::Loop& loop, int in_flight) : turns(loop, in_flight) {}
    io::Semaphore turns;
    std::size_t sources = 0;
  };
  using Endpoints = std::map<std::string, Endpoint, std::less<>>;
  struct Entry {
    explicit Entry(Endpoints::iterator e) : endpoint(e) {}
    bool is_needed() const { return wanted || followers > 0; }

    Endpoints::iterator endpoint;
    std::shared_ptr<const void> value;
    io::Steady value_answered{};  // of `value`
    std::string error;
    io::Wall asked_at{};  // of the last answer
    io::Wall answered_at{};
    io::Steady answered{};
    uint64_t serial = 0;
    uint64_t latest_request = 0;  // the number of the request that gave the last answer; 0: there was none
    uint64_t outdated_to = 0;     // answers to requests up to this number are from before an admission
    int errors = 0;               // in a row

    Asking asking = Asking::no;
    uint64_t request = 0;  // the number of the request that is sent
    io::Wall sent_at{};    // when it was
    io::Steady sent{};     // the same
    bool wanted = false;   // since the last answer
    std::size_t followers = 0;
    io::Steady due = io::kNever;               // when to ask again what is wanted, or to forget
    io::Steady standing_due = io::kNever;      // when to ask again what is followed
    std::set<std::string, std::less<>> users;  // nodes whose pending writes rest on it
  };

  void start_following(SourceId id);
  void stop_following(SourceId id);
  void forget(std::map<SourceId, Entry>::iterator at);
  bool is_fresh(const Entry& entry) const;
  Observation<void> observation(const Entry& entry) const;
  std::string why_pending(const Entry& entry) const;
  void ask_if_needed(SourceId id, Entry& entry);
  void ask(SourceId id, Entry& entry);
  io::Task<void> observe(SourceId id);
  io::Task<std::optional<Answer>> ask_in_turn(SourceId id, Entry& entry);
  void answered(SourceId id, Entry& entry, Answer answer);
  io::Duration standing_pause(const Entry& entry) const;
  void count(const std::string& endpoint, const Answer& answer, io::Duration took);
  io::Steady next_look(const Entry& entry) const;
  void on_due();
  void rearm();

  io::Loop& loop_;
  io::Metrics& metrics_;
  ObservationOptions options_;
  Sources& sources_;
  Endpoints endpoints_;  // of the entries
  std::map<SourceId, Entry> entries_;
  uint64_t ids_ = 0;
  uint64_t requests_ = 0;
  uint64_t answers_ = 0;
  io::Alarm alarm_;
  io::Scope asking_;  // last: its tasks use all of the above
};

}  // namespace careen::observe
