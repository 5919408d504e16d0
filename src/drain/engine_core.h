// The inside of the engine. Drains have pods; a pod that several drains have is one Target, so that it gets one
// request. What may be sent is decided again for a target whenever something that it depends on changes: its pod, its
// budgets, the drains that have it, the answer to its last request, a time. Everything between two changes is plain
// bookkeeping.
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "budget/pause.h"
#include "drain/coverage.h"
#include "drain/decide.h"
#include "drain/engine.h"
#include "drain/lane.h"
#include "drain/rules.h"
#include "drain/slots.h"
#include "io/metrics.h"
#include "io/sync.h"
#include "kube/client.h"

namespace careen::drain {

// Where a pod stands in the order of its drain; the lowest leave first. What the drain was told comes before what rules
// say, and a rule that names the pod before its priority.
struct Rank {
  size_t tier = 0;
  int32_t order = 0;
  int32_t priority = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};
// Our own pod's: it goes last of all drains, and none of its own drain waits for it.
inline constexpr Rank kOwn{std::numeric_limits<size_t>::max(), std::numeric_limits<int32_t>::max(),
                           std::numeric_limits<int32_t>::max()};
// Pods of a later order wait for those that are awaited.
inline constexpr int32_t kOrderOfAwaited = 0;

// Whose turn it is in a drain.
struct Turn {
  std::optional<Rank> lowest;  // of the pods to take that are there
  bool awaits = false;
  friend bool operator==(const Turn&, const Turn&) = default;
};

struct Drain;

// A pod, as one drain has it.
struct Membership {
  Drain* drain = nullptr;
  Verdict verdict;
  Rank rank;
  bool judged = false;
  bool counted = false;                  // among the pods to evict
  bool newcomer = false;                 // it came after the list: the drain is complete without it
  bool unlisted = false;                 // it came after the beginning: only the list can tell whether it has to go
  std::string given_up;                  // why it is not tried again; empty: it is
  std::optional<io::Steady> turn_since;  // its rank was the lowest for the first time
  // As it was told last.
  bool told = false;
  Stage stage = Stage::waiting;
  io::Wall since{};
  std::string budget;

  bool pending() const { return !newcomer && (verdict.fate == Fate::take || verdict.fate == Fate::await); }
};

// A pod on a node that is drained.
struct Target {
  Target(io::Loop& loop, std::function<void()> ring, std::function<void()> on_hanging)
      : alarm(loop, std::move(ring)), hangs(loop, std::move(on_hanging)) {}

  std::string ns, name, uid, node;
  std::string owner;                    // namespace, kind and name of its controller, or of itself if it has none
  uint64_t sequence = 0;                // of appearance, for an order that does not depend on addresses
  uint64_t place = 0;                   // in the queue of its lane, from when it first waited; 0: never
  io::Steady waits_since{};             // there
  std::optional<io::Wall> deletion;     // of the pod, by the server's clock
  io::Steady grace_ends{};              // of the pod, if it has that: not before its end on the node
  std::optional<io::Duration> grace;    // that ends then
  bool found_terminating = false;       // it was so when it was first seen
  bool ready = false;                   // of the pod
  std::vector<std::string> budgets;     // keys of those that cover it
  std::vector<Membership> memberships;  // in the order of the drains' beginning

  Action in_flight = Action::none;
  std::string lane;  // that its request on the way occupies
  std::optional<io::Steady> accepted;
  bool killed = false;
  bool shortened = false;
  bool asking = false;              // its request on the way is one that its budgets refuse
  std::optional<io::Steady> asked;  // when the server last refused it
  int asked_in_vain = 0;            // in a row
  std::optional<Setback> setback;
  std::string cause;  // the server's last refusal

  bool to_send = false;  // counted as such
  bool blocked = false;  // counted as such
  io::Steady blocked_since{};
  std::string blocked_event;  // the budget about which an event was written
  std::optional<io::Steady> wakes_at;
  io::Alarm alarm;
  io::Alarm hangs;  // its request on the way, from then on

