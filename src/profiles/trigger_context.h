// What a trigger may change and how it ends.
#pragma once

#include <map>
#include <string>

#include "kube/json.h"
#include "profiles/node_draft.h"
#include "profiles/trigger.h"

namespace careen::profiles {

class Hypervisors;

// Fields of the spec of the Hypervisor named like the node, as they shall be; only those that differ.
using HypervisorDraft = std::map<std::string, kube::Json, std::less<>>;

struct TriggerContext {
  NodeDraft& node;
  const Hypervisors& hypervisors;
  HypervisorDraft& hypervisor;
};

struct TriggerResult {
  std::string error;     // not empty: the chain stops here
  bool pending = false;  // no answer yet: what it has to look at is not known
  bool retry = false;    // not done yet: run again later, nothing has failed
};

}  // namespace careen::profiles
