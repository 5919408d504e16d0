#include "controllers/requests/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "controllers/requests/names.h"
#include "io/whole_seconds.h"
#include "kube/events.h"
#include "kube/objects.h"

namespace careen::requests {

using kube::Json;
using kube::JsonView;

namespace {

constexpr size_t kLongestName = 253;
constexpr size_t kLongestWord = 128;
constexpr size_t kLongestText = 1024;
constexpr size_t kMostConditions = 16;

std::string text_of(JsonView value, size_t longest = kLongestName) {
  return std::string(kube::cut_text(value.text().value_or(""), longest));
}

std::optional<io::Wall> time_of(JsonView value) {
  const auto time = io::parse_rfc3339(value.text().value_or(""));
  return time ? std::optional(io::whole_seconds(*time)) : std::nullopt;
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) { return 'A' <= c && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return text;
}

State state_from(std::string_view text) {
  for (const State state : {State::approved, State::in_progress, State::completed, State::rejected}) {
    if (text == name_of(state)) return state;
  }
  return State::pending;
}

Phase phase_from(std::string_view text) {
  for (Phase phase = Phase::waiting;; phase = Phase(int(phase) + 1)) {
    if (text == name_of(phase)) return phase;
    if (phase == Phase::rejected) return Phase::none;
  }
}

std::vector<Condition> conditions_from(JsonView list) {
  std::vector<Condition> out;
  list.for_each_element([&](JsonView one) {
    if (out.size() == kMostConditions) return;
    out.push_back({text_of(one["type"], kLongestWord), one["status"].text() == "True",
                   text_of(one["reason"], kLongestWord), text_of(one["message"], kLongestText),
                   time_of(one["lastTransitionTime"]).value_or(io::Wall{})});
  });
  return out;
}

Status status_from(JsonView json) {
  Status status;
  status.phase = phase_from(text_of(json["phase"]));
  status.reason = text_of(json["reason"], kLongestWord);
  status.message = text_of(json["message"], kLongestText);
  status.position = std::max<int64_t>(0, json["position"].integer().value_or(0));
  status.pending_since = time_of(json["pendingSince"]);
  status.approved = time_of(json["approvedTime"]);
  status.started = time_of(json["startTime"]);
  status.finished = time_of(json["finishTime"]);
  status.work_seen = time_of(json["workSeenTime"]);
  status.boot_id = text_of(json["bootID"], kLongestWord);
  status.conditions = conditions_from(json["conditions"]);
  return status;
}

std::optional<Ended> ended_from(JsonView annotation) {
  const std::string text = text_of(annotation, kLongestText + kLongestWord);
  if (text.empty()) return std::nullopt;
  const size_t colon = text.find(": ");
  const std::string reason = text.substr(0, std::min(colon, kLongestWord));
  if (reason.empty()) return std::nullopt;
  return Ended{reason, colon == std::string::npos ? "" : text.substr(colon + 2)};
}

// The second it lies in may begin before what can be counted.
std::string seconds_text(io::Wall time) { return io::format_rfc3339(io::whole_seconds(time)); }

Json text_or_null(std::string_view text) { return text.empty() ? Json() : Json(text); }
Json time_or_null(const std::optional<io::Wall>& time) { return time ? Json(seconds_text(*time)) : Json(); }

}  // namespace

std::string_view name_of(State state) {
  switch (state) {
    case State::pending:
      return "Pending";
    case State::approved:
      return "Approved";
    case State::in_progress:
      return "InProgress";
    case State::completed:
      return "Completed";
    case State::rejected:
      return "Rejected";
  }
  return "";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::none:
      return "";
    case Phase::waiting:
      return "Waiting";
    case Phase::reserved:
      return "Reserved";
    case Phase::cordoned:
      return "Cordoned";
    case Phase::draining:
      return "Draining";
    case Phase::grace:
      return "Grace";
    case Phase::infra_draining:
      return "InfraDraining";
    case Phase::approved:
      return "Approved";
    case Phase::in_progress:
      return "InProgress";
    case Phase::completed:
      return "Completed";
    case Phase::rejected:
      return "Rejected";
  }
  return "";
}

