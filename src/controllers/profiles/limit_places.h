// Places in MaintenanceLimits, which count whoever takes nodes out: besides what its checks say, a profile needs one in
// every limit that selects the node. They are asked for at the one desk of all who claim; here is which nodes have one
// for a profile, and since when others want one.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "io/subscription.h"
#include "io/time.h"
#include "limits/place.h"

namespace careen::budget {
class Ledger;
class NodeReader;
class Occupancy;
}  // namespace careen::budget

namespace careen::io {
class Loop;
}

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {
class Desk;
}

namespace careen::profiles {

struct Config;

class LimitPlaces {
 public:
  // Where the places of profiles are seen from.
  struct World {
    const kube::Store<kube::Node>& nodes;
    const budget::Ledger& ledger;
    const budget::Occupancy& occupancy;
    const budget::NodeReader& reader;
  };
  // Without a desk there are no such limits. `wake` has a node decided again: it is its turn.
  LimitPlaces(io::Loop& loop, limits::Desk* desk, World world, std::function<void(const std::string& node)> wake);

  // Some limit is about the node.
  bool concern(std::string_view node) const;
  const limits::Desk& desk() const { return *desk_; }
  // What the profile asks for now, with the time since when it has been asking.
  limits::Asking asking(std::string_view node, std::string_view profile, io::Wall now) const;

  // What the node waits for after its latest decision. What it was offered and has not taken goes to the next.
  void wait(const std::string& node, std::vector<limits::Asking> asking);

  // It is in maintenance, was admitted, or is so no more: the occupancy has been brought up to date.
  void update(std::string_view node);
  void rebuild(const Config* config);

  // Nodes that wait, and fit.
  size_t nodes_if(const std::function<bool(const std::string&)>& fits) const;

 private:
  std::vector<limits::Place> places_of(std::string_view node) const;

  io::Loop& loop_;
  limits::Desk* desk_;
  World world_;
  const Config* config_ = nullptr;
  std::map<std::string, std::vector<limits::Place>, std::less<>> taken_;     // by node
  std::map<std::string, std::vector<limits::Asking>, std::less<>> waiting_;  // by node
  io::Subscription turns_;
};

}  // namespace careen::profiles
