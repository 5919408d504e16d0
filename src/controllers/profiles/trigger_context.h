// What a trigger may change and how it ends.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "controllers/profiles/hypervisor_draft.h"
#include "controllers/profiles/trigger.h"
#include "drain/options.h"
#include "io/time.h"

namespace careen::profiles {

class Drains;
class Hypervisors;
class NodeDraft;

struct TriggerContext {
  NodeDraft& node;
  const Hypervisors& hypervisors;
  HypervisorDraft& hypervisor;
  std::string_view profile = {};
  bool entered = false;  // the chain belongs to a state that has been entered, not to a transition
  io::Wall now = {};
  const Drains* drains = nullptr;  // null: nothing can be drained
};

struct TriggerResult {
  std::string error;     // not empty: the chain stops here
  bool pending = false;  // no answer yet: what it has to look at is not known
  bool retry = false;    // not done yet: run again later, nothing has failed
  std::string reason;    // why it is not done yet
  // The node is to be cordoned and drained like this, until what the chain changes has been written.
  std::optional<drain::Options> drain;
  std::string overdue;                 // not empty: it takes longer than it should, to be reported once
  std::optional<io::Wall> changes_at;  // without any change, it may say something else from this time on
};

}  // namespace careen::profiles
