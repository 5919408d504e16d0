// decide(): what should happen next to one MaintenanceRequest, given the world and the time, and why. A pure function:
// no I/O, no clock. It names one write at a time; what the server answers is in the world before the next decision.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "controllers/requests/evidence.h"
#include "controllers/requests/request.h"
#include "controllers/slot/why.h"
#include "drain/holds.h"
#include "drain/options.h"
#include "io/time.h"
#include "limits/desk.h"

namespace careen::budget {
struct Pause;
}

namespace careen::drain {
struct Progress;
}

namespace careen::kube {
class AtomPool;
struct Node;
}  // namespace careen::kube

namespace careen::limits {
struct Limit;
}

namespace careen::requests {

struct ControllerOptions {
  bool require_limit = false;  // where no limit is about a node, nothing is approved for it
  // As in the program that careen replaces: `limit: 0` allows one; a node that is not heard of any more is available.
  bool floor_of_one = false;
  bool not_ready_only_false = false;
};

// What this process knows of a request beyond what the API server keeps. Its times are those of our own wall clock, and
// move along with it, so that a wait of a minute takes neither an hour nor no time at all.
struct Memory {
  std::string uid;
  Status status;  // as it was last written, or found; what a definition without these fields drops stays here
  uint64_t status_version = 0;  // of the object when that was
  bool met_waiting = false;     // it was Pending when this process saw it
  bool turned_away = false;     // it was rejected, and goes on all the same
  std::optional<io::Wall> pending, approved, started, finished;
  std::optional<io::Wall> held, drained, infra, detached;  // steps of its drain began, or were over
  Evidence evidence;
  bool wants_text = false;  // what it waits for is worth a look: the queue has moved

  struct Trouble {
    std::string what;
    int failures = 0;
    io::Wall retry_at{};
  };
  Trouble trouble, status_trouble;
  std::optional<io::Steady> status_written;
  bool drops_status = false;  // the definition keeps less than was written: `status` is what there is

  void clock_stepped(io::Duration by);
};

enum class Claim {
  none,
  ours,       // in the ledger, or on its way there
  inherited,  // of a predecessor, whose write may still be on its way
  stale,      // ours, for another node of that name
};

// What holds the node's volumes.
struct Volumes {
  bool known = false;
  std::vector<std::string> names;
};

struct World {
  World(kube::AtomPool& all_atoms, const ControllerOptions& how) : atoms(all_atoms), options(how) {}

  const Request* request = nullptr;          // null: it is gone
  const kube::Node* node = nullptr;          // null: there is none
  std::vector<const limits::Limit*> limits;  // about that node, by their names
  std::string busy_with;                     // another request for the node, whose turn it is; empty: none
  Claim claim = Claim::none;
  bool has_place = false;
  bool ledger_fits = true;
  int64_t position = 0;  // in the queue; 0: it is not known
  std::function<limits::Desk::Answer(const limits::Asking&, limits::Desk::Detail)> ask;
  const drain::Progress* progress = nullptr;  // of its drain; null: there is none
  Volumes volumes;
  const budget::Pause* pause = nullptr;
  kube::AtomPool& atoms;
  const ControllerOptions& options;
  std::optional<io::Wall> leading_since;
};

struct Approve {};
// The state is Rejected, or Completed by evidence.
struct End {
  Ended why;
};
// It was rejected before.
struct TurnAway {
  Ended why;
};
// What may still be on its way is made to conflict.
struct Touch {};
struct HoldNode {
  drain::NodeChange change;
  uint64_t version = 0;
};
struct WriteStatus {
  Status status;
  bool urgent = false;  // more than words have changed
};
// It is over for long enough.
struct Remove {};
using Effect = std::variant<Approve, End, TurnAway, Touch, HoldNode, WriteStatus, Remove>;

struct Decision {
  bool gone = false;
  bool settled = false;  // it is over, and nothing will happen to it any more
  bool takes = false;    // it takes its place, in the desk and in the ledger, before anything else is decided
  std::optional<limits::Asking> waits;  // for a place
  std::optional<drain::Options> drain;
  std::optional<Effect> effect;
  std::optional<io::Wall> wake;
  Status status;  // as it should be
  Why why;
};

// Takes notice of what the world shows of it: when what began, and signs of work.
void observe(const World& world, Memory& memory, io::Wall now);

Decision decide(const World& world, const Memory& memory, io::Wall now);

// What becomes of a hold on the node for which no request stands any more, or whose request is over; an empty change:
// it stays. `stands`: of that name, null if there is none.
drain::NodeChange end_hold(const kube::Node& node, const std::string& owner, const drain::Hold& hold,
                           const Request* stands, const std::vector<const limits::Limit*>& limits,
                           kube::AtomPool& atoms);

// Its node is still held for it.
bool holds_node(const kube::Node& node, const Request& request);

// Nothing has to be done about it, and nothing is known of it that should be: such a request costs nothing.
bool is_settled(const Request& request, io::Wall now);

// How long after its end a request goes; nothing: it stays.
std::optional<io::Duration> time_to_live(const Request& request, const std::vector<const limits::Limit*>& limits);

}  // namespace careen::requests
