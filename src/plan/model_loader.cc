#include "plan/model_loader.h"

#include <utility>

#include "budget/pause.h"
#include "controllers/slot/kind.h"
#include "replica/controllers.h"
#include "sim/value.h"

namespace careen::plan {

using kube::Json;
using kube::JsonView;

namespace {

// Owners first, so that nothing looks like an orphan on the way.
constexpr Kind kOrder[] = {Kind::nodes,       Kind::leases,      Kind::hypervisors,  Kind::limits,
                           Kind::budgets,     Kind::deployments, Kind::replica_sets, Kind::stateful_sets,
                           Kind::daemon_sets, Kind::jobs,        Kind::pods};

std::string path_of(const kube::Resource& resource, JsonView object) {
  return resource.path(resource.namespaced ? object["metadata"]["namespace"].text().value_or("default") : "",
                       object["metadata"]["name"].text().value_or(""));
}

// In the namespace of careen on the model, whichever it is in the cluster.
constexpr const char* kOwnNamespace = "kube-system";

constexpr const char* kDefinitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/";

// A kind whose objects may look as they like: they have been through a server.
Json definition_of(const kube::Resource& resource) {
  const Json any = Json::object({{"type", "object"}, {"x-kubernetes-preserve-unknown-fields", true}});
  Json version = Json::object({{"name", resource.version}, {"served", true}, {"storage", true}});
  version.set({"schema", "openAPIV3Schema"}, any);
  version.set({"subresources", "status"}, Json::object());
  Json out = Json::object();
  out.set({"spec", "group"}, resource.group)
      .set({"spec", "scope"}, "Cluster")
      .set({"spec", "names"}, Json::object({{"plural", resource.plural}, {"kind", resource.kind}}))
      .set({"spec", "versions"}, Json::array({std::move(version)}));
  return out;
}

bool is_ready(JsonView node) {
  bool ready = false;
  node.at("/status/conditions").for_each_element([&](JsonView condition) {
    if (condition["type"].text() == "Ready") ready = condition["status"].text() == "True";
  });
  return ready;
}

}  // namespace

ModelLoader::ModelLoader(const Snapshot& snapshot, sim::Cluster& cluster, Scope scope)
    : cluster_(cluster), scope_(std::move(scope)), limits_(!snapshot.of(Kind::limits).empty()) {
  for (const Kind kind : kOrder) {
    if (scope_.pods || !concerns_pods(kind)) parts_.push_back({kind, &snapshot.of(kind)});
  }
  for (const controllers::Kind* kind : replica::object_kinds()) {
    parts_.push_back({kind_of(*kind), &snapshot.of(kind_of(*kind))});
  }
}

// What is watched has to be there, even without objects.
void ModelLoader::prepare() {
  if (std::exchange(prepared_, true)) return;
  define(entry_of(Kind::hypervisors).resource);
  // Where it is not served, nobody looks for limits.
  if (limits_) define(entry_of(Kind::limits).resource);
  for (const std::string& name : scope_.namespaces) put_namespace(name);
  put_namespace(kOwnNamespace);
  for (const controllers::Kind* kind : replica::object_kinds()) {
    define(kind->object);
    for (const std::string_view name : kind->namespaces) put_namespace(std::string(name));
  }
}

bool ModelLoader::load(size_t most) {
  prepare();
  for (; part_ < parts_.size(); ++part_, next_ = 0) {
    const Part& part = parts_[part_];
    for (; next_ < part.objects->size(); ++next_, --most) {
      if (most == 0) return false;
      put(part.kind, (*part.objects)[next_]);
    }
  }
  return true;
}

void ModelLoader::define(const kube::Resource& resource) {
  cluster_.api.put(kDefinitions + resource.plural + "." + resource.group, definition_of(resource), "snapshot");
}

void ModelLoader::put_namespace(const std::string& name) {
  if (!namespaces_.insert(name).second) return;
  cluster_.api.put("/api/v1/namespaces/" + name, Json::object({{"status", Json::object({{"phase", "Active"}})}}),
                   "snapshot");
}

void ModelLoader::put_node(const Json& node) {
  const std::string name(node["metadata"]["name"].text().value_or(""));
  cluster_.api.put("/api/v1/nodes/" + name, node, "snapshot");
  cluster_.kubelets.adopt(name, is_ready(node.view()));
}

void ModelLoader::put(Kind kind, const Json& object) {
  if (kind == Kind::nodes) return put_node(object);
  const kube::Resource& resource = entry_of(kind).resource;
  if (kind == Kind::pods) {
    // Most of what there is: as it stands.
    put_namespace(std::string(object["metadata"]["namespace"].text().value_or("default")));
    return cluster_.api.put(path_of(resource, object.view()), object, "snapshot");
  }
  Json copy = object;
  // The model's revisions differ from the cluster's: nothing must be rolled out because of that.
  if (kind == Kind::stateful_sets || kind == Kind::daemon_sets) {
    copy.set({"spec", "updateStrategy"}, Json::object({{"type", "OnDelete"}}));
  }
  if (kind == Kind::leases && object["metadata"]["name"].text() == budget::PauseRecord::kLease) {
    copy.set({"metadata", "namespace"}, kOwnNamespace);
  }
  if (resource.namespaced) put_namespace(std::string(copy["metadata"]["namespace"].text().value_or("default")));
  cluster_.api.put(path_of(resource, copy.view()), copy, "snapshot");
}

}  // namespace careen::plan
