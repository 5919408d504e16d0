// The desk at which everybody asks for places: it knows all MaintenanceLimits about nodes, counts whoever is out, each
// node once, and says whose turn it is. It belongs to the one loop: a place that is taken counts for the next question.
// What is admitted here is exact because whoever takes a place has it recorded (in the ledger) before anything is
// written; what others do is as fresh as the watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/subscription.h"
#include "io/time.h"
#include "limits/facts.h"
#include "limits/place.h"

namespace careen::io {
class Loop;
}

namespace careen::kube {
struct Node;
struct Object;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::budget {
class Ledger;
}

namespace careen::limits {

class OtherObjects;
class WorkloadLimits;
struct Limit;
struct WorkloadSources;

// Somebody counts in a group.
struct Holder {
  std::string actor;
  std::string node;
  std::string what;  // for people: why it counts
  std::optional<io::Wall> since;
  bool own = false;  // a place that was given here
};

// One limit's group of nodes, as it is now.
struct GroupState {
  std::string limit;
  std::vector<std::string> values;  // of groupBy; empty without
  int64_t total = 0, expected = 0;
  int64_t cap = 0, used = 0, missing = 0;
  int64_t parallel = 0, working = 0;
  int64_t free() const { return cap - used; }
  size_t waiting = 0;
  std::vector<Holder> holders;    // each node once for each actor, longest first
  std::vector<Holder> overshoot;  // while more are out than may be: who of others was counted last
  std::string name() const;       // limit, or limit/value/value
};

struct Waiting {
  Asking asking;
  Rank rank = Rank::campaign;       // as it counts now: it may have moved up
  std::vector<std::string> groups;  // that have no place for it
  std::optional<io::Wall> expected;
};

class Desk {
 public:
  struct Answer {
    bool allowed = false;
    // Without any change, it may be another one from this time on.
    std::optional<io::Wall> changes_at = {};
    // Why not, in one sentence for people: "place 3 in limit workers/eu-de-1a (4 of 4: kured n17, kubectl n40 since 3
    // h)". Empty where it is allowed, and where no text was asked for.
    std::string text = {};
  };
  enum class Detail { verdict, text };
  // Where the rules of the program that careen replaces are asked for.
  struct Rules {
    bool floor_of_one = false;          // `limit: 0` still allows one
    bool not_ready_only_false = false;  // a node that is not heard of any more counts as available
    bool operator==(const Rules&) const = default;
  };

  // The stores and the ledger must outlive it. It follows the stores by itself.
  Desk(io::Loop& loop, kube::Store<kube::Node>& nodes, kube::Store<kube::Object>& limits, budget::Ledger& ledger);
  ~Desk();
  Desk(const Desk&) = delete;
  Desk& operator=(const Desk&) = delete;

  void follow(Rules rules);
  // Where limits about workloads look things up; without it they admit nothing. `watch` is told whenever there are
  // other limits about workloads than before: they know what has to be watched for them.
  void follow(WorkloadSources sources, std::function<void(const WorkloadLimits&)> watch);
  // What other objects say of nodes counts too, and so do the nodes that sets of them lack. It must outlive the desk.
  void follow(OtherObjects& others);
  // Who has one of these taints has the node out.
  void count(std::vector<CountedTaint> taints);
  // What the node and other objects say of it, as it counts here.
  std::vector<Fact> facts_of(const kube::Node& node) const;
  // A list of pods, workloads or namespaces is complete that was not before.
  void workloads_known();
  // The ledger has been taken over: what a predecessor admitted counts until whoever has it says more, and so do the
  // nodes that were missing.
  void inherit();
  // Somebody has set the wall clock, or the machine has slept.
  void clock_stepped();
  // Nothing is admitted until it is known which limits there are. `why`: for people, what keeps it from being known.
  void unknown(std::string why);
  void known();
  bool is_known() const;

  // Some limit is about that node. Where none is, every question is answered with yes.
  bool limited(std::string_view node) const;

  // May it have a place now? Changes nothing. Who has one, by whatever `who`, is always allowed.
  Answer ask(const Asking& asking, Detail detail = Detail::verdict) const;
  // It was told no, and wants to be told when it is its turn; again for the same node and who: its data are replaced.
  void wait(Asking asking);
  // It does not want a place any more, or not now: what it was offered goes to the next.
  void leave(std::string_view node, std::string_view who);
  // From now on it has one, whatever the limits say: whoever asks for it has been allowed, or has had it before.
  void take(Place place);
  // It has none any more.
  void release(std::string_view node, std::string_view who);
  bool has(std::string_view node, std::string_view who) const;
  // Somebody has one for that node.
  bool placed(std::string_view node) const;

  // Told that it is somebody's turn: a place is kept for it until it asks, waits anew or leaves. Told on the loop,
  // never from within a call.
  io::Subscription on_turn(std::function<void(const std::string& node, const std::string& who)> tell);
  // Told that numbers have changed.
  io::Subscription on_change(std::function<void()> tell);

  // For those who show it.
  std::vector<GroupState> groups() const;
  std::vector<GroupState> groups_of(std::string_view limit) const;
  std::vector<GroupState> exceeded() const;  // those that have more out than they may
  std::vector<Waiting> queue() const;        // in their order
  // The limits about nodes and about everything else, as they were last read; null: no such limit.
  const Limit* find(std::string_view limit) const;
  void for_each_limit(const std::function<void(const Limit&)>& visit) const;
  // Those that select the node.
  std::vector<const Limit*> limits_of(std::string_view node) const;

  struct Core;  // for its own files

 private:
  std::unique_ptr<Core> core_;
};

}  // namespace careen::limits
