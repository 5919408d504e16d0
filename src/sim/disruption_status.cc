#include "sim/disruption_status.h"

namespace careen::sim {

namespace {

// The condition of that type in a list of them, made if there is none.
json::object& condition_at(json::array& conditions, std::string_view type) {
  for (json::value& one : conditions) {
    if (text_at(one, "type") == type) return one.get_object();
  }
  conditions.push_back({{"type", type}, {"status", ""}});
  return conditions.back().get_object();
}

}  // namespace

bool is_ready(const json::value& pod) {
  const json::value* conditions = find(pod, {"status", "conditions"});
  if (!conditions || !conditions->is_array()) return false;
  for (const json::value& one : conditions->get_array()) {
    if (text_at(one, "type") == "Ready") return text_at(one, "status") == "True";
  }
  return false;
}

void set_condition(json::object& status, std::string_view type, bool holds, std::string_view reason,
                   std::string_view message, const std::string& now) {
  json::value& conditions = status["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  json::object& known = condition_at(conditions.get_array(), type);
  const std::string_view state = holds ? "True" : "False";
  const bool changes = text_at(known, "status") != state;
  json::object fresh{{"type", type}, {"status", state}};
  const json::value* observed = status.if_contains("observedGeneration");
  if (observed && *observed != json::value(0)) fresh["observedGeneration"] = *observed;
  fresh["lastTransitionTime"] = changes ? std::string_view(now) : text_at(known, "lastTransitionTime");
  fresh["reason"] = reason;
  fresh["message"] = message;
  known = std::move(fresh);
}

void update_disruption_allowed(json::object& status, const std::string& now) {
  const json::value* allowed = status.if_contains("disruptionsAllowed");
  const bool any = allowed && allowed->is_int64() && allowed->get_int64() > 0;
  set_condition(status, "DisruptionAllowed", any, any ? "SufficientPods" : "InsufficientPods", "", now);
}

}  // namespace careen::sim
