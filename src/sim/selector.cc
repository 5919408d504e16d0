#include "sim/selector.h"

#include <algorithm>
#include <set>

namespace careen::sim {

namespace {

// The fields each resource lets clients select by, beside name and namespace.
const std::vector<std::string>& selectable(const Resource& resource) {
  static const std::vector<std::string> none;
  static const std::vector<std::string> nodes = {"spec.unschedulable"};
  static const std::vector<std::string> pods = {
      "spec.nodeName",    "spec.restartPolicy", "spec.schedulerName",       "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase",       "status.nominatedNodeName", "status.podIP",
      "status.podIPs"};
  static const std::vector<std::string> namespaces = {"status.phase"};
  static const std::vector<std::string> events = {"involvedObject.kind",
                                                  "involvedObject.namespace",
                                                  "involvedObject.name",
                                                  "involvedObject.uid",
                                                  "involvedObject.apiVersion",
                                                  "involvedObject.resourceVersion",
                                                  "involvedObject.fieldPath",
                                                  "reason",
                                                  "reportingComponent",
                                                  "source",
                                                  "type"};
  static const std::vector<std::string> events_v1 = {"regarding.kind",       "regarding.namespace",
                                                     "regarding.name",       "regarding.uid",
                                                     "regarding.apiVersion", "regarding.resourceVersion",
                                                     "regarding.fieldPath",  "reason",
                                                     "reportingController",  "type"};
  static const std::vector<std::string> secrets = {"type"};
  static const std::vector<std::string> jobs = {"status.successful"};
  static const std::vector<std::string> replica_sets = {"status.replicas"};
  static const std::vector<std::string> services = {"spec.clusterIP", "spec.type"};
  if (resource.is_events_v1()) return events_v1;
  if (resource.custom) return none;
  if (resource.plural == "nodes") return nodes;
  if (resource.plural == "pods") return pods;
  if (resource.plural == "namespaces") return namespaces;
  if (resource.plural == "events") return events;
  if (resource.plural == "secrets") return secrets;
  if (resource.plural == "jobs") return jobs;
  if (resource.plural == "replicasets") return replica_sets;
  if (resource.plural == "services") return services;
  return none;
}

// These have conversions of their own; the others say which fields there are.
bool names_the_label(const Resource& resource) {
  if (resource.custom || resource.group == "events.k8s.io") return true;
  static const std::set<std::string, std::less<>> own = {"nodes",   "pods",     "namespaces",  "events",
                                                         "secrets", "services", "replicasets", "jobs"};
  return own.contains(resource.plural);
}

std::string unsupported(const Resource& resource, const std::string& field) {
  if (names_the_label(resource)) return "field label not supported: " + field;
  return quoted(field) + " is not a known field selector: only \"metadata.name\", \"metadata.namespace\"";
}

// Events are kept as core/v1 ones.
std::string stored_field(const Resource& resource, std::string field) {
  if (!resource.is_events_v1()) return field;
  if (field.starts_with("regarding.")) return "involvedObject" + field.substr(9);
  return field == "reportingController" ? "reportingComponent" : field;
}

}  // namespace

tl::expected<Selector, std::string> Selector::parse(std::string_view labels, std::string_view fields,
                                                    const Resource& resource) {
  Selector out;
  auto parsed = kube::LabelSelector::parse(labels);
  if (!parsed) return tl::unexpected(parsed.error().message);
  out.labels_ = std::move(*parsed);
  const std::string whole(fields);
  while (!fields.empty()) {
    const std::string_view one = fields.substr(0, fields.find(','));
    fields.remove_prefix(std::min(fields.size(), one.size() + 1));
    if (one.empty()) continue;
    const size_t sign = one.find('=');
    if (sign == std::string_view::npos) {
      return tl::unexpected("invalid selector: '" + whole + "'; can't understand '" + std::string(one) + "'");
    }
    FieldRequirement field;
    field.equal = sign == 0 || one[sign - 1] != '!';
    field.field = one.substr(0, field.equal ? sign : sign - 1);
    field.value = one.substr(sign + 1 < one.size() && one[sign + 1] == '=' ? sign + 2 : sign + 1);
    if (field.value.find('=') != std::string::npos) {
      return tl::unexpected(std::string("invalid field selector: unescaped character in value: 61"));
    }
    const auto& known = selectable(resource);
    const bool meta = field.field == "metadata.name" || field.field == "metadata.namespace";
    if (!meta && std::find(known.begin(), known.end(), field.field) == known.end()) {
      return tl::unexpected(unsupported(resource, field.field));
    }
    field.field = stored_field(resource, field.field);
    out.fields_.push_back(std::move(field));
  }
  return out;
}

bool Selector::matches(const json::value& object) const {
  const json::value* labels = find(object, {"metadata", "labels"});
  const auto label = [labels](std::string_view key) -> std::optional<std::string_view> {
    const json::value* found = labels ? member(*labels, key) : nullptr;
    if (!found) return std::nullopt;
    return found->is_string() ? std::string_view(found->get_string()) : std::string_view{};
  };
  if (!labels_.matches(label)) return false;
  for (const FieldRequirement& field : fields_) {
    if ((field_value(object, field.field) == field.value) != field.equal) return false;
  }
  return true;
}

// The pods of one node are the most frequent query; the node's name is in their text unescaped.
bool Selector::may_match(std::string_view text) const {
  for (const FieldRequirement& field : fields_) {
    if (!field.equal || field.field != "spec.nodeName" || field.value.empty()) continue;
    if (field.value.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-") != std::string::npos) continue;
    if (find_text(text, "\"nodeName\":\"" + field.value + "\"") == std::string_view::npos) return false;
  }
  return true;
}

bool Selector::matches_text(const Text& text, const std::function<Parsed(const Text&)>& parsed) const {
  return empty() || (may_match(*text) && matches(*parsed(text)));
}

std::string_view Selector::wanted(std::string_view name) const {
  for (const FieldRequirement& field : fields_) {
    if (field.equal && field.field == name) return field.value;
  }
  return {};
}

std::string field_value(const json::value& object, std::string_view field) {
  const json::value* at = &object;
  std::string_view rest = field;
  while (at && !rest.empty()) {
    const std::string_view key = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), key.size() + 1));
    at = member(*at, key);
  }
  if (field == "source") {
    const std::string_view component = text_at(object, {"source", "component"});
    return std::string(component.empty() ? text_at(object, "reportingComponent") : component);
  }
  const bool flag = field == "spec.unschedulable" || field == "spec.hostNetwork";
  if (!at || at->is_null()) return flag ? "false" : "";
  if (at->is_string()) return std::string(std::string_view(at->get_string()));
  return json::serialize(*at);
}

}  // namespace careen::sim
