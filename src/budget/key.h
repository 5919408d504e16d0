// Limits in the words of those who need a place: whose places are counted, how many there are and how many are taken.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/time.h"
#include "observe/prometheus_query.h"

namespace careen::budget {

// Which nodes a limit looks at. Empty: all of them.
struct Scope {
  std::string subset;                                       // a profile: what is in it, a NodeReader says
  std::vector<std::pair<std::string, std::string>> labels;  // all equal

  auto operator<=>(const Scope&) const = default;
  // "all nodes in the cluster" or "nodes matching the k=v,k2=v2 label selector".
  std::string text() const;
};

// Places in a scope of nodes under maintenance.
struct NodePlaces {
  Scope scope;
  int64_t max = 0;
  io::Duration skip_after{};  // not zero: maintenances older than this do not count any more
  auto operator<=>(const NodePlaces&) const = default;
};

// Leases of a name, <group>-0 to <group>-<max − 1>, each for one node.
struct LeasePlaces {
  std::string group;  // namespace/name
  int64_t max = 0;
  auto operator<=>(const LeasePlaces&) const = default;
};

// A value that was asked for, which one node may use.
struct ObservedValue {
  observe::PrometheusQuery source;
  auto operator<=>(const ObservedValue&) const = default;
};

// Room in the ledger's record.
struct LedgerRoom {
  auto operator<=>(const LedgerRoom&) const = default;
};

// A limited number of places, shared by all nodes that ask for one of the same kind. Node places come first in order,
// and those of one scope beside each other.
using Key = std::variant<NodePlaces, LeasePlaces, ObservedValue, LedgerRoom>;

struct Use {
  int64_t used = 0;
  int64_t max = 0;
  // When all places are taken: without any change, one becomes free at this time.
  std::optional<io::Wall> free_at = std::nullopt;
  std::string by = {};  // who has them, for people; where it was asked for

  bool full() const { return used >= max; }
  int64_t free() const { return full() ? 0 : max - used; }
};

// A budget without a free place, and since when this node wants one.
struct Wait {
  Key key;
  io::Wall since{};
  std::optional<io::Wall> free_at;
};

}  // namespace careen::budget
