// A pause as it stands in documents for programs (docs/api.md).
#pragma once

#include "budget/pause.h"
#include "kube/json.h"

namespace careen::app {

inline kube::Json pause_json(const budget::Pause& pause) {
  kube::Json out = kube::Json::object({{"by", pause.by}, {"since", io::format_rfc3339(pause.since)}});
  if (!pause.profile.empty()) out.set({"profile"}, pause.profile);
  if (!pause.reason.empty()) out.set({"reason"}, pause.reason);
  return out;
}

}  // namespace careen::app
