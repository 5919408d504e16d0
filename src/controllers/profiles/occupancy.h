// Occupancy: which nodes count as being in maintenance, for any scope a limit can have. A node counts from the moment
// it is admitted (its entry in the ledger) until it has left the state. Counts are kept up to date as nodes change,
// so that asking costs nothing per node.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controllers/profiles/budget_key.h"
#include "io/time.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::profiles {

struct Config;

class Occupancy {
 public:
  struct Member {
    bool in_state = false;  // the node itself says so; otherwise only admitted
    bool admitted = false;  // its maintenance is yet to begin, whatever it says of itself
    // The latest transition per profile of the node, for limits that forget old maintenances; nullopt when the
    // node's data cannot be read.
    std::optional<std::map<std::string, io::Wall, std::less<>>> transitions;
    bool operator==(const Member&) const = default;
  };
  using Members = std::map<std::string, Member, std::less<>>;  // by node name

  Occupancy(const kube::Store<kube::Node>& nodes, const budget::Ledger& ledger) : nodes_(nodes), ledger_(ledger) {}

  // The scopes whose members have changed.
  struct Changes {
    std::vector<Scope> left;
    std::vector<Scope> joined;
    std::vector<Scope> altered;  // still a member, with other facts
  };
  // Looks at one node again, after it, its admission or the configuration changed.
  Changes update(std::string_view node, const Config& config);
  void rebuild(const Config& config);

  // Nodes that count in the scope. Built on first use.
  const Members& members(const Scope& scope) const;
  bool contains(std::string_view node) const { return all_.contains(node); }

 private:
  bool matches(const Scope& scope, std::string_view node) const;
  const kube::Store<kube::Node>& nodes_;
  const budget::Ledger& ledger_;
  Members all_;
  mutable std::map<Scope, Members> scopes_;
};

// A place that is merely kept for `asking` does not count against it.
BudgetUse measure(const Occupancy& occupancy, const BudgetKey& key, io::Wall now, std::string_view asking = {});
// The nodes that have those places, for people: the first ones by name, as people count.
std::vector<std::string> holders(const Occupancy& occupancy, const BudgetKey& key, io::Wall now,
                                 std::string_view asking, size_t most);

// The names in a node's profile label, in order and once each; the default profile when there is none.
std::vector<std::string> profiles_of(std::optional<std::string_view> label);

}  // namespace careen::profiles
