// What a disruption budget lets through: one eviction at a time, and no more than it allows. The API server changes the
// budget's status with each eviction, and sleeps when two do so at once; and the status comes to us late, so evictions
// that it does not show yet are counted here. Pure bookkeeping: no clock, no I/O.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "kube/disruption_budget.h"
#include "kube/pod_store.h"

namespace careen::drain {

// How the API server treats a pod's eviction, by what the cache shows of its budgets.
enum class Passage {
  free,     // no budget counts it
  lane,     // its budget has to allow it
  several,  // more than one budget covers it, which the eviction API does not support
};
Passage passage_of(const kube::Pod& pod, const std::vector<const kube::DisruptionBudget*>& budgets);

class Lane {
 public:
  // An eviction that the status does not show after this long will never show.
  static constexpr io::Duration kUnseenFor = io::seconds{5};
  // A refused eviction is tried again after this, even if the budget does not change.
  static constexpr io::Duration kRefusedFor = io::seconds{30};

  enum class State {
    open,       // the next one may go
    busy,       // one is on its way
    exhausted,  // no disruptions are allowed
    unseen,     // as many evictions as are allowed are not in the status yet
    outdated,   // the status is of an earlier spec
    refused,    // the server said no, although the cache shows no reason
    missing,    // there is no such budget any more
  };
  State state(io::Steady now) const;
  // The same as if none were on its way.
  State standing(io::Steady now) const;
  // Its budget lets nothing through.
  bool closed(io::Steady now) const { return standing(now) != State::open; }
  // When it may open by itself.
  std::optional<io::Steady> wake(io::Steady now) const;

  // The budget as the cache shows it now; null when it is gone.
  void budget_is(const kube::DisruptionBudget* budget);
  // The pod is seen to terminate, or gone, as of that version.
  void leaves(std::string_view pod, uint64_t version);

  void sent(std::string pod);
  // It counts against the budget from now on; or it may, when no answer came.
  void counted(io::Steady now);
  void refused(io::Steady now, std::optional<io::Duration> retry_after);
  // It had no effect on the budget.
  void answered();
  bool in_flight() const { return in_flight_.has_value(); }
  // When an eviction of ours was last counted against it.
  std::optional<io::Steady> spent() const { return spent_; }
  // Nothing in it is worth keeping.
  bool idle(io::Steady now) const {
    const bool just_spent = spent_ && now < *spent_ + kUnseenFor;
    return !in_flight_ && unseen(now) == 0 && !refused_until_ && !just_spent;
  }

 private:
  struct Flight {
    std::string pod;
    bool shown = false;            // the status names it already
    bool budget_changed = false;   // since it was sent
    std::optional<uint64_t> left;  // the version at which the pod was seen to leave
  };
  struct Unseen {
    io::Steady until;
    std::optional<uint64_t> left;
  };
  int unseen(io::Steady now) const;
  bool names(std::string_view pod) const;

  std::optional<kube::DisruptionBudget> budget_;
  std::optional<Flight> in_flight_;
  std::map<std::string, Unseen, std::less<>> unseen_;  // by pod
  std::optional<io::Steady> refused_until_;
  std::optional<io::Steady> spent_;
};

}  // namespace careen::drain
