// What a snapshot keeps of each kind of object. Everything is named here: what is not named does not get in.
#include <algorithm>

#include "plan/snapshot.h"
#include "sim/value.h"

namespace careen::plan {

namespace json = boost::json;

namespace {

using Names = std::initializer_list<std::string_view>;

// The members of these names, of whatever shape.
json::object pick(const json::value& from, Names names) {
  json::object out;
  for (const std::string_view name : names) {
    if (const json::value* value = sim::member(from, name)) out[name] = *value;
  }
  return out;
}

void put_unless_empty(json::object& into, std::string_view name, json::object value) {
  if (!value.empty()) into[name] = std::move(value);
}

// Annotations of pods that say how they are drained, or how they behave on a model cluster.
bool is_kept_annotation(std::string_view name) {
  return name == "kubernetes.io/config.mirror" || name == "deployment.kubernetes.io/revision" ||
         name.starts_with("deployment.kubernetes.io/") || name.starts_with("model.careen.dev/");
}

bool is_kept_of_lease(std::string_view name) { return name.starts_with("careen.dev/"); }
// It repeats the whole object as somebody wrote it.
bool is_kept_of_node(std::string_view name) { return name != "kubectl.kubernetes.io/last-applied-configuration"; }

json::object metadata(const json::value& object, bool (*keeps)(std::string_view)) {
  const json::value* meta = sim::member(object, "metadata");
  if (!meta) return {};
  json::object out = pick(*meta, {"name", "namespace", "uid", "generation", "creationTimestamp", "deletionTimestamp",
                                  "deletionGracePeriodSeconds", "labels", "finalizers"});
  const json::value* annotations = sim::member(*meta, "annotations");
  if (annotations && annotations->is_object()) {
    json::object kept;
    for (const auto& [name, value] : annotations->get_object()) {
      if (keeps(name)) kept[name] = value;
    }
    put_unless_empty(out, "annotations", std::move(kept));
  }
  const json::value* owners = sim::member(*meta, "ownerReferences");
  if (owners && owners->is_array()) {
    json::array kept;
    for (const json::value& owner : owners->get_array()) {
      kept.push_back(pick(owner, {"apiVersion", "kind", "name", "uid", "controller"}));
    }
    out["ownerReferences"] = std::move(kept);
  }
  return out;
}

// Only what they ask for.
json::array containers(const json::value& list) {
  json::array out;
  if (!list.is_array()) return out;
  for (const json::value& container : list.get_array()) {
    json::object kept{{"name", "c" + std::to_string(out.size())}, {"image", "i"}};
    if (const json::value* requests = sim::find(container, {"resources", "requests"})) {
      kept["resources"] = json::object{{"requests", pick(*requests, {"cpu", "memory"})}};
    }
    out.push_back(std::move(kept));
  }
  return out;
}

json::object pod_spec(const json::value& spec) {
  json::object out = pick(spec, {"nodeName", "priority", "terminationGracePeriodSeconds", "restartPolicy",
                                 "nodeSelector", "affinity", "tolerations", "schedulerName", "overhead"});
  const json::value* list = sim::member(spec, "containers");
  out["containers"] = list ? containers(*list) : json::array();
  if (const json::value* init = sim::member(spec, "initContainers")) out["initContainers"] = containers(*init);
  const json::value* volumes = sim::member(spec, "volumes");
  if (!volumes || !volumes->is_array()) return out;
  const auto is_local = [](const json::value& volume) { return sim::member(volume, "emptyDir") != nullptr; };
  if (std::any_of(volumes->get_array().begin(), volumes->get_array().end(), is_local)) {
    out["volumes"] = json::array{json::object{{"name", "local"}, {"emptyDir", json::object()}}};
  }
  return out;
}

json::array conditions(const json::value& object, Names fields) {
  json::array out;
  const json::value* list = sim::find(object, {"status", "conditions"});
  if (!list || !list->is_array()) return out;
  for (const json::value& one : list->get_array()) out.push_back(pick(one, fields));
  return out;
}

const json::value& part(const json::value& object, std::string_view name) {
  static const json::value nothing = json::object();
  const json::value* found = sim::member(object, name);
  return found ? *found : nothing;
}

// Whose cordon it is: MaintenanceLimits name everybody who has a node out.
json::array cordoners(const json::value& node) {
  json::array out;
  const json::value* managed = sim::find(node, {"metadata", "managedFields"});
  if (!managed || !managed->is_array()) return out;
  for (const json::value& entry : managed->get_array()) {
    if (!sim::find(entry, {"fieldsV1", "f:spec", "f:unschedulable"})) continue;
    json::object kept = pick(entry, {"manager", "operation", "apiVersion", "time"});
    kept["fieldsType"] = "FieldsV1";
    kept["fieldsV1"] = json::object{{"f:spec", json::object{{"f:unschedulable", json::object()}}}};
    out.push_back(std::move(kept));
  }
  return out;
}

json::object reduce_node(const json::value& node) {
  json::object out{{"metadata", metadata(node, is_kept_of_node)}};
  if (json::array managers = cordoners(node); !managers.empty()) {
    out["metadata"].get_object()["managedFields"] = std::move(managers);
  }
  put_unless_empty(out, "spec", pick(part(node, "spec"), {"unschedulable", "taints", "providerID"}));
  json::object status = pick(part(node, "status"), {"capacity", "allocatable", "nodeInfo", "addresses"});
  status["conditions"] = conditions(node, {"type", "status", "reason", "message", "lastTransitionTime"});
  out["status"] = std::move(status);
  return out;
}

json::object reduce_pod(const json::value& pod) {
  json::object out{{"metadata", metadata(pod, is_kept_annotation)}, {"spec", pod_spec(part(pod, "spec"))}};
  json::object status = pick(part(pod, "status"), {"phase", "startTime"});
  status["conditions"] = conditions(pod, {"type", "status", "lastTransitionTime"});
  out["status"] = std::move(status);
  return out;
}

json::object reduce_workload(const json::value& object) {
  json::object out{{"metadata", metadata(object, is_kept_annotation)}};
  const json::value& spec = part(object, "spec");
  json::object kept =
      pick(spec, {"replicas", "selector", "minReadySeconds", "strategy", "updateStrategy", "podManagementPolicy",
                  "paused", "ordinals", "completions", "parallelism", "backoffLimit", "completionMode", "suspend",
                  "manualSelector", "serviceName", "revisionHistoryLimit"});
  if (const json::value* pod = sim::member(spec, "template")) {
    json::object meta = pick(part(*pod, "metadata"), {"labels"});
    kept["template"] = json::object{{"metadata", std::move(meta)}, {"spec", pod_spec(part(*pod, "spec"))}};
  }
  out["spec"] = std::move(kept);
  put_unless_empty(out, "status",
                   pick(part(object, "status"), {"replicas", "readyReplicas", "availableReplicas", "observedGeneration",
                                                 "succeeded", "conditions"}));
  return out;
}

json::object reduce_budget(const json::value& budget) {
  return {{"metadata", metadata(budget, is_kept_annotation)},
          {"spec",
           pick(part(budget, "spec"), {"minAvailable", "maxUnavailable", "selector", "unhealthyPodEvictionPolicy"})},
          {"status", pick(part(budget, "status"), {"observedGeneration", "disruptionsAllowed", "currentHealthy",
                                                   "desiredHealthy", "expectedPods"})}};
}

json::object reduce_lease(const json::value& lease) {
  return {{"metadata", metadata(lease, is_kept_of_lease)},
          {"spec", pick(part(lease, "spec"),
                        {"holderIdentity", "leaseDurationSeconds", "acquireTime", "renewTime", "leaseTransitions"})}};
}

// Custom resources of careen's own trade: they hold no secrets, and careen may look at any field.
json::object reduce_whole(const json::value& object) {
  json::object out{{"metadata", metadata(object, is_kept_of_node)}};
  for (const char* name : {"spec", "status"}) {
    if (const json::value* found = sim::member(object, name)) out[name] = *found;
  }
  return out;
}

json::object reduced(Kind kind, const json::value& object) {
  switch (kind) {
    case Kind::nodes:
      return reduce_node(object);
    case Kind::pods:
      return reduce_pod(object);
    case Kind::budgets:
      return reduce_budget(object);
    case Kind::deployments:
    case Kind::replica_sets:
    case Kind::stateful_sets:
    case Kind::daemon_sets:
    case Kind::jobs:
      return reduce_workload(object);
    case Kind::leases:
      return reduce_lease(object);
    case Kind::hypervisors:
    case Kind::limits:
    case Kind::first_of_controllers:
      break;
  }
  return reduce_whole(object);
}

}  // namespace

kube::Json reduce(Kind kind, const json::value& whole) {
  const json::value kept = reduced(kind, whole);
  return kube::Json(kube::JsonView(&kept));
}

bool is_needed(Kind kind, kube::JsonView whole) {
  if (kind == Kind::leases) return whole.at("/metadata/namespace").text() != "kube-node-lease";
  // Deployments keep about ten old ones.
  if (kind == Kind::replica_sets) {
    return whole.at("/spec/replicas").integer().value_or(1) > 0 ||
           whole.at("/status/replicas").integer().value_or(0) > 0;
  }
  if (kind == Kind::jobs) {
    return !whole.at("/status/completionTime").exists();
  }
  return true;
}

}  // namespace careen::plan