  Membership* membership(const Drain& drain);
};

struct BySequence {
  bool operator()(const Target* a, const Target* b) const { return a->sequence < b->sequence; }
};
struct ByPlace {
  bool operator()(const Target* a, const Target* b) const { return a->place < b->place; }
};

struct BudgetLane {
  BudgetLane(io::Loop& loop, std::function<void()> ring) : alarm(loop, std::move(ring)) {}
  Lane lane;
  std::set<Target*, ByPlace> waiting;
  bool told_closed = false;
  io::Alarm alarm;
};

// The newcomers of one owner, which are evicted one at a time.
struct Chase {
  std::string current;      // UID; empty: none
  int gone = 0;             // so far
  io::Steady not_before{};  // the next one
};

struct Drain {
  Drain(io::Loop& loop, std::function<void()> on_deadline, std::function<void()> on_list, std::function<void()> on_node)
      : deadline(loop, std::move(on_deadline)),
        list_again(loop, std::move(on_list)),
        node_again(loop, std::move(on_node)) {}

  Key key;
  uint64_t id = 0;
  Options options;
  NodeRules rules;
  io::Steady begun_at{};
  std::map<std::pair<std::string, std::string>, Target*> pods;  // all that are bound to the node
  std::map<Rank, int> left;                                     // pods to take that are there
  int pending = 0;
  int awaited = 0;  // of those that are pending
  int refusals = 0;
  int given_up = 0;                          // of those that are pending
  std::map<std::string, Chase> chases = {};  // by owner

  // The fresh list.
  enum class Listing { wanted, under_way, done } listing = Listing::wanted;
  int list_failures = 0;
  std::string list_error;

  // The node as the server has it.
  std::optional<io::Steady> node_read;  // when it was last asked for, and was the one that is meant
  bool node_under_way = false;
  int node_failures = 0;
  std::string node_error;
  bool lost = false;  // it is another one, or gone

  bool timed_out = false;
  bool measured = false;
  bool dirty = false;
  std::optional<io::Steady> paused_since;
  io::Duration paused_for{};  // before that
  io::Steady resumed_at{};
  io::Alarm deadline;
  io::Alarm list_again;
  io::Alarm node_again;
  Progress progress;  // its pods and texts are filled in when somebody asks

  // All that is left is what the server refuses for good.
  bool is_hopeless() const { return given_up > 0 && given_up == pending; }
  Turn turn() const { return {left.empty() ? std::nullopt : std::optional(left.begin()->first), awaited > 0}; }
  bool has_turn(const Membership& membership) const {
    if (!left.empty() && left.begin()->first < membership.rank) return false;
    return awaited == 0 || membership.rank.order <= kOrderOfAwaited || membership.rank == kOwn;
  }
  // A filter may still forbid it.
  bool may_be_refused() const { return !options.force || !options.ignore_daemon_sets || !options.delete_emptydir_data; }
};

struct Engine::Core {
  Core(Engine& engine, EngineParts parts, EngineOptions options);

  // Drains (engine.cc).
  void begin(const Key& key, const std::string& node_uid, Options options);
  void end(const Key& key);
  void set_options(Drain& drain, Options options);
  NodeRules rules_of(const std::string& node) const { return engine.rules ? engine.rules(node) : NodeRules{}; }
  void time_is_over(Drain& drain);
  bool is_active(const Drain& drain) const;
  void update_phase(Drain& drain);

  // Pauses (engine_pause.cc).
  void pauses_changed();
  void follow_pause(Drain& drain);
  void set_deadline(Drain& drain);
  const budget::Pause* pause_of(const Drain& drain) const;

  // What happens to pods and budgets (engine_follow.cc).
  void pod_changed(const kube::Pod* before, const kube::Pod* after);
  void pod_seen(const kube::Pod& pod);
  void pod_gone(const std::string& uid);
  void join(Drain& drain, const kube::Pod& pod);
  void join_all(Drain& drain);
  void follow_deletion(Target& target, const kube::Pod& pod, bool is_new);
  io::Duration beyond_grace(const Target& target) const;
  void leave(Drain& drain, Target& target);
  bool is_chased(Drain& drain, const Target& target);
  void end_chase(Drain& drain, const Target& target);
  void consider_newcomers(Drain& drain, const std::string& owner);
  void count(Membership& membership, int sign);
  void changed_turns(Drain& drain, const Turn& before);
  void budget_changed(const kube::DisruptionBudget* before, const kube::DisruptionBudget* after);
  void cover(Target& target, const kube::Pod& pod);
  void consider_all(Drain& drain);
  Target& target_of(const kube::Pod& pod);
  Target* find_target(const std::string& uid);
  void drop_if_unused(Target& target);
  std::optional<kube::Pod> pod_of(const Target& target) const;
  Rank rank_of(const kube::Pod& pod, const Drain& drain, const Verdict& verdict) const;
  bool is_own(const Target& target) const;

