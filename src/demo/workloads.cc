#include "demo/workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "controllers/slot/definition.h"
#include "controllers/slot/kind.h"
#include "demo/config.h"
#include "replica/controllers.h"

namespace careen::app {

using kube::Json;

namespace {

enum class Kind { deployment, stateful_set, daemon_set };

struct App {
  const char* ns;
  const char* name;
  Kind kind;
  int replicas;         // on sixty nodes
  int max_unavailable;  // of its budget; 0: it has none
  int starts_in;        // seconds
  int ends_in;
};

constexpr App kApps[] = {
    {"shop", "web", Kind::deployment, 72, 6, 5, 8},
    {"shop", "images", Kind::deployment, 48, 0, 3, 4},
    {"shop", "recommendations", Kind::deployment, 36, 0, 8, 10},
    {"shop", "search", Kind::deployment, 24, 2, 12, 8},
    {"shop", "cart", Kind::deployment, 18, 1, 6, 12},
    {"shop", "checkout", Kind::deployment, 12, 1, 10, 20},
    {"shop", "mail", Kind::deployment, 6, 0, 2, 3},
    {"data", "orders", Kind::stateful_set, 9, 1, 25, 15},
    {"data", "events", Kind::stateful_set, 7, 1, 20, 10},
    {"data", "cache", Kind::stateful_set, 12, 2, 5, 5},
    {"kube-system", "node-agent", Kind::daemon_set, 0, 0, 1, 2},
    {"kube-system", "kured", Kind::daemon_set, 0, 0, 1, 2},
};

constexpr const char* kJobNamespace = "batch";

const char* kind_of(Kind kind) {
  if (kind == Kind::deployment) return "Deployment";
  return kind == Kind::stateful_set ? "StatefulSet" : "DaemonSet";
}
const char* plural_of(Kind kind) {
  if (kind == Kind::deployment) return "deployments";
  return kind == Kind::stateful_set ? "statefulsets" : "daemonsets";
}

Json pod_template(const std::string& app, int starts_in, int ends_in) {
  Json pod = Json::object();
  pod.set({"metadata", "labels", "app"}, app);
  pod.set({"metadata", "annotations", "model.careen.dev/start-time"}, std::to_string(starts_in));
  pod.set({"metadata", "annotations", "model.careen.dev/termination-time"}, std::to_string(ends_in));
  Json container = Json::object({{"name", "main"}, {"image", "registry.example.com/" + app + ":1.0"}});
  container.set({"resources", "requests"}, Json::object({{"cpu", "500m"}, {"memory", "1Gi"}}));
  pod.set({"spec", "containers"}, Json::array({std::move(container)}));
  return pod;
}

// On a cluster that nobody else has touched yet, so a refusal is a mistake in the demonstration.
void create(sim::ApiServer& api, const std::string& path, const Json& object) {
  if (const int status = ask_api(api, "POST", path, object); status != 201) {
    throw std::logic_error(fmt::format("POST {} is answered with {}", path, status));
  }
}

void add(sim::ApiServer& api, const App& app, int nodes) {
  Json object = Json::object({{"apiVersion", "apps/v1"}, {"kind", kind_of(app.kind)}});
  object.set({"metadata", "name"}, app.name);
  object.set({"spec", "selector", "matchLabels", "app"}, app.name);
  object.set({"spec", "template"}, pod_template(app.name, app.starts_in, app.ends_in));
  if (app.kind != Kind::daemon_set) object.set({"spec", "replicas"}, std::max(2, app.replicas * nodes / 60));
  if (app.kind == Kind::stateful_set) {
    object.set({"spec", "serviceName"}, app.name);
    object.set({"spec", "podManagementPolicy"}, "Parallel");
  }
  create(api, fmt::format("/apis/apps/v1/namespaces/{}/{}", app.ns, plural_of(app.kind)), object);
  if (app.max_unavailable == 0) return;
  Json budget = Json::object({{"apiVersion", "policy/v1"}, {"kind", "PodDisruptionBudget"}});
  budget.set({"metadata", "name"}, app.name);
  budget.set({"spec", "maxUnavailable"}, app.max_unavailable);
  budget.set({"spec", "selector", "matchLabels", "app"}, app.name);
  create(api, fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", app.ns), budget);
}

}  // namespace

int ask_api(sim::ApiServer& api, const std::string& method, const std::string& path, const Json& body) {
  kube::Request request;
  request.method = method;
  request.path = path;
  request.content_type = method == "PATCH" ? "application/merge-patch+json" : "application/json";
  if (!body.view().is_null()) request.body = body.dump();
  return api.handle(request, {"demo"}).status;
}

void define_kinds(sim::ApiServer& api) {
  for (const controllers::Kind* kind : replica::object_kinds()) {
    for (const Json& definition : kind->definitions()) create(api, controllers::kDefinitionsPath, definition);
  }
}

void add_demo_limit(sim::ApiServer& api) {
  // It may have come with a controller.
  ask_api(api, "POST", std::string(controllers::kDefinitionsPath), controllers::shipped_definition("maintenancelimit"));
  Json limit = Json::object({{"apiVersion", "repairman.k8s.io/v1"}, {"kind", "MaintenanceLimit"}});
  limit.set({"metadata", "name"}, "nodes");
  limit.set({"spec"}, Json::object({{"type", "node"}, {"maxUnavailable", kMostOut}}));
  create(api, "/apis/repairman.k8s.io/v1/maintenancelimits", limit);
}

void add_demo_workloads(sim::ApiServer& api, int nodes) {
  std::vector<std::string_view> namespaces = {"shop", "data", kJobNamespace};
  for (const controllers::Kind* kind : replica::object_kinds()) {
    namespaces.insert(namespaces.end(), kind->namespaces.begin(), kind->namespaces.end());
  }
  for (const std::string_view ns : namespaces) {
    Json object = Json::object({{"apiVersion", "v1"}, {"kind", "Namespace"}});
    object.set({"metadata", "name"}, ns);
    create(api, "/api/v1/namespaces", object);
  }
  for (const App& app : kApps) add(api, app, nodes);
}

void add_demo_job(sim::ApiServer& api, const std::string& name) {
  Json pod = pod_template(name, 2, 2);
  pod.set({"metadata", "annotations", "model.careen.dev/run-time"}, "240");
  pod.set({"spec", "restartPolicy"}, "Never");
  Json job = Json::object({{"apiVersion", "batch/v1"}, {"kind", "Job"}});
  job.set({"metadata", "name"}, name);
  job.set({"spec", "completions"}, 24);
  job.set({"spec", "parallelism"}, 6);
  // A drain counts as a failure of the pod it evicts.
  job.set({"spec", "backoffLimit"}, 100);
  job.set({"spec", "template"}, std::move(pod));
  ask_api(api, "POST", fmt::format("/apis/batch/v1/namespaces/{}/jobs", kJobNamespace), job);
}

void remove_demo_job(sim::ApiServer& api, const std::string& name) {
  ask_api(api, "DELETE",
          fmt::format("/apis/batch/v1/namespaces/{}/jobs/{}?propagationPolicy=Background", kJobNamespace, name));
}

}  // namespace careen::app
