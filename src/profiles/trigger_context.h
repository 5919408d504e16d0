// What a trigger may change and how it ends.
#pragma once

#include <string>

#include "profiles/node_draft.h"
#include "profiles/trigger.h"

namespace careen::profiles {

struct TriggerContext {
  NodeDraft& node;
};

struct TriggerResult {
  std::string error;  // not empty: the chain stops here
};

}  // namespace careen::profiles
