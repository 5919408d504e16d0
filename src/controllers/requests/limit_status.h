// The status of a MaintenanceLimit: what it allows now, who is out and who waits. Pure functions of what is known; an
// empty list or map, a zero and a missing field say the same, so that nothing is written that is there already.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/time.h"
#include "kube/json.h"
#include "limits/desk.h"

namespace careen::kube {
struct Node;
template <class T>
class Store;
}  // namespace careen::kube

namespace careen::limits {
struct Limit;
}

namespace careen::requests {

class Roster;

// When a request under it was last approved, and when one last ended.
struct LimitTimes {
  std::optional<io::Wall> approved, finished;
};

struct LimitPicture {
  int64_t total = 0;                               // nodes that it selects
  int64_t nominal = 0;                             // of them may be out
  std::map<std::string, std::string> unavailable;  // by node, the first policy that matches; the first thousand
  int64_t unavailable_count = 0;
  int64_t running = 0, pending = 0;  // requests
  LimitTimes times;
  std::vector<limits::GroupState> groups;
  std::vector<limits::Waiting> queue;
  bool within = true;     // nobody exceeds it
  std::string beyond_by;  // otherwise who, for people
  // Whether the API server asks about what others do, and why it does not; nothing where the limit does not need it.
  std::optional<bool> asked;
  std::string not_asked;

  // Of the reference: maintenances that it allows now.
  int64_t allowed() const { return nominal > unavailable_count ? nominal - unavailable_count : 0; }
};

LimitPicture picture_of_limit(const limits::Limit& limit, const kube::Store<kube::Node>& nodes, const Roster& roster,
                              const limits::Desk& desk, bool not_ready_only_false);

// What has to be written; nothing: the status says it all. Conditions of others stay.
std::optional<kube::Json> limit_status_change(const limits::Limit& limit, const LimitPicture& picture,
                                              kube::JsonView status, io::Wall now);

// Of that change: what the event is about has changed.
bool changes_allowance(const kube::Json& change);

}  // namespace careen::requests
