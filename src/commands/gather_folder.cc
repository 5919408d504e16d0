#include "commands/gather_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/yaml_text.h"
#include "commands/plan_files.h"

namespace careen::app {

using kube::Json;
using kube::JsonView;

namespace {

constexpr std::string_view kHidden = "***";

std::string_view meta_text(JsonView object, std::string_view key) {
  return object["metadata"][key].text().value_or("");
}

// A copy in which the values of environment variables are hidden, wherever a list `env` is.
Json without_environment(JsonView value, bool in_env = false) {
  if (value.is_array()) {
    Json out = Json::array();
    value.for_each_element([&](JsonView element) { out.push_back(without_environment(element, in_env)); });
    return out;
  }
  if (!value.is_object()) return Json(value);
  Json out = Json::object();
  value.for_each_member([&](std::string_view key, JsonView member) {
    const bool secret = in_env && key == "value";
    out.set({key}, secret ? Json(kHidden) : without_environment(member, key == "env"));
  });
  return out;
}

std::string group_folder(const kube::Resource& resource) { return resource.group.empty() ? "core" : resource.group; }

}  // namespace

Json shareable_object(const kube::Resource& resource, JsonView object) {
  Json out =
      Json::object({{"apiVersion", resource.group.empty() ? resource.version
                                                          : fmt::format("{}/{}", resource.group, resource.version)},
                    {"kind", resource.kind}});
  object.for_each_member([&](std::string_view key, JsonView member) {
    if (key != "apiVersion" && key != "kind") out.set({key}, without_environment(member));
  });
  out.remove({"metadata", "managedFields"});
  out.remove({"metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"});
  return out;
}

std::string file_name(std::string_view name) {
  std::string out(name);
  for (char& c : out) {
    if (c == '/' || c == '\0') c = '_';
  }
  return out.empty() || out == "." || out == ".." ? "_" : out;
}

io::Result<bool> GatherFolder::put(const std::string& path, const std::string& content) {
  const std::filesystem::path whole = std::filesystem::path(root_) / path;
  std::error_code error;
  std::filesystem::create_directories(whole.parent_path(), error);
  if (error) {
    return io::fail(io::ErrorKind::file, fmt::format("{}: {}", whole.parent_path().string(), error.message()));
  }
  return write_whole(whole.string(), content);
}

io::Result<bool> GatherFolder::put_object(const kube::Resource& resource, JsonView object) {
  const std::string ns(meta_text(object, "namespace"));
  const std::string name = file_name(meta_text(object, "name"));
  std::string folder = ns.empty() ? "cluster-scoped-resources" : "namespaces/" + file_name(ns);
  // Pods have folders of their own, for their logs.
  folder +=
      resource.plural == "pods" ? "/pods/" + name : fmt::format("/{}/{}", group_folder(resource), resource.plural);
  return put(fmt::format("{}/{}.yaml", folder, name), yaml_text(shareable_object(resource, object).view()));
}

io::Result<bool> GatherFolder::put_log(JsonView pod, std::string_view container, bool previous,
                                       const std::string& text) {
  const std::string part = file_name(container);
  return put(fmt::format("namespaces/{}/pods/{}/{}/{}/logs/{}.log", file_name(meta_text(pod, "namespace")),
                         file_name(meta_text(pod, "name")), part, part, previous ? "previous" : "current"),
             text);
}

}  // namespace careen::app
