#include "commands/model_kubeconfig.h"

#include <fmt/format.h>

#include <fstream>

namespace careen::app {

bool write_model_kubeconfig(const std::string& path, const std::string& server) {
  std::ofstream file(path, std::ios::trunc);
  file << fmt::format(
      "apiVersion: v1\n"
      "kind: Config\n"
      "current-context: model\n"
      "clusters:\n"
      "- name: model\n"
      "  cluster: {{server: \"{}\"}}\n"
      "contexts:\n"
      "- name: model\n"
      "  context: {{cluster: model, user: model, namespace: default}}\n"
      "users:\n"
      "- name: model\n"
      "  user: {{}}\n",
      server);
  file.close();
  return file.good();
}

}  // namespace careen::app
