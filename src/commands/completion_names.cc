#include "commands/completion_names.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "cli/environment.h"
#include "controllers/profiles/names.h"
#include "controllers/profiles/plugins/plugins.h"
#include "controllers/slot/kind.h"
#include "io/files.h"
#include "io/real_loop.h"
#include "kube/credentials.h"
#include "kube/http_transport.h"
#include "replica/controllers.h"
#include "session/kube_session.h"

namespace careen::app {

using io::Task;
using kube::Json;
using kube::JsonView;

namespace {

constexpr io::Duration kLimit = io::seconds{2};
constexpr int kMostNames = 5000;
constexpr const char* kMetadataOnly = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

Task<void> list(kube::Transport& transport, std::string path, std::optional<Json>& out, bool& done) {
  kube::Request request;
  // From the server's cache: quick, and good enough for a name.
  request.path = fmt::format("{}?limit={}&resourceVersion=0", path, kMostNames);
  request.accept = kMetadataOnly;
  request.timeout = kLimit;
  const auto answer = co_await transport.send(std::move(request));
  if (answer && answer->status == 200) {
    if (auto document = Json::parse(answer->body)) out = std::move(*document);
  }
  done = true;
}

std::optional<Json> list_objects(const Completion& completion, const std::string& path) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  const auto access = kube::load_access(files, {read_environment}, {completion.kubeconfig, completion.context});
  if (!access) return std::nullopt;
  const auto transport = kube::over_http(loop, files)(*access).requests;
  std::optional<Json> found;
  bool done = false;
  io::Alarm limit(loop, [&done] { done = true; });
  limit.set(loop.now() + kLimit);
  io::Scope scope(loop);
  scope.spawn(list(*transport, path, found, done));
  loop.run_until([&done] { return done; });
  return found;
}

std::vector<std::string> object_names(const Completion& completion, const std::string& path) {
  const auto objects = list_objects(completion, path);
  std::vector<std::string> names;
  if (!objects) return names;
  (*objects)["items"].for_each_element(
      [&](JsonView item) { names.emplace_back(item.at("/metadata/name").text().value_or("")); });
  return names;
}

// Those that the nodes' labels name.
std::vector<std::string> profile_names(const Completion& completion) {
  const auto nodes = list_objects(completion, kube::resources::nodes.path());
  if (!nodes) return {};
  std::set<std::string> names;
  (*nodes)["items"].for_each_element([&](JsonView item) {
    std::string_view rest = item.at("/metadata/labels")[profiles::kProfileLabel].text().value_or("");
    while (!rest.empty()) {
      const size_t end = std::min(rest.find("--"), rest.size());
      names.emplace(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 2, rest.size()));
    }
  });
  return {names.begin(), names.end()};
}

std::vector<std::string> kubeconfig_files(const Completion& completion) {
  if (!completion.kubeconfig.empty()) return {completion.kubeconfig};
  std::string paths = read_environment("KUBECONFIG").value_or("");
  if (paths.empty()) paths = read_environment("HOME").value_or("") + "/.kube/config";
  std::vector<std::string> files;
  for (size_t begin = 0; begin <= paths.size();) {
    const size_t end = std::min(paths.find(':', begin), paths.size());
    if (end > begin) files.push_back(paths.substr(begin, end - begin));
    begin = end + 1;
  }
  return files;
}

std::vector<std::string> context_names(const Completion& completion) {
  io::RealLoop loop;
  io::RealFiles files(loop);
  std::vector<std::string> names;
  for (const std::string& path : kubeconfig_files(completion)) {
    const auto text = files.read(path);
    if (!text) continue;
    try {
      for (const YAML::Node& context : YAML::Load(*text)["contexts"])
        names.push_back(context["name"].as<std::string>());
    } catch (const YAML::Exception&) {
      continue;  // a broken file has no names to offer; the command that uses it says what is wrong
    }
  }
  return names;
}

std::vector<std::string> plugin_names() {
  const profiles::PluginRegistry registry = profiles::all_plugins();
  std::vector<std::string> names;
  for (const auto& [name, plugin] : registry.checks) names.push_back(name);
  for (const auto& [name, plugin] : registry.notifies) names.push_back(name);
  for (const auto& [name, plugin] : registry.triggers) names.push_back(name);
  return names;
}

}  // namespace

std::vector<std::string> names_for_completion(const Completion& completion) {
  switch (completion.names) {
    case Names::nodes:
      return object_names(completion, kube::resources::nodes.path());
    case Names::objects: {
      const controllers::Kind* kind = replica::find_controller_kind(completion.kind);
      return kind ? object_names(completion, kind->object.path()) : std::vector<std::string>();
    }
    case Names::profiles:
      return profile_names(completion);
    case Names::contexts:
      return context_names(completion);
    case Names::plugins:
      return plugin_names();
    case Names::none:
    case Names::files:
    case Names::folders:
      break;
  }
  return {};
}

}  // namespace careen::app
