// Occupancy: which nodes count as being in maintenance, for any scope a limit can have. A node counts from the moment
// it is admitted (its entry in the ledger) until it has left the state, as it says itself. Counts are kept up to date
// as nodes change, so that asking costs nothing per node.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "budget/key.h"
#include "budget/node_reader.h"
#include "io/time.h"

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::budget {

class Ledger;

class Occupancy {
 public:
  struct Member {
    std::optional<NodeReader::InState> in_state;  // nothing: it has only been admitted
    bool admitted = false;                        // its maintenance is yet to begin, whatever it says of itself
    bool operator==(const Member&) const = default;
  };
  using Members = std::map<std::string, Member, std::less<>>;  // by node name

  Occupancy(const kube::Store<kube::Node>& nodes, const Ledger& ledger, const NodeReader& reader)
      : nodes_(nodes), ledger_(ledger), reader_(reader) {}

  // The scopes whose members have changed.
  struct Changes {
    std::vector<Scope> left;
    std::vector<Scope> joined;
    std::vector<Scope> altered;  // still a member, with other facts
  };
  // Looks at one node again, after it or its admission changed.
  Changes update(std::string_view node);
  // Looks at all of them, also after the reader has learnt to read otherwise.
  void rebuild();

  // Nodes that count in the scope. Built on first use.
  const Members& members(const Scope& scope) const;
  bool contains(std::string_view node) const { return all_.contains(node); }
  const Member* find(std::string_view node) const {
    const auto found = all_.find(node);
    return found == all_.end() ? nullptr : &found->second;
  }

 private:
  bool matches(const Scope& scope, std::string_view node) const;
  const kube::Store<kube::Node>& nodes_;
  const Ledger& ledger_;
  const NodeReader& reader_;
  Members all_;
  mutable std::map<Scope, Members> scopes_;
};

// A place that is merely kept for `asking` does not count against it.
Use measure(const Occupancy& occupancy, const NodePlaces& places, io::Wall now, std::string_view asking = {});
// The nodes that have those places.
void for_each_holder(const Occupancy& occupancy, const NodePlaces& places, io::Wall now, std::string_view asking,
                     const std::function<void(const std::string& node)>& visit);
// The same for people: the first ones by name, as people count.
std::vector<std::string> holders(const Occupancy& occupancy, const NodePlaces& places, io::Wall now,
                                 std::string_view asking, size_t most);

}  // namespace careen::budget
