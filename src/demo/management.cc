#include "demo/management.h"

#include <fmt/format.h>

#include "controllers/machines/names.h"
#include "demo/cluster.h"
#include "demo/config.h"
#include "demo/workloads.h"
#include "kube/base64.h"
#include "kube/credentials.h"
#include "kube/json.h"
#include "sim/machine_world.h"

namespace careen::app {

using kube::Json;

namespace {

Json object_of(const kube::Resource& kind, const std::string& name) {
  Json object = Json::object({{"kind", kind.kind}});
  object.set({"apiVersion"}, kind.group.empty() ? kind.version : fmt::format("{}/{}", kind.group, kind.version));
  object.set({"metadata", "name"}, name);
  return object;
}

}  // namespace

DemoManagement::DemoManagement(io::Loop& loop, uint64_t seed) : model_(loop, seed) {
  for (const kube::Resource* kind : {&machines::kClusters, &machines::kMachines}) {
    sim::define_kind(model_.api, kind->group, kind->version, kind->plural, kind->kind);
  }
  Json ns = Json::object({{"apiVersion", "v1"}, {"kind", "Namespace"}});
  ns.set({"metadata", "name"}, kFleetNamespace);
  ask_api(model_.api, "POST", "/api/v1/namespaces", ns);
}

void DemoManagement::add(const std::string& name, DemoCluster& cluster) {
  Json object = object_of(machines::kClusters, name);
  object.set({"metadata", "labels", "careen.dev/hub"}, "true");
  ask_api(model_.api, "POST", machines::kClusters.path(kFleetNamespace, ""), object);
  // They have been looked after for long, so that the beginning is not about that.
  for (const auto& [node, known] : cluster.nodes().all()) {
    Json state = Json::object();
    state.set({"metadata", "labels", machines::kMaintenanceState}, "operational");
    ask_api(cluster.model().api, "PATCH", "/api/v1/nodes/" + node, state);
    Json machine = object_of(machines::kMachines, fmt::format("{}-{}", name, node));
    machine.set({"metadata", "labels"}, Json::object({{machines::kEnabled, "true"}, {machines::kClusterLabel, name}}));
    machine.set({"metadata", "annotations", machines::kPreDrainHook}, machines::kOwnValue);
    machine.set({"spec", "clusterName"}, name);
    machine.set({"status", "nodeRef", "name"}, node);
    ask_api(model_.api, "POST", machines::kMachines.path(kFleetNamespace, ""), machine);
  }
}

void DemoManagement::publish(const std::string& name, DemoCluster& cluster, const std::string& address,
                             const std::string& kubeconfig) {
  networks_[address] = &cluster.model().network;
  Json secret = object_of(machines::kSecrets, name + "-kubeconfig");
  secret.set({"type"}, "cluster.x-k8s.io/secret");
  secret.set({"data", "value"}, kube::base64_encode(kubeconfig));
  ask_api(model_.api, "POST", machines::kSecrets.path(kFleetNamespace, ""), secret);
}

sim::Network* DemoManagement::reached(const kube::Access& access) const {
  const auto found = networks_.find(access.server);
  return found == networks_.end() ? nullptr : found->second;
}

}  // namespace careen::app
