// The binding subresource of pods: a scheduler gives a pod its node.
#include "sim/ask.h"

namespace careen::sim {

using kube::Response;

namespace {

// Why the pod cannot be given a node.
std::string why_not(const json::value& pod) {
  const std::string name(text_at(pod, {"metadata", "name"}));
  if (find(pod, {"metadata", "deletionTimestamp"})) {
    return "pod " + name + " is being deleted, cannot be assigned to a host";
  }
  const std::string_view bound = text_at(pod, {"spec", "nodeName"});
  if (!bound.empty()) return "pod " + name + " is already assigned to node " + quoted(bound);
  const json::value* gates = find(pod, {"spec", "schedulingGates"});
  if (gates && gates->is_array() && !gates->get_array().empty()) {
    return "pod " + name + " has non-empty .spec.schedulingGates";
  }
  return {};
}

void set_scheduled(json::value& pod, const std::string& now) {
  json::value& conditions = object_at(pod.get_object(), "status")["conditions"];
  if (!conditions.is_array()) conditions.emplace_array();
  json::value scheduled(
      {{"type", "PodScheduled"}, {"status", "True"}, {"lastProbeTime", nullptr}, {"lastTransitionTime", now}},
      conditions.storage());
  for (json::value& one : conditions.get_array()) {
    if (text_at(one, "type") != "PodScheduled") continue;
    one = std::move(scheduled);
    return;
  }
  conditions.get_array().push_back(std::move(scheduled));
}

}  // namespace

// The pod, too, gets labels that say where its node is.
void ApiServer::take_topology(json::value& pod, std::string_view node) const {
  const auto& nodes = resources_.find("", "v1", "nodes")->collection->objects;
  const auto known = nodes.find(node);
  if (known == nodes.end()) return;
  // Most nodes of tests have no place.
  if (find_text(*known->second, "\"topology.kubernetes.io/") == std::string::npos) return;
  const Parsed object = parsed(known->second);
  const json::value* labels = find(*object, {"metadata", "labels"});
  if (!labels) return;
  for (const char* key : {"topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
    const json::value* value = member(*labels, key);
    if (value) object_at(object_at(pod.get_object(), "metadata"), "labels")[key] = *value;
  }
}

Response ApiServer::bind(const Ask& ask) {
  Scratch memory;
  const auto binding = sim::parse(ask.request->body, memory.storage());
  const std::string node(binding ? text_at(*binding, {"target", "name"}) : "");
  if (binding && text_at(*binding, {"metadata", "name"}) != ask.name) {
    return to_response(bad_request("name in URL does not match name in Binding object"));
  }
  const auto known = ask.resource->collection->objects.find(ask.key());
  if (known == ask.resource->collection->objects.end()) return to_response(not_found(*ask.resource, ask.name));
  if (node.empty()) return to_response(invalid_object("Binding", "", ask.name, {required("target.name")}));
  Draft draft(*parsed(known->second));
  json::value& pod = draft.value();
  if (const std::string why = why_not(pod); !why.empty()) {
    Failure failure = conflict(*ask.resource, ask.name, why);
    failure.kind = "pods/binding";
    failure.message = "Operation cannot be fulfilled on pods/binding \"" + ask.name + "\": " + why;
    return to_response(failure);
  }
  object_at(pod.get_object(), "spec")["nodeName"] = node;
  take_topology(pod, node);
  set_scheduled(pod, now_text());
  if (!ask.dry_run()) store(*ask.resource, ask.key(), std::move(draft), ask.caller.client);
  return answer_with(201, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success","code":201})");
}

}  // namespace careen::sim
