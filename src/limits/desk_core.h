// The inside of the desk: nodes with what they say and the places they have, limits with their groups, and the queue.
// Everything follows single changes: what a node's change costs depends on the limits about that node, never on the
// number of nodes or of those that wait.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "budget/admission.h"
#include "budget/ledger.h"
#include "io/loop.h"
#include "io/steady_at.h"
#include "io/subscription.h"
#include "kube/cache.h"
#include "kube/node.h"
#include "kube/objects.h"
#include "limits/desk.h"
#include "limits/durations.h"
#include "limits/facts.h"
#include "limits/limit.h"
#include "limits/other_objects.h"
#include "limits/timetable.h"
#include "limits/workload_limits.h"

namespace careen::limits {

inline constexpr std::string_view kForeignPrefix = "foreign/";
inline constexpr std::string_view kRequest = "request/";
inline constexpr std::string_view kMissing = "missing";
// Of entries in the ledger that tell which workloads' pods a node with a place ran when it got it.
inline constexpr std::string_view kWorkloads = "workloads";

template <class Range, class Value, class Projection>
bool has_one(const Range& range, const Value& value, Projection projection) {
  return std::ranges::find(range, value, projection) != std::ranges::end(range);
}

// Whoever came first, first; whoever nobody knows the time of, before.
inline void sort_by_time(std::vector<Holder>& holders) {
  std::ranges::sort(holders, [](const Holder& a, const Holder& b) {
    const auto key = [](const Holder& one) {
      return std::tuple(one.since.value_or(io::Wall::min()), std::string_view(one.node), std::string_view(one.actor));
    };
    return key(a) < key(b);
  });
}

// As people read it, and as reserves name it.
inline std::string_view shown_actor(std::string_view actor) {
  return actor.starts_with(kForeignPrefix) ? actor.substr(kForeignPrefix.size()) : actor;
}

struct Desk::Core {
  struct Entry;
  struct Group;
  struct LimitState;
  struct NodeState;

  // The place of somebody in the queue.
  struct Turn {
    Rank rank = Rank::campaign;
    io::Wall since{};
    std::string who = {}, node = {};
    bool operator<(const Turn& other) const {
      return std::tie(rank, since, who, node) < std::tie(other.rank, other.since, other.who, other.node);
    }
  };
  struct Earlier {
    using is_transparent = void;
    bool operator()(const Entry* a, const Entry* b) const { return a->turn < b->turn; }
    bool operator()(const Entry* a, const Turn& b) const { return a->turn < b; }
    bool operator()(const Turn& a, const Entry* b) const { return a < b->turn; }
  };
  using Row = std::set<Entry*, Earlier>;

  // Whoever waits stands in one row: of that which keeps it from its place, as far as was looked. It is looked at again
  // when that has changed, and then moves to the row of what is in its way next.
  struct Entry {
    Asking asking;
    NodeState& node;
    Turn turn;
    Row* row = nullptr;
    bool linked = false;                            // it stands in its groups' lists
    bool offered = false;                           // a place is kept for it
    std::optional<io::Steady> declined_until = {};  // it did not take what it was offered
    std::optional<io::Steady> passed = {};          // since when a later one has been given a place before it
    bool stops = false;                             // for so long that later ones of its class have to wait
  };

  // Nodes of a group that count as one: those with the same value of the limit's `unit`, or one node.
  struct Member;
  struct Unit {
    std::string key;
    std::set<Member*> members;
    int counted = 0, working = 0;
    std::vector<Entry*> offers;
    int reserve = -1;  // the reserve whose place it uses
    bool is_claimed() const { return counted > 0 || !offers.empty(); }
    bool is_busy() const { return working > 0 || !offers.empty(); }
  };

  struct Tally {
    bool counted = false, working = false, down = false;
    bool waits = false;  // it is leaving, and serves on until it is its turn
    bool operator==(const Tally&) const = default;
  };

  // A node in a group.
  struct Member {
    NodeState& node;
    LimitState& limit;
    Group& group;
    Unit& unit;
    Tally tally = {};
    uint64_t counted_as = 0;                      // the order in which nodes were counted
    std::optional<io::Steady> back_at = {};       // it still counts, as of then
    std::vector<Holder> last_holders = {};        // for as long as it settles
    std::optional<io::Steady> lingers_from = {};  // nothing but a fact that lingers has it count since then
    bool looked_at = false;
  };

