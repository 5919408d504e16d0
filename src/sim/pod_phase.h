// Whether a pod is at its end: its phase tells.
#pragma once

#include <string_view>

#include "sim/value.h"

namespace careen::sim {

inline bool is_last_phase(std::string_view phase) { return phase == "Succeeded" || phase == "Failed"; }
inline bool has_ended(const json::value& pod) { return is_last_phase(text_at(pod, {"status", "phase"})); }

}  // namespace careen::sim
