// The table by which nodes wait their turn under limits of mode Queue or Enforce: what becomes of an eviction that
// somebody else asks for, and when the place ends that a node got by one. Pure: it is asked with what is known of the
// pod, of its node and of the time.
//
// Only a node that is leaving waits, so single evictions pass, and a node that waits serves on.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "limits/facts.h"
#include "limits/place.h"

namespace careen::kube {
struct Pod;
}

namespace careen::limits {

struct EvictedPod {
  bool known = false;
  std::string node = {};  // empty: it is bound to none
  bool finished = false;
  bool mirror = false;
  bool daemon_set = false;
  bool operator==(const EvictedPod&) const = default;
};
// `pod`: null when there is none of that name.
EvictedPod evicted_pod(const kube::Pod* pod);

struct EvictedNode {
  bool makes_wait = false;  // a limit of mode Queue or Enforce selects it
  bool leaving = false;
  bool fresh = false;  // it was read within the last second: a drain cordons just before it evicts
  bool placed = false;
};

// The rows, the first that fits decides. What begins with `look` or `ask` is no answer yet.
enum class EvictionRow {
  unconcerned,  // nobody has to wait for that pod
  look,         // the node does not look as if it were leaving, and has to be read
  staying,      // it stays
  placed,       // it may be out
  ask,          // it needs a place
};
EvictionRow row_of(const EvictedPod& pod, const EvictedNode& node);

// Of a node's facts the first that says that somebody takes it out of service; null: it is not leaving. A node that has
// merely failed is not. What careen itself holds has a place; a hold that has none may be anybody's words.
const Fact* leaving_by(const std::vector<Fact>& facts);
bool is_down(const std::vector<Fact>& facts, io::Wall now);
// Until when it counts as out by what it says: nothing if it does not.
std::optional<io::Wall> out_until(const std::vector<Fact>& facts, io::Wall now);

// Whose turn comes when. Whoever is no service account is a person.
bool is_person(std::string_view user);
Rank rank_of_eviction(std::string_view user, bool down);

// Who is shown, and is the second part of `foreign/<actor>`: short and printable, whatever a node says.
// `otherwise`: where the facts name nobody.
std::string foreign_actor(const std::vector<Fact>& facts, std::string_view otherwise = {});
std::string foreign_who(std::string_view actor);
bool is_foreign_who(std::string_view who);

// A node keeps its turn for that long without an attempt.
inline constexpr io::Duration kKeepsItsTurn = io::minutes{15};
// A place of which nothing is seen ends after that long.
inline constexpr io::Duration kUnusedPlace = io::minutes{10};

// What has been seen of a place that somebody else has.
struct SeenOfPlace {
  io::Wall since{};
  io::Wall last_eviction{};                 // not before `since`
  bool was_out = false;                     // the node has shown a fact since it got the place, or may have
  std::optional<io::Wall> back_since = {};  // it is schedulable, ready and without facts; nothing: it is not
  io::Duration settle{};                    // of the limits that select it, the longest
};
// Nothing: only a change of the node can end it.
std::optional<io::Wall> place_ends_at(const SeenOfPlace& seen);

}  // namespace careen::limits
