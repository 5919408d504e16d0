#include "sim/table.h"

#include <algorithm>
#include <set>

#include "sim/table_workloads.h"

namespace careen::sim {

namespace {

struct Column {
  std::string name;
  std::string type = "string";
  std::string format = {};
  std::string description = {};
  int64_t priority = 0;
};

constexpr std::string_view kNameText = "Name must be unique within a namespace.";
constexpr std::string_view kAgeText = "CreationTimestamp is the time the object was created at, by the server's clock.";

Column name_column(int64_t priority = 0) { return {"Name", "string", "name", std::string(kNameText), priority}; }
Column age_column() { return {"Age", "string", "", std::string(kAgeText), 0}; }

std::vector<Column> columns_of(const Resource& resource) {
  if (resource.custom) {
    std::vector<Column> out{name_column()};
    for (const PrinterColumn& one : resource.columns) {
      const std::string text = one.description.empty()
                                   ? "Custom resource definition column (in JSONPath format): " + one.path
                                   : one.description;
      out.push_back({one.name, one.type, one.format, text, one.priority});
    }
    if (resource.columns.empty()) out.push_back({"Age", "date", "", std::string(kAgeText), 0});
    return out;
  }
  if (resource.kind == "Node") {
    return {name_column(),
            {"Status", "string", "", "The status of the node"},
            {"Roles", "string", "", "The roles of the node"},
            age_column(),
            {"Version", "string", "", "Kubelet Version reported by the node."},
            {"Internal-IP", "string", "", "Addresses of the node within the cluster.", 1},
            {"External-IP", "string", "", "Addresses of the node outside of the cluster.", 1},
            {"OS-Image", "string", "", "OS Image reported by the node.", 1},
            {"Kernel-Version", "string", "", "Kernel Version reported by the node.", 1},
            {"Container-Runtime", "string", "", "ContainerRuntime Version reported by the node.", 1}};
  }
  if (resource.kind == "Namespace") {
    return {name_column(), {"Status", "string", "", "The status of the namespace"}, age_column()};
  }
  if (resource.kind == "Lease") {
    return {name_column(), {"Holder", "string", "", "The holder of the lease."}, age_column()};
  }
  if (resource.kind == "ConfigMap" || resource.kind == "Secret") {
    std::vector<Column> out{name_column()};
    if (resource.kind == "Secret") out.push_back({"Type", "string", "", "The type of the secret."});
    out.push_back({"Data", "string", "", "How many entries it has."});
    out.push_back(age_column());
    return out;
  }
  if (resource.kind == "Event") {
    return {{"Last Seen", "string", "", "When it was last observed."},
            {"Type", "string", "", "Normal or Warning."},
            {"Reason", "string", "", "Why it happened, in one word."},
            {"Object", "string", "", "The object that this event is about."},
            {"Subobject", "string", "", "The part of the object it is about.", 1},
            {"Source", "string", "", "The component that reports it.", 1},
            {"Message", "string", "", "What happened."},
            {"First Seen", "string", "", "When it was first observed.", 1},
            {"Count", "string", "", "The number of times this event has occurred.", 1},
            name_column(1)};
  }
  if (resource.kind == "Pod") {
    return {name_column(),
            {"Ready", "string", "", "How many of its containers are ready."},
            {"Status", "string", "", "The aggregate status of the containers in this pod."},
            {"Restarts", "string", "", "How often its containers were restarted."},
            age_column(),
            {"IP", "string", "", "The address of the pod.", 1},
            {"Node", "string", "", "The node it is on.", 1},
            {"Nominated Node", "string", "", "The node others make room for it on.", 1},
            {"Readiness Gates", "string", "", "Further conditions of its readiness.", 1}};
  }
  if (const auto workload = workload_columns(resource.kind); !workload.empty()) {
    std::vector<Column> out{name_column()};
    for (const WorkloadColumn& one : workload) out.push_back({one.name, one.type, "", one.description});
    out.push_back(age_column());
    return out;
  }
  return {name_column(), {"Created At", "date", "", std::string(kAgeText), 0}};
}

std::string age(std::string_view since, io::Wall now) {
  const auto when = since.empty() ? std::nullopt : io::parse_rfc3339(since);
  return when ? human_duration(now - *when) : "<unknown>";
}

std::string created(const json::value& object, io::Wall now) {
  return age(text_at(object, {"metadata", "creationTimestamp"}), now);
}

std::string node_status(const json::value& node) {
  std::string out;
  if (const json::value* conditions = find(node, {"status", "conditions"}); conditions && conditions->is_array()) {
    for (const json::value& one : conditions->get_array()) {
      if (text_at(one, "type") == "Ready") out = text_at(one, "status") == "True" ? "Ready" : "NotReady";
    }
  }
  if (out.empty()) out = "Unknown";
  const json::value* cordoned = find(node, {"spec", "unschedulable"});
  if (cordoned && cordoned->is_bool() && cordoned->get_bool()) out += ",SchedulingDisabled";
  return out;
}

std::string node_roles(const json::value& node) {
  constexpr std::string_view prefix = "node-role.kubernetes.io/";
  std::set<std::string> roles;
  if (const json::value* labels = find(node, {"metadata", "labels"}); labels && labels->is_object()) {
    for (const auto& one : labels->get_object()) {
      const std::string_view key = one.key();
      if (key.starts_with(prefix) && key.size() > prefix.size()) roles.emplace(key.substr(prefix.size()));
      if (key == "kubernetes.io/role" && one.value().is_string() && !one.value().get_string().empty()) {
        roles.emplace(std::string_view(one.value().get_string()));
      }
    }
  }
  std::string out;
  for (const std::string& role : roles) out += (out.empty() ? "" : ",") + role;
  return out.empty() ? "<none>" : out;
}

std::string node_address(const json::value& node, std::string_view type) {
  if (const json::value* list = find(node, {"status", "addresses"}); list && list->is_array()) {
    for (const json::value& one : list->get_array()) {
      if (text_at(one, "type") == type) return std::string(text_at(one, "address"));
    }
  }
  return "<none>";
}

std::string or_unknown(std::string_view text) { return text.empty() ? "<unknown>" : std::string(text); }
std::string or_none(std::string_view text) { return text.empty() ? "<none>" : std::string(text); }

json::array node_cells(const json::value& node, io::Wall now) {
  const auto info = [&](std::string_view key) { return text_at(node, {"status", "nodeInfo", key}); };
  std::string kernel = or_unknown(info("kernelVersion"));
  if (!info("architecture").empty()) kernel += " (" + std::string(info("architecture")) + ")";
  return {text_at(node, {"metadata", "name"}),
          node_status(node),
          node_roles(node),
          created(node, now),
          info("kubeletVersion"),
          node_address(node, "InternalIP"),
          node_address(node, "ExternalIP"),
          or_unknown(info("osImage")),
          kernel,
          or_unknown(info("containerRuntimeVersion"))};
}

size_t entries(const json::value& object) {
  size_t out = 0;
  for (const char* key : {"data", "binaryData"}) {
    const json::value* data = member(object, key);
    out += data && data->is_object() ? data->get_object().size() : 0;
  }
  return out;
}

// Either API: the fields of the newer one have other names.
json::array event_cells(const json::value& event, io::Wall now) {
  const auto either = [&](std::string_view core, std::string_view newer) {
    const json::value* found = member(event, core);
    return found ? found : member(event, newer);
  };
  const auto text = [](const json::value* value) {
    return value && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
  };
  const json::value* about = either("involvedObject", "regarding");
  std::string object = about ? std::string(text_at(*about, "kind")) : "";
  std::transform(object.begin(), object.end(), object.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  if (about && !text_at(*about, "name").empty()) object += "/" + std::string(text_at(*about, "name"));
  const std::string_view event_time = text_at(event, "eventTime");
  std::string first = age(text(either("firstTimestamp", "deprecatedFirstTimestamp")), now);
  if (first == "<unknown>") first = age(event_time, now);
  std::string last = age(text(either("lastTimestamp", "deprecatedLastTimestamp")), now);
  if (last == "<unknown>") last = first;
  int64_t count = 0;
  if (const json::value* told = either("count", "deprecatedCount"); told && told->is_int64()) count = told->get_int64();
  if (const auto repeated = integer_at(event, {"series", "count"})) {
    count = *repeated;
    last = age(text_at(event, {"series", "lastObservedTime"}), now);
  }
  if (count == 0) count = 1;
  const json::value* source = either("source", "deprecatedSource");
  std::string component = source ? std::string(text_at(*source, "component")) : "";
  if (component.empty()) component = text(either("reportingComponent", "reportingController"));
  if (source && !text_at(*source, "host").empty()) component += ", " + std::string(text_at(*source, "host"));
  std::string message(text(either("message", "note")));
  while (!message.empty() && (message.back() == '\n' || message.back() == ' ')) message.pop_back();
  return {last,
          text_at(event, "type"),
          text_at(event, "reason"),
          object,
          about ? text_at(*about, "fieldPath") : "",
          component,
          message,
          first,
          count,
          text_at(event, {"metadata", "name"})};
}

json::array pod_cells(const json::value& pod, io::Wall now) {
  const json::value* containers = find(pod, {"spec", "containers"});
  const size_t total = containers && containers->is_array() ? containers->get_array().size() : 0;
  size_t ready = 0;
  int64_t restarts = 0;
  std::string reason(text_at(pod, {"status", "phase"}));
  if (!text_at(pod, {"status", "reason"}).empty()) reason = text_at(pod, {"status", "reason"});
  const json::value* statuses = find(pod, {"status", "containerStatuses"});
  if (statuses && statuses->is_array()) {
    for (const json::value& one : statuses->get_array()) {
      const json::value* flag = member(one, "ready");
      ready += flag && flag->is_bool() && flag->get_bool();
      restarts += integer_at(one, {"restartCount"}).value_or(0);
      for (const char* state : {"waiting", "terminated"}) {
        const std::string_view why = text_at(one, {"state", state, "reason"});
        if (!why.empty()) reason = why;
      }
    }
  }
  if (find(pod, {"metadata", "deletionTimestamp"}) && reason != "Succeeded" && reason != "Failed") {
    reason = text_at(pod, {"status", "reason"}) == "NodeLost" ? "Unknown" : "Terminating";
  }
  return {text_at(pod, {"metadata", "name"}),
          std::to_string(ready) + "/" + std::to_string(total),
          reason,
          std::to_string(restarts),
          created(pod, now),
          or_none(text_at(pod, {"status", "podIP"})),
          or_none(text_at(pod, {"spec", "nodeName"})),
          or_none(text_at(pod, {"status", "nominatedNodeName"})),
          "<none>"};
}

// The simple paths columns are made of: .spec.n, .status.conditions[0].type, .metadata.labels.a\.b,
// .status.conditions[?(@.type=="Ready")].status
const json::value* at_path(const json::value& object, std::string_view path) {
  const json::value* at = &object;
  size_t i = 0;
  while (at && i < path.size()) {
    if (path[i] == '.') {
      std::string key;
      for (++i; i < path.size() && path[i] != '.' && path[i] != '['; ++i) {
        if (path[i] == '\\' && i + 1 < path.size()) ++i;
        key += path[i];
      }
      at = member(*at, key);
      continue;
    }
    if (path[i] != '[') return nullptr;
    const size_t end = path.find(']', i);
    if (end == std::string_view::npos) return nullptr;
    std::string_view inside = path.substr(i + 1, end - i - 1);
    i = end + 1;
    if (inside.starts_with("?(@.") && inside.ends_with(")")) {
      const size_t sign = inside.find("==");
      if (sign == std::string_view::npos || !at->is_array()) return nullptr;
      const std::string_view key = inside.substr(4, sign - 4);
      std::string_view wanted = inside.substr(sign + 2, inside.size() - sign - 3);
      while (!wanted.empty() && (wanted.front() == '"' || wanted.front() == '\'')) wanted.remove_prefix(1);
      while (!wanted.empty() && (wanted.back() == '"' || wanted.back() == '\'')) wanted.remove_suffix(1);
      const json::array& list = at->get_array();
      const auto* const found =
          std::find_if(list.begin(), list.end(), [&](const json::value& one) { return text_at(one, key) == wanted; });
      at = found == list.end() ? nullptr : found;
    } else if (inside.starts_with("'") || inside.starts_with("\"")) {
      at = member(*at, inside.substr(1, inside.size() - 2));
    } else {
      size_t index = 0;
      for (const char c : inside)
        index = c >= '0' && c <= '9' ? index * 10 + static_cast<size_t>(c - '0') : SIZE_MAX / 16;
      at = at->is_array() ? at->get_array().if_contains(index) : nullptr;
    }
  }
  return at;
}

json::value custom_cell(const json::value& object, const PrinterColumn& column, io::Wall now) {
  const json::value* found = at_path(object, column.path);
  if (!found || found->is_null()) return nullptr;
  if (column.type == "date") {
    return json::value(found->is_string() ? age(found->get_string(), now) : json::serialize(*found));
  }
  if (column.type == "string") return found->is_string() ? *found : json::value(json::serialize(*found));
  return *found;
}

json::array cells_of(const Resource& resource, const json::value& object, io::Wall now) {
  const std::string_view name = text_at(object, {"metadata", "name"});
  if (resource.custom) {
    json::array out{name};
    for (const PrinterColumn& column : resource.columns) out.push_back(custom_cell(object, column, now));
    if (resource.columns.empty()) out.push_back(json::value(created(object, now)));
    return out;
  }
  if (resource.kind == "Node") return node_cells(object, now);
  if (resource.kind == "Namespace") return {name, text_at(object, {"status", "phase"}), created(object, now)};
  if (resource.kind == "Lease") return {name, text_at(object, {"spec", "holderIdentity"}), created(object, now)};
  if (resource.kind == "ConfigMap") return {name, entries(object), created(object, now)};
  if (resource.kind == "Secret") return {name, text_at(object, "type"), entries(object), created(object, now)};
  if (resource.kind == "Event") return event_cells(object, now);
  if (resource.kind == "Pod") return pod_cells(object, now);
  if (!workload_columns(resource.kind).empty()) {
    json::array out{name};
    for (json::value& cell : workload_cells(resource.kind, object, now)) out.push_back(std::move(cell));
    out.push_back(json::value(created(object, now)));
    return out;
  }
  return {name, text_at(object, {"metadata", "creationTimestamp"})};
}

}  // namespace

std::string human_duration(io::Duration age) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  const auto part = [](int64_t value, const char* unit) { return std::to_string(value) + unit; };
  const auto two = [&](int64_t value, const char* unit, int64_t rest, const char* small) {
    return part(value, unit) + (rest ? part(rest, small) : "");
  };
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 60 * 2) return part(seconds, "s");
  const int64_t minutes = seconds / 60;
  if (minutes < 10) return two(minutes, "m", seconds % 60, "s");
  if (minutes < 60 * 3) return part(minutes, "m");
  const int64_t hours = minutes / 60;
  if (hours < 8) return two(hours, "h", minutes % 60, "m");
  if (hours < 48) return part(hours, "h");
  if (hours < 24 * 8) return two(hours / 24, "d", hours % 24, "h");
  if (hours < 24 * 365 * 2) return part(hours / 24, "d");
  if (hours < 24 * 365 * 8) return two(hours / 24 / 365, "y", hours / 24 % 365, "d");
  return part(hours / 24 / 365, "y");
}

