#include "sim/sample_workloads.h"

#include "sim/value.h"

namespace careen::sim {

namespace {

void create(ApiServer& api, const std::string& collection, const json::value& object) {
  api.handle({.method = "POST",
              .path = "/apis/" + collection,
              .content_type = "application/json",
              .body = json::serialize(object)},
             {"kubectl"});
}

json::object labels(const std::string& app) { return {{"app", app}}; }

json::object spec_of(const std::string& app, const char* cpu, const char* memory) {
  const json::object container{{"name", "main"},
                               {"image", "registry.example.com/" + app + ":1.0"},
                               {"resources", {{"requests", {{"cpu", cpu}, {"memory", memory}}}}}};
  return {{"selector", {{"matchLabels", labels(app)}}},
          {"template", {{"metadata", {{"labels", labels(app)}}}, {"spec", {{"containers", json::array{container}}}}}}};
}

json::value named(const std::string& name, json::object spec) {
  return {{"metadata", {{"name", name}, {"labels", labels(name)}}}, {"spec", std::move(spec)}};
}

void add_budget(ApiServer& api, const std::string& app) {
  create(api, "policy/v1/namespaces/default/poddisruptionbudgets",
         named(app, {{"maxUnavailable", 1}, {"selector", {{"matchLabels", labels(app)}}}}));
}

}  // namespace

void add_sample_workloads(ApiServer& api, int deployments) {
  if (deployments <= 0) return;
  for (int index = 0; index < deployments; ++index) {
    const std::string app = "app-" + std::to_string(index);
    json::object spec = spec_of(app, "200m", "256Mi");
    spec["replicas"] = 2 + index % 4;
    create(api, "apps/v1/namespaces/default/deployments", named(app, std::move(spec)));
    if (index % 3 == 0) add_budget(api, app);
  }
  json::object database = spec_of("database", "500m", "1Gi");
  database["replicas"] = 3;
  database["serviceName"] = "database";
  create(api, "apps/v1/namespaces/default/statefulsets", named("database", std::move(database)));
  add_budget(api, "database");
  create(api, "apps/v1/namespaces/default/daemonsets", named("agent", spec_of("agent", "50m", "64Mi")));
}

}  // namespace careen::sim
