#include "sim/discovery.h"

#include <algorithm>
#include <map>

#include "sim/openapi.h"
#include "sim/status.h"
#include "sim/value.h"

namespace careen::sim {

using kube::Response;

namespace {

// Newer versions come first: v2, v1, v1beta1.
bool newer(const std::string& a, const std::string& b) {
  const auto rank = [](const std::string& version) {
    const bool alpha = version.find("alpha") != std::string::npos;
    const bool beta = version.find("beta") != std::string::npos;
    return alpha ? 0 : beta ? 1 : 2;
  };
  return rank(a) != rank(b) ? rank(a) > rank(b) : a > b;
}

using Versions = std::vector<std::pair<std::string, std::vector<const Resource*>>>;

std::map<std::string, Versions> by_group(const Resources& resources) {
  std::map<std::string, Versions> groups;
  for (const Resource* resource : resources.all()) {
    if (!resource->served) continue;
    Versions& versions = groups[resource->group];
    auto at =
        std::find_if(versions.begin(), versions.end(), [&](const auto& one) { return one.first == resource->version; });
    if (at == versions.end()) at = versions.insert(versions.end(), {resource->version, {}});
    at->second.push_back(resource);
  }
  for (auto& [group, versions] : groups) {
    std::sort(versions.begin(), versions.end(), [](const auto& a, const auto& b) { return newer(a.first, b.first); });
  }
  return groups;
}

json::array verbs(const Resource& resource) {
  json::array out{"create", "delete"};
  if (resource.kind != "Namespace" || resource.custom) out.push_back("deletecollection");
  for (const char* verb : {"get", "list", "patch", "update", "watch"}) out.push_back(verb);
  return out;
}

json::array texts(const std::vector<std::string>& list) {
  json::array out;
  for (const std::string& one : list) out.push_back(json::value(one));
  return out;
}

struct Subresource {
  std::string name;
  json::array verbs;
  std::string kind;
  // Of kinds that belong to another group than the resource.
  std::string group{}, version{};
};

std::vector<Subresource> subresources(const Resource& resource) {
  std::vector<Subresource> out;
  if (resource.kind == "Pod" && !resource.custom) {
    out.push_back({"binding", {"create"}, "Binding"});
    out.push_back({"eviction", {"create"}, "Eviction", "policy", "v1"});
  }
  if (resource.has_scale()) out.push_back({"scale", {"get", "patch", "update"}, "Scale", "autoscaling", "v1"});
  if (resource.status) out.push_back({"status", {"get", "patch", "update"}, resource.kind});
  return out;
}

json::object group_object(const std::string& group, const Versions& versions) {
  json::array list;
  for (const auto& [version, resources] : versions) {
    list.push_back({{"groupVersion", group + "/" + version}, {"version", version}});
  }
  const json::value preferred = list.front();
  return {{"name", group}, {"versions", std::move(list)}, {"preferredVersion", preferred}};
}

std::string resource_list(const std::string& group_version, bool core, const std::vector<const Resource*>& resources) {
  json::array list;
  for (const Resource* resource : resources) {
    json::object one{{"name", resource->plural},
                     {"singularName", resource->singular},
                     {"namespaced", resource->namespaced},
                     {"kind", resource->kind},
                     {"verbs", verbs(*resource)}};
    if (!resource->short_names.empty()) one["shortNames"] = texts(resource->short_names);
    if (!resource->categories.empty()) one["categories"] = texts(resource->categories);
    list.push_back(std::move(one));
    for (const Subresource& sub : subresources(*resource)) {
      json::object entry{
          {"name", resource->plural + "/" + sub.name}, {"singularName", ""}, {"namespaced", resource->namespaced}};
      if (!sub.group.empty()) entry["group"] = sub.group;
      if (!sub.version.empty()) entry["version"] = sub.version;
      entry["kind"] = sub.kind;
      entry["verbs"] = sub.verbs;
      list.push_back(std::move(entry));
    }
  }
  json::object out{{"kind", "APIResourceList"}};
  if (!core) out["apiVersion"] = "v1";
  out["groupVersion"] = group_version;
  out["resources"] = std::move(list);
  return json::serialize(out);
}

json::object discovered(const Resource& resource) {
  const json::object kind{{"group", ""}, {"version", ""}, {"kind", resource.kind}};
  json::object out{{"resource", resource.plural},
                   {"responseKind", kind},
                   {"scope", resource.namespaced ? "Namespaced" : "Cluster"},
                   {"singularResource", resource.singular},
                   {"verbs", verbs(resource)}};
  if (!resource.short_names.empty()) out["shortNames"] = texts(resource.short_names);
  if (!resource.categories.empty()) out["categories"] = texts(resource.categories);
  json::array subs;
  for (const Subresource& sub : subresources(resource)) {
    subs.push_back({{"subresource", sub.name},
                    {"responseKind", {{"group", sub.group}, {"version", sub.version}, {"kind", sub.kind}}},
                    {"verbs", sub.verbs}});
  }
  if (!subs.empty()) out["subresources"] = std::move(subs);
  return out;
}

std::string aggregated(const std::map<std::string, Versions>& groups, bool core) {
  json::array items;
  for (const auto& [group, versions] : groups) {
    if (group.empty() != core) continue;
    json::array list;
    for (const auto& [version, resources] : versions) {
      json::array found;
      for (const Resource* resource : resources) found.push_back(discovered(*resource));
      list.push_back({{"version", version}, {"resources", std::move(found)}, {"freshness", "Current"}});
    }
    json::object meta;
    if (!group.empty()) meta["name"] = group;
    items.push_back({{"metadata", std::move(meta)}, {"versions", std::move(list)}});
  }
  return json::serialize(json::object{{"kind", "APIGroupDiscoveryList"},
                                      {"apiVersion", "apidiscovery.k8s.io/v2"},
                                      {"metadata", json::object()},
                                      {"items", std::move(items)}});
}

Response json_page(std::string body) { return {200, std::move(body), std::nullopt}; }

constexpr std::string_view kVersion =
    R"({"major":"1","minor":"36","emulationMajor":"1","emulationMinor":"36","minCompatibilityMajor":"1","minCompatibilityMinor":"35","gitVersion":"v1.36.3","gitCommit":"unknown","gitTreeState":"archive","buildDate":"1970-01-01T00:00:00Z","goVersion":"go1.26.8","compiler":"gc","platform":"linux/amd64"})";

Response group_page(const std::map<std::string, Versions>& groups, const std::vector<std::string>& segments) {
  const bool core = segments[0] == "api";
  const auto group = groups.find(core ? std::string() : segments[1]);
  if (group == groups.end()) return page_not_found();
  if (!core && segments.size() == 2) {
    json::object out{{"kind", "APIGroup"}, {"apiVersion", "v1"}};
    for (auto& one : group_object(group->first, group->second)) out[one.key()] = one.value();
    return json_page(json::serialize(out));
  }
  const std::string& wanted = segments[core ? 1 : 2];
  for (const auto& [version, resources] : group->second) {
    if (version == wanted)
      return json_page(resource_list(core ? version : group->first + "/" + version, core, resources));
  }
  return to_response(no_such_resource());
}

}  // namespace

Response page_not_found() { return {404, "404 page not found\n", std::nullopt}; }

Response discover(const Resources& resources, const std::vector<std::string>& segments, const kube::Request& request) {
  if (segments.empty()) return page_not_found();
  const std::string& first = segments[0];
  if (first == "healthz" || first == "livez" || first == "readyz") return {200, "ok", std::nullopt};
  if (request.method != "GET") return to_response(method_not_allowed());
  if (first == "version" && segments.size() == 1) return json_page(std::string(kVersion));
  if (auto document = openapi(resources, segments)) return std::move(*document);
  if (first != "api" && first != "apis") return page_not_found();
  const auto groups = by_group(resources);
  if (segments.size() > 1) return group_page(groups, segments);
  const bool core = first == "api";
  if (request.accept.find("as=APIGroupDiscoveryList") != std::string::npos) return json_page(aggregated(groups, core));
  if (core) {
    return json_page(
        R"({"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:6443"}]})");
  }
  json::array list;
  for (const auto& [group, versions] : groups) {
    if (!group.empty()) list.push_back(group_object(group, versions));
  }
  return json_page(
      json::serialize(json::object{{"kind", "APIGroupList"}, {"apiVersion", "v1"}, {"groups", std::move(list)}}));
}

}  // namespace careen::sim