bool wants_table(std::string_view accept) { return accept.find("as=Table") != std::string_view::npos; }

Table::Table(const Resource& resource, std::string_view include_object, io::Wall now)
    : resource_(resource), include_object_(include_object), now_(now) {}

void Table::add(const std::string& text) {
  const json::value object = *parse(text);
  json::object row{{"cells", cells_of(resource_, object, now_)}};
  if (include_object_ == "Object") {
    row["object"] = object;
  } else if (include_object_ != "None") {
    row["object"] = {
        {"kind", "PartialObjectMetadata"}, {"apiVersion", "meta.k8s.io/v1"}, {"metadata", object.at("metadata")}};
  }
  rows_.push_back(std::move(row));
}

std::string Table::text(std::string_view version, const std::string& continue_token, std::optional<size_t> remaining,
                        bool with_columns) const {
  json::object meta{{"resourceVersion", version}};
  if (!continue_token.empty()) meta["continue"] = continue_token;
  if (remaining) meta["remainingItemCount"] = *remaining;
  json::array columns;
  if (with_columns) {
    for (const Column& one : columns_of(resource_)) {
      columns.push_back({{"name", one.name},
                         {"type", one.type},
                         {"format", one.format},
                         {"description", one.description},
                         {"priority", one.priority}});
    }
  }
  return json::serialize(json::object{{"kind", "Table"},
                                      {"apiVersion", "meta.k8s.io/v1"},
                                      {"metadata", std::move(meta)},
                                      {"columnDefinitions", with_columns ? json::value(std::move(columns)) : nullptr},
                                      {"rows", rows_}});
}

}  // namespace careen::sim
