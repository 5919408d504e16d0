#include "controllers/nodemaintenance/maintenance.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "controllers/nodemaintenance/drain_spec.h"
#include "controllers/nodemaintenance/names.h"
#include "io/whole_seconds.h"

namespace careen::nodemaintenance {

using kube::Json;
using kube::JsonView;

namespace {

std::string text_of(JsonView value) { return std::string(value.text().value_or("")); }

Phase phase_of(std::string_view name) {
  for (const Phase phase : {Phase::running, Phase::succeeded, Phase::failed}) {
    if (name_of(phase) == name) return phase;
  }
  return Phase::none;
}

// Names without namespaces are all that early versions of the original wrote.
std::vector<PodRef> pending_of(JsonView status) {
  std::vector<PodRef> out;
  status["pendingPodsRefs"].for_each_element(
      [&](JsonView pod) { out.push_back({text_of(pod["namespace"]), text_of(pod["name"])}); });
  if (!out.empty()) return out;
  status["pendingPods"].for_each_element([&](JsonView pod) { out.push_back({"", text_of(pod)}); });
  return out;
}

Status parse_status(JsonView json) {
  Status status;
  status.phase = phase_of(text_of(json["phase"]));
  status.progress = json["drainProgress"].integer().value_or(0);
  status.total_pods = json["totalpods"].integer().value_or(0);
  status.eviction_pods = json["evictionPods"].integer().value_or(0);
  status.lease_errors = json["errorOnLeaseCount"].integer().value_or(0);
  status.last_error = text_of(json["lastError"]);
  status.pending = pending_of(json);
  if (const auto text = json["lastUpdate"].text()) status.last_update = io::parse_rfc3339(*text);
  json["conditions"].for_each_element([&](JsonView one) {
    const auto since = io::parse_rfc3339(text_of(one["lastTransitionTime"]));
    status.conditions.push_back({text_of(one["type"]), one["status"].text() == "True", text_of(one["reason"]),
                                 text_of(one["message"]), since.value_or(io::Wall{})});
  });
  return status;
}

std::string seconds_text(io::Wall when) {
  // No time at all; the second it lies in begins before what can be counted.
  if (when == io::Wall::min()) return io::format_rfc3339(when);
  return io::format_rfc3339(io::whole_seconds(when));
}

Json number_or_null(int64_t number) { return number == 0 ? Json() : Json(number); }

Json condition_json(const Condition& condition) {
  return Json::object({{"type", condition.type},
                       {"status", condition.holds ? "True" : "False"},
                       {"reason", condition.reason},
                       {"message", condition.message},
                       {"lastTransitionTime", seconds_text(condition.since)}});
}

}  // namespace

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::none:
      return "";
    case Phase::running:
      return "Running";
    case Phase::succeeded:
      return "Succeeded";
    case Phase::failed:
      return "Failed";
  }
  return "";
}

bool Status::same_facts(const Status& other) const {
  const auto facts = [](const Status& s) {
    return std::tie(s.phase, s.progress, s.total_pods, s.eviction_pods, s.lease_errors, s.last_error, s.pending,
                    s.conditions);
  };
  return facts(*this) == facts(other);
}

const Condition* Status::condition(std::string_view type) const {
  const auto found =
      std::find_if(conditions.begin(), conditions.end(), [&](const Condition& one) { return one.type == type; });
  return found == conditions.end() ? nullptr : &*found;
}

Json status_patch(const Status& status, io::Wall now) {
  Json out = Json::object({{"phase", name_of(status.phase)},
                           {"drainProgress", number_or_null(status.progress)},
                           {"lastUpdate", seconds_text(now)},
                           {"lastError", status.last_error.empty() ? Json() : Json(status.last_error)},
                           {"totalpods", number_or_null(status.total_pods)},
                           {"evictionPods", number_or_null(status.eviction_pods)},
                           {"errorOnLeaseCount", number_or_null(status.lease_errors)}});
  Json names, refs, conditions;
  for (const PodRef& pod : status.pending) {
    names.push_back(pod.name);
    refs.push_back(Json::object({{"namespace", pod.ns}, {"name", pod.name}}));
  }
  for (const Condition& condition : status.conditions) conditions.push_back(condition_json(condition));
  out.set({"pendingPods"}, std::move(names)).set({"pendingPodsRefs"}, std::move(refs));
  out.set({"conditions"}, std::move(conditions));
  return out;
}

bool Maintenance::has_finalizer() const {
  return std::find(finalizers.begin(), finalizers.end(), kFinalizer) != finalizers.end();
}

const std::string& Maintenance::blocked_by() const {
  const Condition* blocked = status.condition("Blocked");
  return blocked && blocked->holds ? blocked->message : status.last_error;
}

bool Maintenance::before(const Maintenance& other) const {
  return std::tie(created, uid) < std::tie(other.created, other.uid);
}

Maintenance parse_maintenance(const kube::Object& object) {
  Maintenance out;
  out.name = object.name;
  out.uid = object.uid;
  out.version = object.version;
  const JsonView meta = object.document["metadata"], spec = object.document["spec"];
  out.created = text_of(meta["creationTimestamp"]);
  out.deleting = meta["deletionTimestamp"].is_string();
  meta["finalizers"].for_each_element([&](JsonView one) { out.finalizers.push_back(text_of(one)); });
  out.marked = meta["annotations"][kBegunAnnotation].exists();
  out.node = text_of(spec["nodeName"]);
  out.reason = text_of(spec["reason"]);
  auto options = drain_options(spec["drain"]);
  if (options) {
    out.options = std::move(*options);
  } else {
    out.mistake = std::move(options.error().message);
    out.options = *drain_options({});
  }
  out.status = parse_status(object.document["status"]);
  return out;
}

}  // namespace careen::nodemaintenance
