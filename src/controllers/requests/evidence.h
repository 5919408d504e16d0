// What a node shows of the work that somebody says to do on it. Actors die in every state: a request that says
// InProgress is believed as long as its node does, and no longer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "io/time.h"

namespace careen::kube {
struct Node;
}

namespace careen::requests {

// Why the node looks as if it were worked on, for people; empty: it does not. A cordon that careen keeps for the
// request itself says nothing. Null: there is no such node, which is a sign, too.
std::string sign_of_work(const kube::Node* node, std::string_view owner);

// As a section of the node: NodeSections.
inline constexpr std::string_view kBootIdPointer = "/status/nodeInfo/bootID";
// Empty when it is not known.
std::string boot_id_of(const kube::Node& node);

// Followed from the moment the work is said to have begun, or from when this process first looked.
struct Evidence {
  std::string boot_id;                  // that was seen last
  std::optional<io::Wall> quiet_since;  // no sign since then; nothing: there is one now
  std::optional<io::Wall> seen;         // the last sign, as far as it is known
  std::string sign;                     // what it is, or was
  std::optional<io::Wall> gone_since;   // there is no such node since then

  // The times of a record by whoever looked before.
  void begin(std::string boot, std::optional<io::Wall> last_seen) {
    boot_id = std::move(boot);
    seen = last_seen;
  }
  void look(const kube::Node* node, std::string_view owner, io::Wall now);
  void clock_stepped(io::Duration by) {
    if (quiet_since) *quiet_since += by;
    if (seen) *seen += by;
    if (gone_since) *gone_since += by;
  }
};

}  // namespace careen::requests
