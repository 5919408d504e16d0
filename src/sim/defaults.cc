#include "sim/defaults.h"

#include <algorithm>
#include <utility>

#include "sim/workload_defaults.h"

namespace careen::sim {

namespace {

// Nothing is scheduled to a node before its kubelet says that it is ready.
void fill_node(json::object& node) {
  json::value& taints = object_at(node, "spec")["taints"];
  if (!taints.is_array()) taints.emplace_array();
  constexpr std::string_view key = "node.kubernetes.io/not-ready";
  for (const json::value& taint : taints.get_array()) {
    if (text_at(taint, "key") == key && text_at(taint, "effect") == "NoSchedule") return;
  }
  taints.get_array().push_back({{"key", key}, {"effect", "NoSchedule"}});
}

void fill_namespace(json::object& ns) {
  const std::string name(text_at(ns.at("metadata"), "name"));
  object_at(object_at(ns, "metadata"), "labels")["kubernetes.io/metadata.name"] = name;
  object_at(ns, "spec")["finalizers"] = json::array{"kubernetes"};
  ns["status"] = {{"phase", "Active"}};
}

bool has_resources(const json::value& container, std::string_view what) {
  const json::value* found = find(container, {"resources", what});
  return found && found->is_object() && !found->get_object().empty();
}

// BestEffort, Burstable or Guaranteed.
std::string_view quality(const json::object& spec) {
  bool any = false;
  bool guaranteed = true;
  const json::value* containers = spec.if_contains("containers");
  if (!containers || !containers->is_array()) return "BestEffort";
  for (const json::value& one : containers->get_array()) {
    any |= has_resources(one, "requests") || has_resources(one, "limits");
    for (const char* what : {"cpu", "memory"}) {
      const json::value* limit = find(one, {"resources", "limits", what});
      const json::value* request = find(one, {"resources", "requests", what});
      guaranteed &= limit && (!request || *request == *limit);
    }
  }
  return !any ? "BestEffort" : guaranteed ? "Guaranteed" : "Burstable";
}

void fill_pod(json::object& pod) {
  json::object& spec = object_at(pod, "spec");
  fill_pod_template(spec);
  const std::pair<const char*, json::value> defaults[] = {{"serviceAccountName", "default"},
                                                          {"serviceAccount", "default"},
                                                          {"priority", 0},
                                                          {"enableServiceLinks", true},
                                                          {"preemptionPolicy", "PreemptLowerPriority"}};
  for (const auto& [key, value] : defaults) set_if_missing(spec, key, value);
  // Every pod bears a node that is gone for a while.
  json::value& tolerations = spec["tolerations"];
  if (!tolerations.is_array()) tolerations.emplace_array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    const auto& list = tolerations.get_array();
    const bool known = std::any_of(list.begin(), list.end(), [&](const json::value& one) {
      const std::string_view effect = text_at(one, "effect");
      const std::string_view name = text_at(one, "key");
      return (name == key || (name.empty() && text_at(one, "operator") == "Exists")) &&
             (effect.empty() || effect == "NoExecute");
    });
    if (known) continue;
    tolerations.get_array().push_back(
        json::value({{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 300}},
                    tolerations.storage()));
  }
  json::object& status = object_at(pod, "status");
  status.clear();
  status["phase"] = "Pending";
  status["qosClass"] = quality(spec);
}

void fill_definition(json::object& definition) {
  json::object& spec = object_at(definition, "spec");
  json::object& names = object_at(spec, "names");
  std::string kind(text_at(names, "kind"));
  set_if_missing(names, "listKind", json::value(kind + "List"));
  std::transform(kind.begin(), kind.end(), kind.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; });
  set_if_missing(names, "singular", json::value(kind));
  set_if_missing(spec, "conversion", {{"strategy", "None"}});
  json::array stored;
  const json::value* versions = spec.if_contains("versions");
  if (versions && versions->is_array()) {
    for (const json::value& one : versions->get_array()) {
      const json::value* storage = member(one, "storage");
      if (storage && storage->is_bool() && storage->get_bool()) stored.push_back(*member(one, "name"));
    }
  }
  definition["status"] = {{"conditions", nullptr},
                          {"acceptedNames", {{"plural", ""}, {"kind", ""}}},
                          {"storedVersions", std::move(stored)}};
}

}  // namespace

void fill_left_out(const Resource& resource, json::value& object) {
  fill_workload(resource, object.get_object());
  if (resource.kind != "Node" || resource.custom) return;
  const json::value* capacity = find(object, {"status", "capacity"});
  if (!capacity || find(object, {"status", "allocatable"})) return;
  json::value same = *capacity;
  object_at(object.get_object(), "status")["allocatable"] = std::move(same);
}

void fill_new(const Resource& resource, json::value& object) {
  json::object& fields = object.get_object();
  if (resource.kind == "Node") return fill_node(fields);
  if (resource.kind == "Namespace") return fill_namespace(fields);
  if (resource.kind == "Pod") return fill_pod(fields);
  if (resource.kind == "CustomResourceDefinition") return fill_definition(fields);
  if (resource.kind == "Secret") return set_if_missing(fields, "type", "Opaque");
  fill_new_workload(resource, fields);
  // Their controllers write the status.
  if (resource.status && resource.kind != "Service") fields.erase("status");
}

}  // namespace careen::sim
