#include "commands/model_kubeconfig.h"

#include <fmt/format.h>

#include <fstream>

#include "kube/base64.h"

namespace careen::app {

std::string model_kubeconfig(const std::vector<ModelContext>& contexts) {
  std::string named, clusters;
  // kubectl asks people for a password where there is TLS and nothing to show.
  std::string user = "{}";
  for (const auto& [name, server, authority] : contexts) {
    const std::string trusted =
        authority.empty() ? "" : fmt::format(", certificate-authority-data: {}", kube::base64_encode(authority));
    if (!authority.empty()) user = "{token: model}";
    clusters += fmt::format("- name: {}\n  cluster: {{server: \"{}\"{}}}\n", name, server, trusted);
    named += fmt::format("- name: {0}\n  context: {{cluster: {0}, user: model, namespace: default}}\n", name);
  }
  return fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "current-context: {}\n"
      "clusters:\n{}"
      "contexts:\n{}"
      "users:\n"
      "- name: model\n"
      "  user: {}\n",
      contexts.front().name, clusters, named, user);
}

bool write_model_kubeconfig(const std::string& path, const std::vector<ModelContext>& contexts) {
  std::ofstream file(path, std::ios::trunc);
  file << model_kubeconfig(contexts);
  file.close();
  return file.good();
}

}  // namespace careen::app
