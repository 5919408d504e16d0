// The places of NodeMaintenances in MaintenanceLimits, which count whoever takes nodes out. A maintenance has one from
// before its first write to the node until the node shows nothing of it any more and nothing of it can be on its way.
// The ledger has it until the node's own record shows the hold, which speaks for itself from then on.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "io/loop.h"
#include "io/subscription.h"
#include "io/task.h"
#include "limits/place.h"

namespace careen::budget {
class Ledger;
}

namespace careen::kube {
struct Node;
struct WriteResult;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {
class Desk;
}

namespace careen::nodemaintenance {

struct Decision;
struct Maintenance;
class Roster;

class Places {
 public:
  struct Parts {
    io::Loop& loop;
    limits::Desk* desk = nullptr;  // null: there are no such limits
    budget::Ledger& ledger;
    const kube::Store<kube::Node>& nodes;
    const Roster& roster;
    // Has that maintenance decided again.
    std::function<void(std::string_view maintenance)> wake;
    // A write of the maintenance may still be on its way: settled() is to be called once none is.
    std::function<void(const limits::Place& place)> settle;
  };
  explicit Places(Parts parts);

  // From now on this process decides: first what the ledger and the nodes say of maintenances that were begun before.
  void begin();

  // Takes, keeps or gives back what was decided for the maintenance of that name, which may be gone.
  void follow(const std::string& maintenance, const Maintenance* found, const Decision& decision);
  // The node, or what it shows, has changed.
  void node_changed(std::string_view node);

  // Resumes when the place is on record; false when it will not be, and everything is to be decided again.
  io::Task<bool> recorded(std::string maintenance, std::string node_uid);
  // A hold is about to be sent; how that ended.
  void sending(const std::string& maintenance, const std::string& node);
  void sent(const std::string& maintenance, const std::string& node, const kube::WriteResult& result);
  void settled(const limits::Place& place);

  // How many there are of maintenances that are over.
  size_t unfinished() const;

 private:
  struct Kept {
    limits::Place place;
    bool wanted = true;
    bool in_doubt = false;  // a hold may be on its way
    bool settling = false;
  };
  using OnNode = std::map<std::string, Kept, std::less<>>;  // by who

  void inherit();
  Kept* find(std::string_view node, std::string_view who);
  Kept& take(limits::Place place);
  void record(const Kept& kept);
  void end(std::string_view node, std::string_view who);
  void drop(const std::string& node, const std::string& who);
  void wait(const std::string& who, const Decision& decision);

  Parts p_;
  std::map<std::string, OnNode, std::less<>> kept_;                     // by node
  std::map<std::string, std::set<std::string>, std::less<>> nodes_of_;  // by who
  std::map<std::string, std::string, std::less<>> waiting_;             // by who: the node
  io::Subscription turns_, changes_, heirs_;
  io::Alarm refresh_;
};

}  // namespace careen::nodemaintenance
