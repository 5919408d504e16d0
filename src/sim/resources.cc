#include "sim/resources.h"

namespace careen::sim {

namespace {

std::string key_of(std::string_view group, std::string_view version, std::string_view plural) {
  return std::string(group) + "/" + std::string(version) + "/" + std::string(plural);
}

struct Builtin {
  const char* group;
  const char* version;
  const char* plural;
  const char* singular;
  const char* kind;
  // n namespaced, s status, g generation, c create on update, u unconditional update, l names are labels
  const char* traits;
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
};

const std::vector<Builtin>& builtins() {
  static const std::vector<Builtin> all = {
      {"", "v1", "nodes", "node", "Node", "su", {"no"}, {}},
      {"", "v1", "pods", "pod", "Pod", "nsgu", {"po"}, {"all"}},
      {"", "v1", "namespaces", "namespace", "Namespace", "sul", {"ns"}, {}},
      {"", "v1", "events", "event", "Event", "ncu", {"ev"}, {}},
      {"", "v1", "configmaps", "configmap", "ConfigMap", "nu", {"cm"}, {}},
      {"", "v1", "secrets", "secret", "Secret", "nu", {}, {}},
      {"", "v1", "services", "service", "Service", "nscu", {"svc"}, {"all"}},
      {"", "v1", "endpoints", "endpoints", "Endpoints", "ncu", {"ep"}, {}},
      {"coordination.k8s.io", "v1", "leases", "lease", "Lease", "nc", {}, {}},
      {"events.k8s.io", "v1", "events", "event", "Event", "ncu", {"ev"}, {}},
      {"apps", "v1", "deployments", "deployment", "Deployment", "nsgu", {"deploy"}, {"all"}},
      {"apps", "v1", "replicasets", "replicaset", "ReplicaSet", "nsgu", {"rs"}, {"all"}},
      {"apps", "v1", "statefulsets", "statefulset", "StatefulSet", "nsgu", {"sts"}, {"all"}},
      {"apps", "v1", "daemonsets", "daemonset", "DaemonSet", "nsgu", {"ds"}, {"all"}},
      {"batch", "v1", "jobs", "job", "Job", "nsgu", {}, {"all"}},
      {"policy", "v1", "poddisruptionbudgets", "poddisruptionbudget", "PodDisruptionBudget", "nsg", {"pdb"}, {}},
      {"apiextensions.k8s.io",
       "v1",
       "customresourcedefinitions",
       "customresourcedefinition",
       "CustomResourceDefinition",
       "sg",
       {"crd", "crds"},
       {"api-extensions"}},
  };
  return all;
}

Resource made_of(const Builtin& builtin) {
  const auto has = [&](char trait) { return std::string_view(builtin.traits).find(trait) != std::string_view::npos; };
  Resource resource;
  resource.group = builtin.group;
  resource.version = builtin.version;
  resource.plural = builtin.plural;
  resource.singular = builtin.singular;
  resource.kind = builtin.kind;
  resource.list_kind = resource.kind + "List";
  resource.short_names = builtin.short_names;
  resource.categories = builtin.categories;
  resource.namespaced = has('n');
  resource.status = has('s');
  resource.generation = has('g');
  resource.create_on_update = has('c');
  resource.unconditional_update = has('u');
  resource.label_name = has('l');
  resource.type = builtin_type(builtin.kind);
  // Both kinds of events are the same objects.
  resource.storage = !resource.is_events_v1();
  return resource;
}

}  // namespace

std::string Resource::path() const {
  return group.empty() ? "/api/" + version + "/" + plural : "/apis/" + group + "/" + version + "/" + plural;
}

std::string Resource::head() const { return "{\"kind\":\"" + kind + "\",\"apiVersion\":\"" + api_version() + "\","; }

Resources::Resources() {
  for (const Builtin& builtin : builtins()) add(made_of(builtin));
}

const Resource* Resources::find(std::string_view group, std::string_view version, std::string_view plural) const {
  const auto found = resources_.find(key_of(group, version, plural));
  return found == resources_.end() ? nullptr : &found->second;
}

bool Resources::has_group(std::string_view group) const {
  const auto at = resources_.lower_bound(std::string(group) + "/");
  return at != resources_.end() && at->second.group == group;
}

bool Resources::is_custom_group(std::string_view group) const {
  const auto at = resources_.lower_bound(std::string(group) + "/");
  return at != resources_.end() && at->second.group == group && at->second.custom;
}

bool Resources::has_version(std::string_view group, std::string_view version) const {
  const auto at = resources_.lower_bound(key_of(group, version, ""));
  return at != resources_.end() && at->second.group == group && at->second.version == version;
}

const Resource* Resources::stored(std::string_view group, std::string_view plural) const {
  for (const auto& [key, resource] : resources_) {
    if (resource.group == group && resource.plural == plural && resource.storage) return &resource;
  }
  return nullptr;
}

const Resource* Resources::of_kind(std::string_view api_version, std::string_view kind) const {
  for (const auto& [key, resource] : resources_) {
    if (resource.kind == kind && resource.api_version() == api_version) return &resource;
  }
  return nullptr;
}

void Resources::add(Resource resource) {
  std::string key = key_of(resource.group, resource.version, resource.plural);
  resources_.insert_or_assign(std::move(key), std::move(resource));
}

void Resources::remove(std::string_view group, std::string_view plural) {
  std::erase_if(resources_,
                [&](const auto& entry) { return entry.second.group == group && entry.second.plural == plural; });
}

std::vector<const Resource*> Resources::all() const {
  std::vector<const Resource*> out;
  for (const auto& [key, resource] : resources_) out.push_back(&resource);
  return out;
}

}  // namespace careen::sim
