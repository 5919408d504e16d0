// What to do about one pod now, and at which stage it is: pure functions of what is known of the pod, of what the
// drains that have it want, of its last request, and of the time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "drain/answer.h"
#include "drain/filter.h"
#include "drain/lane.h"
#include "drain/progress.h"
#include "io/time.h"

namespace careen::drain {

enum class Action {
  none,
  evict,
  remove,   // delete, which no budget holds back
  kill,     // delete with a grace period of 0: it has not ended in time
  shorten,  // ask what terminates already to do so within a shorter grace period
};

// What all drains that have the pod want of it, taken together.
struct Wish {
  bool gone = false;    // one of them wants it gone, and its turn has come
  bool remove = false;  // deleted instead of evicted
  int64_t grace_seconds = -1;
  std::optional<io::Steady> remove_at;  // it may be set before anybody wants it gone: then it is awaited
  std::optional<io::Duration> kill_after;

  friend bool operator==(const Wish&, const Wish&) = default;
};

// How the last request for it ended; nothing since then has made that void.
struct Setback {
  Answer answer;
  int in_a_row = 0;
  io::Steady retry_at{};
};

// An accepted eviction that shows no effect for this long is sent again.
inline constexpr io::Duration kEffectWithin = io::seconds{30};

struct Situation {
  Wish wish;
  std::optional<io::Steady> grace_ends;  // it terminates; when its grace period is over, by our own clock
  Action in_flight = Action::none;
  std::optional<io::Steady> accepted;  // when the server took our request
  bool killed = false;                 // deleted with a grace period of 0; more cannot be done
  std::optional<Setback> setback;
  Passage passage = Passage::free;
  bool asking = false;    // the request on its way is one that its budgets refuse
  bool shortens = false;  // it terminates, with a longer grace period than the drain gives it
  bool held = false;      // nothing may be sent: a dry run, our own pod, caches that are not filled
};

struct Decision {
  Action action = Action::none;
  bool through_lane = false;       // the eviction has to wait for its budget's lane
  std::optional<io::Steady> wake;  // when to decide again, if nothing happens
};
Decision decide(const Situation& situation, io::Steady now);

// How one drain sees the pod.
struct Seen {
  Fate fate = Fate::take;
  bool active = true;  // the drain sends: it is neither refused nor failed
  bool turn = true;    // no earlier tier is left
};
Stage stage_of(const Situation& situation, const Seen& seen, bool lane_closed, io::Steady now);

}  // namespace careen::drain