  // What to send (engine_send.cc).
  Situation situation_of(Target& target);
  Wish wish_of(Target& target);
  std::optional<io::Steady> awaited_until(const Membership& membership) const;
  bool has_to_go(const Membership& membership) const;
  void consider(Target& target);
  void look_again(const std::string& uid);
  void wake_by(Target& target, io::Steady when);
  BudgetLane& lane_of(const std::string& budget);
  void serve(BudgetLane& lane);
  io::Steady asks_at(const Target& target, const Lane& lane) const;
  void leave_queue(Target& target);
  void start(Target& target, Action action, const std::string& lane);
  void pump();
  void withdraw(const std::string& uid);
  io::Task<void> send(std::string uid);
  kube::DeleteOptions delete_options(Target& target, Action action);
  void finish(const std::string& uid, Action action, const std::string& lane, const Answer& answer);
  void take_answer(Target& target, Action action, bool through_lane, const Answer& answer);
  void take_refusal(Target& target, bool through_lane, const Answer& answer);
  void give_up(Target& target, Action action, const Answer& answer);
  Drain* find_drain(uint64_t id);
  bool can_send() const { return sending && !stopping; }
  void resume();
  void abandon();

  // What is read past the caches: the node, and the list of its pods (engine_read.cc).
  void start_list(Drain& drain);
  void list_anew(Drain& drain);
  void settle_newcomers(Drain& drain);
  void start_discovery();
  io::Task<void> discover();
  io::Task<void> list(uint64_t drain_id);
  io::Result<bool> take_list(std::string body);
  bool node_is_known(const Target& target);
  bool node_is_known(const Drain& drain) const;
  void start_node(Drain& drain);
  io::Task<void> read_node(uint64_t drain_id);
  void take_node(Drain& drain, const kube::Result<std::string>& response, io::Steady asked);
  void node_changed(const kube::Node* before, const kube::Node* after);
  void lose_node(Drain& drain, std::string why);

  // What is told (engine_show.cc).
  void show(Target& target);
  void show_waiting(BudgetLane& lane);
  void tell(Drain& drain);
  void flush();
  void count_to_send(Target& target, bool to_send);
  const Progress& progress_of(Drain& drain);
  std::vector<std::string> left_alone(const Drain& drain) const;
  std::string reason_of(const Drain& drain, Target& target, const Membership& membership);
  std::string waiting_text(const Drain& drain, Target& target, const Membership& membership);
  std::string turn_of(const Drain& drain, const Membership& membership) const;
  std::string blocked_text(Target& target);
  void tell_of_request(const Target& target, Action action, const Wish& wish);
  void write_blocked_event(Target& target, const std::string& budget);
  void write_event(const Target& target, std::string type, std::string reason, std::string note);

  Engine& engine;
  EngineParts p;
  EngineOptions options;
  io::Hub<Key> listeners;
  std::map<Key, std::unique_ptr<Drain>> drains;
  std::map<std::string, std::vector<Drain*>, std::less<>> by_node;
  std::map<std::string, std::unique_ptr<Target>, std::less<>> targets;  // by UID
  std::map<std::string, std::set<Target*, BySequence>, std::less<>> by_namespace;
  std::map<std::string, std::set<Target*, BySequence>, std::less<>>
      refused;                                                            // by namespace: a budget's change may help
  std::map<std::string, std::unique_ptr<BudgetLane>, std::less<>> lanes;  // by the budget's key
  Coverage coverage;
  std::map<std::string, io::Steady, std::less<>> asked_lately;  // by UID: pods of drains that have ended
  Target* own = nullptr;
  uint64_t sequence = 0;
  int to_send = 0;  // targets, our own pod aside
  int blocked = 0;

  bool pods_are_known = false;
  enum class Budgets { unknown, known, unavailable } budget_state = Budgets::unknown;
  // Whether the server has evictions; looked up when one is not understood.
  enum class Evictions { assumed, asked_for, known, missing } eviction_state = Evictions::assumed;

  io::Scope* sending = nullptr;  // while run() runs
  bool stopping = false;
  Slots slots;          // of evictions and deletions
  io::Semaphore reads;  // of nodes and lists: what hangs holds up no look at the others
  io::Signal stopped;
  io::Alarm flush_alarm;
  std::vector<io::Subscription> subscriptions;

  struct Meters {
    explicit Meters(io::Metrics& metrics);
    std::map<std::string, io::Counter*, std::less<>> evictions;  // by result
    io::Gauge& pending;
    io::Gauge& blocked;
    io::Gauge& running;
    io::Histogram& duration;
  };
  Meters meters;
};

}  // namespace careen::drain
