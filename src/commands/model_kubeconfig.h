// Kubeconfigs of model clusters: a context for each, no credentials that anybody looks at.
#pragma once

#include <string>
#include <vector>

namespace careen::app {

struct ModelContext {
  std::string name = "model";
  std::string server;
  std::string authority = {};  // of an https server, as PEM
};

// The first context is the current one.
std::string model_kubeconfig(const std::vector<ModelContext>& contexts);
// False when the file cannot be written.
bool write_model_kubeconfig(const std::string& path, const std::vector<ModelContext>& contexts);

}  // namespace careen::app
