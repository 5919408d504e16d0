#include "sim/openapi.h"

#include "sim/discovery.h"

namespace careen::sim {

namespace {

// api/v1, apis/coordination.k8s.io/v1
std::string group_path(const Resource& resource) {
  return (resource.group.empty() ? "api/" : "apis/" + resource.group + "/") + resource.version;
}

json::object patch_operation(const Resource& resource) {
  const json::value parameter = {{"name", "fieldValidation"}, {"in", "query"}, {"schema", {{"type", "string"}}}};
  return {{"patch",
           {{"parameters", json::array{parameter}},
            {"responses", json::object()},
            {"x-kubernetes-action", "patch"},
            {"x-kubernetes-group-version-kind",
             {{"group", resource.group}, {"version", resource.version}, {"kind", resource.kind}}}}}};
}

}  // namespace

std::optional<kube::Response> openapi(const Resources& resources, const std::vector<std::string>& segments) {
  if (segments.size() < 2 || segments[0] != "openapi" || segments[1] != "v3") return std::nullopt;
  std::string wanted;
  for (size_t i = 2; i < segments.size(); ++i) wanted += (wanted.empty() ? "" : "/") + segments[i];
  json::object groups, paths;
  for (const Resource* resource : resources.all()) {
    if (!resource->served) continue;
    const std::string group = group_path(*resource);
    groups[group] = {{"serverRelativeURL", "/openapi/v3/" + group}};
    if (group != wanted) continue;
    const std::string place = resource->namespaced ? "/namespaces/{namespace}/" : "/";
    paths["/" + group + place + resource->plural + "/{name}"] = patch_operation(*resource);
  }
  if (wanted.empty()) return kube::Response{200, json::serialize(json::object{{"paths", groups}}), std::nullopt};
  if (!groups.contains(wanted)) return page_not_found();
  const json::object document{{"openapi", "3.0.0"},
                              {"info", {{"title", "Kubernetes"}, {"version", "model"}}},
                              {"paths", std::move(paths)},
                              {"components", {{"schemas", json::object()}}}};
  return kube::Response{200, json::serialize(document), std::nullopt};
}

}  // namespace careen::sim
