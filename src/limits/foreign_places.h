// Those who are not careen, as the replica that leads knows them: which nodes of theirs wait for a place, which have
// one, and when it ends. A node gets in line by an eviction that was refused, and its place by one that is let through;
// the place is in the ledger before that. Nodes that were leaving when a limit began to make nodes wait have places
// without having asked: what had begun before is not stopped. Which limits have begun is in the ledger, too, so that a
// successor does not begin anew, and does once the ledger was lost.
//
// There is never more of it than there are nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/log.h"
#include "io/loop.h"
#include "io/subscription.h"
#include "io/sync.h"
#include "io/task.h"
#include "io/time.h"
#include "limits/evictions.h"
#include "limits/facts.h"
#include "limits/place.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {

class Desk;
struct Limit;

// A limit that makes others wait, whatever else may be wrong with it.
bool makes_wait(const Limit& limit);
// Of those that select the node some limit does.
bool makes_wait(const Desk& desk, std::string_view node);

class ForeignPlaces {
 public:
  struct Parts {
    io::Loop& loop;
    kube::Store<kube::Node>& nodes;
    Desk& desk;
    budget::Ledger& ledger;
    io::Log log = {};
  };
  explicit ForeignPlaces(Parts parts);
  ForeignPlaces(const ForeignPlaces&) = delete;
  ForeignPlaces& operator=(const ForeignPlaces&) = delete;

  // The places that the ledger of a predecessor shows become ours. Called when the ledger was taken over and the nodes
  // were listed under it, before anybody decides.
  void take_over();
  // Looks after all places and the line, until cancelled.
  io::Task<void> run();

  // Somebody wants to evict a pod from a node that is leaving, or the node itself to leave.
  struct Attempt {
    std::string node;
    std::string uid;          // of the node
    uint64_t version = 0;     // that it was seen in last
    std::vector<Fact> facts;  // as it was then
    std::string user;
    std::string actor = {};  // who is shown, where the facts name nobody
    bool dry_run = false;
    bool joins_line = true;  // it comes again while it leaves; who is refused before it leaves does not
    io::Duration patience;   // for the record of a place
  };
  enum class Outcome {
    placed,    // it has a place
    admitted,  // it has got one
    waits,     // it is in line, but for a dry run
    late,      // it has one that is not on record yet
    full,      // there is no room for one on record
  };
  struct Answer {
    Outcome outcome = Outcome::waits;
    std::string text = {};  // why not; empty if it may
    bool allowed() const { return outcome == Outcome::placed || outcome == Outcome::admitted; }
  };
  io::Task<Answer> evict(Attempt attempt);

  size_t waiting() const;
  size_t placed() const;

 private:
  // A node in line, or with a place.
  struct Entry {
    std::string uid;
    std::string who;
    std::string actor;
    Rank rank = Rank::campaign;
    io::Wall since{};         // of its first attempt, or of its place
    io::Wall last_attempt{};  // for an eviction
    bool in_line = false;     // the desk knows that it waits
    bool placed = false;
    bool recorded = false;
    uint64_t left_in = 0;  // the version of the node that showed that it leaves
    bool was_out = false;
    std::optional<io::Wall> back_since = {};
  };
  using Entries = std::map<std::string, Entry, std::less<>>;  // by node

  io::Task<Answer> record(std::string node, Outcome outcome, io::Duration patience);
  Asking asking_of(const std::string& node, const Entry& entry) const;
  std::string key_of(const Entry& entry) const;
  bool give_place(const std::string& node, Entry& entry);
  void look_again();
  void begin_and_end_limits();
  void begin(const Limit& limit);
  // When to look at it again without any change; nothing when it is to be dropped.
  std::optional<io::Wall> look_at(const std::string& node, Entry& entry);
  std::optional<io::Wall> look_at_place(const std::string& node, Entry& entry);
  std::optional<io::Wall> look_at_turn(const std::string& node, Entry& entry);
  void drop(const std::string& node, const Entry& entry);
  io::Duration settle_of(const std::string& node) const;

  Parts p_;
  Entries entries_;
  io::Signal changed_;
  io::Alarm timer_;
  io::Subscription node_changes_;
  io::Subscription limit_changes_;
};

}  // namespace careen::limits
