// Holds: who keeps a node cordoned, tainted or labelled, since when, and what was there before. They are counted in an
// annotation on the node, written together with what they hold; the last holder of a thing undoes it, and what was
// there before stays. All are pure functions of the node as it is cached.
//
// A kubelet may write the annotations of its node, so the record is a stranger's word: of each owner only what owners
// of its kind ever hold is read, and nothing else on the node is ever put there, undone or restored.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/result.h"
#include "io/time.h"
#include "kube/node.h"

namespace careen::drain {

inline constexpr std::string_view kHoldsAnnotation = "careen.dev/holds";
// Owners that are people at a terminal: terminal/<user>@<host>.
inline constexpr std::string_view kTerminalPrefix = "terminal/";

struct BareTaint {
  std::string key, effect;
  friend auto operator<=>(const BareTaint&, const BareTaint&) = default;
};

struct Items {
  bool cordon = false;
  std::vector<BareTaint> taints = {};  // put before all others, in this order, without value and time
  std::map<std::string, std::string> labels = {};
  friend bool operator==(const Items&, const Items&) = default;
};

struct Hold {
  std::string id;  // of the maintenance
  io::Wall since{};
  Items items;
  bool begun = false;  // for something that has begun and may be withdrawn
  friend bool operator==(const Hold&, const Hold&) = default;
};

// All that an owner can hold: the kind of owner, which its name begins with, says it. Nothing for kinds that careen
// does not have.
const Items& may_hold(std::string_view owner);

// The annotation.
struct Holds {
  std::map<std::string, Hold, std::less<>> by_owner;  // <kind>/<name>, profile/<name>, terminal/<user>
  Items before;  // of what is held: what was there already, and stays when nobody holds it any more
  std::map<BareTaint, std::string> values = {};  // of taints in `before`, if they had one: they get it back
  // Owners of other kinds, as they were written: another version of careen may know them. Here they hold nothing.
  std::map<std::string, std::string, std::less<>> unknown;

  // More than this was not written by careen, and is not read.
  static constexpr size_t kMostBytes = 128 << 10;
  static constexpr size_t kMostOwners = 64;
  static constexpr size_t kLongestOwner = 512;
  static constexpr size_t kLongestId = 128;
  static constexpr size_t kLongestUnknown = 512;

  static io::Result<Holds> parse(std::string_view text);
  std::string text() const;
  bool empty() const { return by_owner.empty(); }
  size_t owners() const { return by_owner.size() + unknown.size(); }
  friend bool operator==(const Holds&, const Holds&) = default;
};
// Of the node; an annotation that cannot be read counts as none, and `unreadable` says why.
Holds holds_of(const kube::Node& node, std::string* unreadable = nullptr);

// What has to be written for it; one merge patch under the node's version.
struct NodeChange {
  std::optional<bool> unschedulable;
  std::optional<std::vector<kube::Taint>> taints;                 // the whole list
  std::map<std::string, std::optional<std::string>> labels;       // nullopt: remove
  std::map<std::string, std::optional<std::string>> annotations;  // the same

  bool empty() const { return !unschedulable && !taints && labels.empty() && annotations.empty(); }
  std::string merge_patch(uint64_t version) const;
};

// Whether a thing that is there before the first hold was put there by somebody else, or by careen's predecessor, whose
// work the owner continues.
enum class Found { foreign, own };

// The owner holds these from now on, as far as it may hold them, and nothing else; what somebody took away is put back.
// Empty when everything is as it should be.
NodeChange hold(const kube::Node& node, const std::string& owner, Hold wanted, kube::AtomPool& atoms,
                Found found = Found::foreign);
// What becomes of a cordon that was there before the first hold, when the owner lets go: it stays, or ends as in the
// programs that careen replaces, which know of no cordon but their own.
enum class EarlierCordon { stays, ends };

// The owner holds nothing any more; what nobody else holds is as it was before.
NodeChange release(const kube::Node& node, const std::string& owner, kube::AtomPool& atoms,
                   EarlierCordon cordon = EarlierCordon::stays);
// The same, but what it held stays where it is, as if it had been there before: nobody knows in what state the node is.
NodeChange abandon(const kube::Node& node, const std::string& owner, kube::AtomPool& atoms);
// Somebody wants the node to be schedulable: the cordons of these owners end, and the node is uncordoned unless others
// hold it; then it will be when they let go, also if it was cordoned before.
NodeChange uncordon(const kube::Node& node, std::string_view owner_prefix, kube::AtomPool& atoms);

}  // namespace careen::drain
