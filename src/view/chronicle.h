// The chronicle writes the timeline of a replica: it listens to what careen records and puts it in words. When the
// replica begins to lead, it reads careen's own events of the last hours once, to fill the past; without the right to
// list events the timeline begins with the replica.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"
#include "view/timeline.h"

namespace careen::kube {
struct EventRecord;
}

namespace careen::replica {
class Replica;
}

namespace careen::view {

class Chronicle {
 public:
  // Runs on the replica's loop. The replica must outlive it.
  explicit Chronicle(replica::Replica& replica);
  ~Chronicle();
  Chronicle(const Chronicle&) = delete;
  Chronicle& operator=(const Chronicle&) = delete;

  const Timeline& timeline() const;
  // Since when the problem is open.
  io::Wall problem_since(const std::string& key) const;

 private:
  struct Core;
  std::shared_ptr<Core> core_;  // the replica's listeners know it weakly
};

// The entry that an event of careen's about nodes, pods or locks stands for; nothing when it tells nothing that is not
// told otherwise.
std::optional<Entry> entry_of(const kube::EventRecord& event, io::Wall time);

}  // namespace careen::view