  // Rows of a group, by what those in it need: nothing that others could take; a slot, since the node is down or counts
  // anyway; a place; a place that is reserved for them.
  enum Need : size_t { nothing, slot_of_down, slot_of_counted, place, reserved };

  struct Missing {
    budget::Admission admission;  // with the names of the groups that lack it
    io::Steady until{};
  };

  // A MachineSet or NodePool that nodes belong to. What it lacks counts in each group that has nodes of it, and in
  // those that lost theirs, until it is complete again.
  struct NodeSet {
    SetId id;
    std::optional<int64_t> wanted;
    int64_t present = 0;
    int64_t lacking = 0;           // as the groups count it
    std::map<Group*, int64_t> in;  // how many nodes; 0: it lost them there
    bool is_sized() const { return wanted.has_value(); }
  };

  struct Group {
    explicit Group(LimitState& of) : limit(of) {}
    LimitState& limit;
    std::vector<std::string> values;
    std::string name;
    std::map<std::string, Unit, std::less<>> units;
    std::set<std::pair<io::Wall, std::string>> missing;  // with the UIDs
    std::set<NodeSet*> sets;
    int64_t lacking = 0;  // of them
    int64_t cap = 0, parallel = 0;
    int64_t used = 0, working = 0;  // units
    int64_t claimed = 0, busy = 0;  // the same with those that a place is kept for
    std::vector<int64_t> reserve_used;
    std::vector<Row> rows;
    Row waiting, unpassed, stoppers;
    bool beyond = false;  // the limit makes more groups than is bearable: nothing is admitted in this one
    bool over = false;    // more were out than may be: nothing voluntary until that has been over for a while
    std::optional<io::Steady> below_since;
    mutable std::optional<std::pair<io::Steady, std::string>> listed;  // who is out, in words, until that changes
    int64_t total() const { return static_cast<int64_t>(units.size()); }
    int64_t lost() const;
    // What percentages are of.
    int64_t whole() const;
    bool empty() const { return units.empty() && missing.empty() && sets.empty(); }
  };

  struct LimitState {
    Limit limit;
    std::map<std::vector<std::string>, std::unique_ptr<Group>> groups;
    Row row;                       // of those that wait for its time or for its mistake to be mended
    std::optional<io::Wall> last;  // a request took or gave back a place
    int request_offers = 0;
    bool about_nodes() const { return limit.subject == Subject::node; }
  };

  struct Seen {
    std::string actor;
    io::Wall since{};
    bool from_the_start = false;  // it was there when the desk was opened
  };

  struct NodeState {
    std::string name;
    std::string uid;
    bool present = false;
    std::vector<Fact> facts;
    std::vector<Seen> seen;  // of the actors of the facts
    NodeSet* set = nullptr;
    io::Wall ready_since{};
    bool not_ready = false, unschedulable = false, says_in_maintenance = false, down = false;
    std::map<std::string, Place, std::less<>> places;    // by who
    std::map<std::string, Place, std::less<>> ledgered;  // the same, of what a predecessor has left in the ledger
    std::vector<std::unique_ptr<Member>> members;        // by the limits' names
    std::map<std::string, Entry, std::less<>> entries;   // by who
    std::string ran;                                     // under this UID the ledger has which workloads it ran
    bool inherited = false;                              // and nobody here has a place for it yet
    bool holds(const std::map<std::string, Place, std::less<>>& in) const;
    bool has_place() const { return holds(places) || holds(ledgered); }
    bool has_foreign_entry() const;
    bool empty() const { return !present && places.empty() && ledgered.empty() && entries.empty() && ran.empty(); }
  };

  // Whoever asks, in the queue or not.
  struct Asker {
    std::string_view who, actor;
    Turn turn;
    const Entry* entry = nullptr;
    bool foreign() const { return who.starts_with(kForeignPrefix); }
    bool request() const { return who.starts_with(kRequest); }
  };

  enum class Refused { unknown, crowded, absent, mistake, interval, beyond, over, full, parallel, stopped, workload };
  struct Refusal {
    Refused why = Refused::unknown;
    LimitState* limit = nullptr;
    Group* group = nullptr;
    std::optional<io::Wall> until = {};
    const Entry* by = nullptr;
    std::string text = {};  // of a workload
  };

