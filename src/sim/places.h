// Where the components of the model find nodes and pods in its API server, and by what name most of them write.
#pragma once

#include <string>
#include <string_view>

namespace careen::sim {

inline constexpr std::string_view kNodesPath = "/api/v1/nodes";
inline constexpr std::string_view kPodsPath = "/api/v1/pods";

inline std::string node_path(std::string_view name) { return std::string(kNodesPath) + "/" + std::string(name); }

inline std::string pod_path(std::string_view ns, std::string_view name) {
  return "/api/v1/namespaces/" + std::string(ns) + "/pods/" + std::string(name);
}
// Of namespace/name.
inline std::string pod_path_of_key(std::string_view key) {
  const size_t slash = key.find('/');
  return pod_path(key.substr(0, slash), key.substr(slash + 1));
}

// namespace/name of such a path.
inline std::string key_of_pod_path(std::string_view path) {
  const std::string_view rest = path.substr(path.find("/namespaces/") + std::string_view("/namespaces/").size());
  return std::string(rest.substr(0, rest.find('/'))) + "/" + std::string(rest.substr(rest.rfind('/') + 1));
}

// The one process that most of a cluster's controllers are part of.
inline constexpr const char* kControllerManager = "kube-controller-manager";

}  // namespace careen::sim
