// What happens next to one Machine: a pure function from what is known of it and of its Node to the next write, or to
// what is waited for. The Node comes first: nothing is written to a Machine whose Node is not as it should be.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "controllers/machines/machine.h"
#include "controllers/slot/why.h"
#include "io/time.h"

namespace careen::budget {
struct Pause;
}

namespace careen::machines {

struct RelayOptions {
  // The hook is there also while no profile looks after the Node: then nobody will ever approve, until people do.
  bool hook_without_state = false;
  // Approvals that nobody asked for any more are taken off the Node, so that none is left for the next time.
  bool clear_approvals = false;
  // A MachineHealthCheck leaves a Machine alone while it is in maintenance.
  bool skip_remediation = true;
  bool metal3 = false;  // hosts are powered off and on
};

// How much is known of a Machine's Node.
enum class Sight {
  no_node,     // the Machine has none yet
  connecting,  // its cluster is asked for the first time
  unseen,      // its cluster cannot be asked
  gone,        // its cluster has no such Node, or it is another Machine's now
  disputed,    // nobody can say whose that Node is
  seen,
};

struct World {
  const Machine* machine = nullptr;
  Sight sight = Sight::no_node;
  const Node* node = nullptr;  // where it is seen
  std::string trouble;         // why it cannot be seen, or whose it is now, for people
  const Host* host = nullptr;  // that the Machine runs on, where hosts are powered; null: not known
  const budget::Pause* pause = nullptr;
};

// What this process knows of a Machine beyond what the API servers keep.
struct Memory {
  std::string uid;
  std::optional<io::Wall> disabled;  // since when it is seen to be so
  bool granted = false;              // it was seen in maintenance, and not back since
  std::optional<io::Wall> returned;  // since when its maintenance is seen to be over
  int node_failures = 0;             // of writes to its Node, in a row

  void clock_stepped(io::Duration by);
};

struct NodeWrite {
  std::vector<std::pair<std::string_view, bool>> labels;  // set to "true", or removed
};

struct MachineWrite {
  std::optional<bool> hook;  // put there, or taken away
  bool approve = false;
  std::optional<bool> skip_remediation;  // the same as with the hook
  std::string reason = {};               // why the hook goes, or has to come
  // It lets others go on, which a pause forbids.
  bool lets_go = false;
};

enum class Phase {
  disabled,
  no_node,
  unseen,
  unmaintained,  // no profile looks after its Node: it has no hook
  guarded,       // has its hook
  held,          // is being deleted, and waits for its Node's approval
  released,      // is being deleted, and may be
  requested,
  approved,
  returning,  // its maintenance is over, but it is not back yet
};
inline constexpr size_t kPhases = static_cast<size_t>(Phase::returning) + 1;
std::string_view name_of(Phase phase);  // as documents have it
// Something is being done about it, or ought to be.
bool is_busy(Phase phase);

struct Decision {
  std::optional<NodeWrite> node;
  std::optional<MachineWrite> machine;  // never with one of the Node
  std::optional<io::Wall> wake;
  Phase phase = Phase::disabled;
  bool out = false;  // in approved maintenance, or not back from it yet
  Why why;
};

// What would be written, for people; empty: nothing.
std::string text_of(const Decision& decision);
// Takes notice of what began when.
void observe(const World& world, Memory& memory, io::Wall now);
Decision decide(const World& world, const Memory& memory, const RelayOptions& options, io::Wall now);

// Of a Node that is no Machine's any more: what careen has written there goes.
std::optional<NodeWrite> tidy(const Node& node);

// How long the Node of a Machine that is not enabled any more is waited for before the hook goes without it.
inline constexpr io::Duration kPatience = io::seconds{30};
// How often a write to it is tried.
inline constexpr int kTries = 3;
// How long a Machine may need to be Ready again after a maintenance; then a MachineHealthCheck may have it.
inline constexpr io::Duration kLongestReturn = io::hours{1};

}  // namespace careen::machines