  struct Due {
    enum Kind { node, latch, interval, missing, workloads } kind = node;
    std::string name;
    auto operator<=>(const Due&) const = default;
  };

  Core(io::Loop& loop, kube::Store<kube::Node>& nodes, kube::Store<kube::Object>& limits, budget::Ledger& ledger);

  // desk_count.cc: who counts.
  void node_changed(const kube::Node* before, const kube::Node* after);
  void node_gone(const kube::Node& node);
  std::vector<Fact> facts(const kube::Node& node) const;
  void rejoin(NodeState& state, const kube::Node& node);
  void rejoin(NodeState& state, const kube::Node& node, LimitState& limit);
  void join(NodeState& state, LimitState& limit, std::vector<std::string> values, std::string unit);
  void part(NodeState& state, size_t index);
  void recount(NodeState& state);
  Tally tally(const NodeState& state, const Limit& limit, std::optional<io::Steady>& due) const;
  Tally settled(Member& member, Tally now_says, std::optional<io::Steady>& due);
  bool lingers(Member& member, const Tally& says, std::optional<io::Steady>& due) const;
  void apply(Member& member, Tally tally);
  template <class F>
  void change(Group& group, Unit& unit, F&& make);
  void recap(Group& group);
  Group& group_of(LimitState& limit, const std::vector<std::string>& values);
  void drop_if_empty(Group& group);
  void forget_if_empty(NodeState& state);
  NodeState& state_of(std::string_view node);
  std::vector<Holder> holders_of(const NodeState& state, const Limit& limit) const;
  int reserve_of(const Group& group, const Unit& unit) const;
  void check_latch(Group& group);

  // desk_limits.cc: which limits there are, and who is missing.
  void limit_changed(const kube::Object* before, const kube::Object* after);
  void remove_limit(std::string_view name);
  void add_limit(Limit limit);
  void read_anew();
  void lose(const kube::Node& node, const NodeState& state);
  void add_missing(budget::Admission admission);
  void attach_missing(const Missing& missing, LimitState* only);
  void found(std::string_view uid);
  void replace_in(Group& group, const kube::Node& node);
  void replaced(const std::string& uid, Group& group);
  void inherit();
  void ledger_ended(const budget::Admission& admission);

  // desk_sizes.cc: how many nodes there should be.
  void follow(OtherObjects& others);
  void belong(NodeState& state, std::optional<SetId> set);
  void resize(NodeSet& set);
  void enter(NodeSet& set, Group& group);
  void leave(NodeSet& set, Group& group);
  void detach(NodeSet& set, Group& group);
  void charge(Group& group, int64_t more);
  void lack_again(const SetId& id, Group& group);
  void forget_if_unused(NodeSet& set);

  // desk_queue.cc: whose turn it is.
  Turn turn_of(const Asking& asking, const NodeState* state) const;
  void take(Place place);
  void release(std::string_view node, std::string_view who);
  void wait(Asking asking);
  void leave(std::string_view node, std::string_view who);
  void link(Entry& entry);
  void unlink(Entry& entry);
  void stand_in(Entry& entry, Row* row);
  void reconsider(Entry& entry);
  void reconsider(NodeState& state);
  void requeue(Entry& entry);
  void drop(Entry& entry);
  void offer(Entry& entry);
  void withdraw(Entry& entry);
  void pass_over(NodeState& state, const Turn& turn);
  // The group's numbers allow more than before.
  void eased(Group& group) {
    dirty_.insert(&group);
    soon();
  }
  void settle();
  void serve();
  std::optional<Refused> consider(Entry& entry, const Group* group);
  bool eligible(const Group& group, size_t need) const;
  Need need_of(const Entry& entry, const Member& member) const;
  // Until visit() says no.
  void refusals(const NodeState* state, const Asker& asker, const std::function<bool(const Refusal&)>& visit) const;
  std::optional<Refusal> refusal_of(const Member& member, const Asker& asker) const;
  std::optional<Refusal> interval_of(LimitState& limit, const Asker& asker) const;
  int64_t kept_for_others(const Group& group, std::string_view actor) const;
  static bool tested(const Limit& limit, std::string_view who) {
    return limit.mode != Mode::observe || !who.starts_with(kForeignPrefix);
  }
  void passed_long_enough();

