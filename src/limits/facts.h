// What a node says of being out, whoever took it out: cordons, taints, conditions, annotations, and the record of
// careen's own holds. A pure function of the node as it is cached. Whoever can write a Node can write any of this, so a
// fact never allows anything: it only counts. The label of a profile's state is not among them: whose it is depends on
// who has a place.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::limits {

struct Fact {
  enum class Kind {
    out,      // it does not serve, or is about to stop
    working,  // somebody works on it
    down,     // it has failed
    plan,     // announced only: shown, never counted
  };
  Kind kind = Kind::out;
  std::string actor;              // kubectl, kured, karpenter, failure, terminal/ana@host
  std::string what;               // for people: "cordoned", "taint karpenter.sh/disrupted", "not ready"
  std::optional<io::Wall> since;  // nothing: the node does not say
  bool cordon = false;            // a cordon that is not careen's: it counts after spec.foreignCordonAfter
  // A hold of careen: whoever has it counts by its place, if it is still known. Its actor is the hold's owner as the
  // place has it: nodemaintenance/disk, profile/os-update, terminal/ana@host, request/mr-x7k2p.
  bool own = false;
  std::optional<io::Wall> until = {};  // it counts until then; nothing: as long as it is there
  bool lingers = false;                // announced only, but what counts already goes on counting while it is there
  bool counts() const { return kind != Kind::plan; }
  bool operator==(const Fact&) const = default;
};

// A taint by which somebody says that he works on a node, besides those that everybody knows.
struct CountedTaint {
  std::string key;
  std::string actor;
};
// "example.com/broken=repair-bot"; nothing if it is none.
std::optional<CountedTaint> parse_counted_taint(std::string_view text);

// In the order in which they are shown: whoever came first, first.
std::vector<Fact> facts_of(const kube::Node& node, const std::vector<CountedTaint>& taints = {});
// Puts one more among them.
void add_in_order(std::vector<Fact>& facts, Fact fact);
// A stranger's name as it can be shown: harmless, and not at length.
std::string shown_stranger(std::string_view text);

// kured, and its DaemonSet, which has the lock.
inline constexpr std::string_view kKuredActor = "kured";
inline constexpr const char* kKuredLock = "weave.works/kured-node-lock";

// The policies of the reference.
bool is_not_ready(const kube::Node& node, bool only_false = false);

}  // namespace careen::limits
