// What the API server and the disruption controller both do with the status of a PodDisruptionBudget, and how both see
// a pod.
#pragma once

#include <string>

#include "sim/value.h"

namespace careen::sim {

// The pod's condition Ready is True: what a budget counts as healthy.
bool is_ready(const json::value& pod);

// Brings the condition DisruptionAllowed in line with disruptionsAllowed.
void update_disruption_allowed(json::object& status, const std::string& now);
// Sets the condition of that type; the time of its last transition stays while its status does.
void set_condition(json::object& status, std::string_view type, bool holds, std::string_view reason,
                   std::string_view message, const std::string& now);

}  // namespace careen::sim