Phase phase_of(State state) {
  switch (state) {
    case State::pending:
      return Phase::none;
    case State::approved:
      return Phase::approved;
    case State::in_progress:
      return Phase::in_progress;
    case State::completed:
      return Phase::completed;
    case State::rejected:
      return Phase::rejected;
  }
  return Phase::none;
}

const Condition* Status::condition(std::string_view type) const {
  const auto found = std::ranges::find(conditions, type, &Condition::type);
  return found == conditions.end() ? nullptr : &*found;
}

void Status::set_condition(std::string_view type, bool holds, std::string_view why, std::string_view text,
                           io::Wall now) {
  auto found = std::ranges::find(conditions, type, &Condition::type);
  if (found == conditions.end()) {
    if (conditions.size() == kMostConditions) conditions.pop_back();
    conditions.push_back({std::string(type), !holds, {}, {}, {}});
    found = std::prev(conditions.end());
  }
  if (found->holds != holds) found->since = io::whole_seconds(now);
  found->holds = holds;
  found->reason = why;
  found->message = kube::cut_text(text, kLongestText);
}

Json status_patch(const Status& status) {
  Json out = Json::object({{"phase", text_or_null(name_of(status.phase))},
                           {"reason", text_or_null(status.reason)},
                           {"message", text_or_null(status.message)},
                           {"position", status.position > 0 ? Json(status.position) : Json()},
                           {"pendingSince", time_or_null(status.pending_since)},
                           {"approvedTime", time_or_null(status.approved)},
                           {"startTime", time_or_null(status.started)},
                           {"finishTime", time_or_null(status.finished)},
                           {"workSeenTime", time_or_null(status.work_seen)},
                           {"bootID", text_or_null(status.boot_id)}});
  Json list;
  for (const Condition& one : status.conditions) {
    list.push_back(Json::object({{"type", one.type},
                                 {"status", one.holds ? "True" : "False"},
                                 {"reason", one.reason},
                                 {"message", one.message},
                                 {"lastTransitionTime", seconds_text(one.since)}}));
  }
  out.set({"conditions"}, std::move(list));
  return out;
}

std::string Ended::text() const { return fmt::format("{}: {}", reason, kube::cut_text(message, kLongestText)); }

std::string Request::owner() const { return std::string(kOwnerPrefix) + name; }

std::string Request::actor() const { return std::string(kOwnerPrefix) + (client.empty() ? name : client); }

bool Request::before(const Request& other) const {
  return std::tie(created, name) < std::tie(other.created, other.name);
}

Request parse_request(const kube::Object& object) {
  const JsonView meta = object.document["metadata"], spec = object.document["spec"];
  const JsonView labels = meta["labels"], annotations = meta["annotations"];
  Request out;
  out.name = object.name;
  out.uid = object.uid;
  out.version = object.version;
  out.created = io::parse_rfc3339(meta["creationTimestamp"].text().value_or("")).value_or(io::Wall{});
  out.deleting = meta["deletionTimestamp"].exists();
  out.client = text_of(labels[kClientLabel]);
  if (const auto selector = labels[kSelectorLabel].text()) {
    out.selector =
        fmt::format("{}/{}", text_of(labels[kSelectorNamespaceLabel]), kube::cut_text(*selector, kLongestName));
  }
  out.node = lower(text_of(spec["name"]));
  out.type = text_of(spec["type"]);
  out.state = state_from(spec["state"].text().value_or(""));
  out.approved_at = time_of(annotations[kApprovedAnnotation]);
  out.ended = ended_from(annotations[kEndedAnnotation]);
  out.status = status_from(object.document["status"]);
  return out;
}

std::optional<std::string_view> request_of(std::string_view owner) {
  if (!owner.starts_with(kOwnerPrefix)) return std::nullopt;
  return owner.substr(kOwnerPrefix.size());
}

}  // namespace careen::requests