  // desk_workloads.cc: limits about workloads.
  void follow(WorkloadSources sources, std::function<void(const WorkloadLimits&)> watch);
  void put_workload_limit(LimitState& limit);
  void drop_workload_limit(const LimitState& limit);
  bool is_taken(const NodeState& state) const;
  void recall(NodeState& state);
  void remember(NodeState& state);
  void remember_all();
  void inherit_workloads(const budget::Admission& admission);
  void forget_workloads(NodeState& state);
  void ease_workloads();
  bool refused_by_workloads(const NodeState& state, const Asker& asker,
                            const std::function<bool(const Refusal&)>& visit) const;

  // desk_text.cc: for people.
  std::string text(const NodeState* state, const Asker& asker) const;
  std::string sentence(const Refusal& refusal, const Asker& asker) const;
  const std::string& listed(const Group& group) const;
  GroupState state(const Group& group) const;
  std::map<const Entry*, io::Wall> expected() const;

  // Time.
  void soon();
  void ring();
  void rearm();
  io::Wall now() const { return loop_.wall_now(); }

  io::Loop& loop_;
  kube::Store<kube::Node>& nodes_;
  kube::Store<kube::Object>& objects_;
  budget::Ledger& ledger_;
  Rules rules_;

  std::map<std::string, NodeState, std::less<>> states_;
  std::map<std::string, LimitState, std::less<>> limits_;
  size_t node_limits_ = 0;
  std::map<std::string, LimitState*, std::less<>> about_workloads_;
  std::unique_ptr<WorkloadLimits> workloads_;
  std::function<void(const WorkloadLimits&)> watch_workloads_;
  std::vector<CountedTaint> taints_;
  OtherObjects* others_ = nullptr;
  std::map<SetId, NodeSet> sets_;
  bool leads_ = false;                                   // the ledger is this process's
  io::Wall leads_from_{};                                // who left before that may have been leaving for long
  std::map<std::string, Missing, std::less<>> missing_;  // by UID
  bool known_ = false;
  std::string why_unknown_;
  uint64_t counted_ = 0;
  size_t entries_ = 0;
  Durations durations_;

  Row everywhere_;  // nothing at all is admitted
  Row fresh_;       // those to be looked at next, wherever they stood
  std::set<Group*> dirty_;
  std::set<Group*> recounted_;
  std::set<Group*> exceeded_;
  std::set<LimitState*> limits_eased_;
  bool all_eased_ = false;
  bool serving_ = false;
  Timetable<Due> due_;
  std::set<std::pair<io::Wall, Entry*>> ageing_;
  std::set<std::pair<io::Steady, Entry*>> passed_, declined_;
  std::vector<std::pair<std::string, std::string>> turns_;  // to be told
  bool changed_ = false;
  bool soon_ = false;
  io::Hub<const std::string&, const std::string&> turn_hub_;
  io::Hub<> change_hub_;
  io::Alarm alarm_, settle_;
  std::vector<io::Subscription> follows_;
};

template <class F>
void Desk::Core::change(Group& group, Unit& unit, F&& make) {
  const auto view = [&unit] {
    return std::tuple(unit.counted > 0, unit.working > 0, unit.is_claimed(), unit.is_busy(), unit.reserve);
  };
  const auto before = view();
  make();
  if (!group.reserve_used.empty()) unit.reserve = reserve_of(group, unit);
  const auto after = view();
  group.listed.reset();
  if (before == after) return;
  const auto [counted, working, claimed, busy, reserve] = before;
  group.used += (unit.counted > 0) - counted;
  group.working += (unit.working > 0) - working;
  group.claimed += unit.is_claimed() - claimed;
  group.busy += unit.is_busy() - busy;
  if (reserve >= 0) --group.reserve_used[static_cast<size_t>(reserve)];
  if (unit.reserve >= 0) ++group.reserve_used[static_cast<size_t>(unit.reserve)];
  const bool freed = claimed > unit.is_claimed() || busy > unit.is_busy() || reserve != unit.reserve;
  if (freed) eased(group);
  if (counted != (unit.counted > 0)) recounted_.insert(&group);
  changed_ = true;
  soon();
  for (Member* const member : unit.members) reconsider(member->node);
}

}  // namespace careen::limits
