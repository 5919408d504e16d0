// Limits as checks speak of them: whose places are counted, how many there are and how many are taken.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
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

// A limited number of places, shared by all nodes that ask for one of the same kind. Most are places in a scope of
// nodes under maintenance; a group of leases, a value that one node may use, or room in the ledger are such places too.
struct Key {
  Scope scope;
  int64_t max = 0;
  io::Duration skip_after{};  // not zero: maintenances older than this do not count any more
  std::string lease = {};     // not empty: leases of that name, namespace/name, instead of a scope
  std::optional<observe::PrometheusQuery> observation = std::nullopt;  // a value that was asked for, instead of a scope
  bool ledger = false;  // room in the ledger's record, instead of a scope
  bool counts_nodes() const { return lease.empty() && !observation && !ledger; }
  auto operator<=>(const Key&) const = default;
};

struct Use {
  int64_t used = 0;
  // When all places are taken: without any change, one becomes free at this time.
  std::optional<io::Wall> free_at;
};

// A budget without a free place, and since when this node wants one.
struct Wait {
  Key key;
  io::Wall since{};
  std::optional<io::Wall> free_at;
};

}  // namespace careen::budget
