#include "sim/events.h"

#include <array>
#include <utility>

namespace careen::sim {

namespace {

// core/v1, events.k8s.io/v1
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {{
    {"involvedObject", "regarding"},
    {"message", "note"},
    {"source", "deprecatedSource"},
    {"firstTimestamp", "deprecatedFirstTimestamp"},
    {"lastTimestamp", "deprecatedLastTimestamp"},
    {"count", "deprecatedCount"},
    {"reportingComponent", "reportingController"},
}};

}  // namespace

json::value event_from_v1(json::value event) {
  if (!event.is_object()) return event;
  json::object out(event.get_object().size(), event.storage());
  for (auto& one : event.get_object()) {
    std::string_view key = one.key();
    bool only_core = false;
    for (const auto& [core, newer] : kNames) {
      only_core |= key == core;
      if (key == newer) key = core;
    }
    if (!only_core) out[key] = std::move(one.value());
  }
  return out;
}

json::value event_to_v1(json::value event) {
  json::object out(event.get_object().size(), event.storage());
  for (auto& one : event.get_object()) {
    std::string_view key = one.key();
    for (const auto& [core, newer] : kNames) {
      if (key == core) key = newer;
    }
    // Empty texts are left out there.
    const bool reporter = key == "reportingController" || key == "reportingInstance";
    if (reporter && one.value().is_string() && one.value().get_string().empty()) continue;
    out[key] = std::move(one.value());
  }
  if (out.contains("apiVersion")) out["apiVersion"] = "events.k8s.io/v1";
  return out;
}

}  // namespace careen::sim
